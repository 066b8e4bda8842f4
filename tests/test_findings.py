"""Each finding is made of a program that makes the mistake, and not of one that does the same work well
(tests/findings/*.toml, harness/mistakes.py)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.account import prepare
from fathom.analysis.sentence import sentence
from fathom.pages.findings_page import page
from fathom.run.store import Run
from harness import mistakes, needs, paths

# Of what is well done, nothing else may be said to lose more of the run time than this.
MUCH = 0.05


def concluded(
    pair: mistakes.Pair, words: str, tmp: Path, rules: list[Path]
) -> tuple[findings.Findings, float]:
    """What these rules find of one of the programs, and its seconds."""
    data = tmp / "data"
    data.mkdir(parents=True)
    os.sync()  # what a build has just written would be written meanwhile, and takes disk and page cache
    mistakes.execute(pair, words, data, tmp / "run.fathom")
    run = fathom.open(tmp / "run.fathom")
    conclusions = findings.find(run, rules)
    assert not conclusions.broken, "\n".join(conclusions.broken.values())
    assert_nothing_else_is_possible(run)
    return conclusions, run.sql("select duration from runs")["duration"][0].as_py() / 1e9


def assert_nothing_else_is_possible(run: Run) -> None:
    """A rule whose condition is false finds nothing."""
    asked = findings.Questions(run)
    rules = [rule for rule in map(findings.read, findings.catalog()) if rule.when]
    possible = asked.possible(rules, {})
    for rule in (rule for rule in rules if rule.when not in possible):
        prepare(run, rule.sql)
        assert run.sql(rule.sql).num_rows == 0, rule.name


def listed(concluded: findings.Findings) -> str:
    return "\n".join(
        f"{one.rule.name}: {one.lost} s: {sentence(one.rule.says, one.values)}"
        for one in concluded.conclusions
    )


def cases() -> list[Any]:
    return [
        pytest.param(
            path, id=path.stem, marks=[pytest.mark.full] if mistakes.load(path).full else []
        )
        for path in mistakes.pairs()
    ]


@pytest.mark.parametrize("path", cases())
def test_the_guilty_is_found_and_the_innocent_is_not(path: Path, tmp_path: Path) -> None:
    pair = mistakes.load(path)
    needs.require([*pair.needs, *(needs.of_mpi(pair.mpi) if pair.ranks else [])])
    rules = findings.catalog()
    its_own = [path for path in rules if path.stem == pair.finding]
    guilty, _ = concluded(pair, pair.guilty, tmp_path / "guilty", its_own)
    of_the_pair = [one for one in guilty.conclusions if one.rule.name == pair.finding]
    assert of_the_pair, f"not found of the guilty program:\n{listed(guilty)}"
    says = pair.says.replace("{tmp}", str(tmp_path / "guilty" / "data"))
    assert any(says in sentence(one.rule.says, one.values) for one in of_the_pair), listed(guilty)
    advice = [sentence(f"{one.rule.fix}\n{one.rule.knob}", one.values) for one in of_the_pair]
    assert any(pair.todo in words for words in advice), advice
    assert not pair.line or any(pair.line in "".join(one.lines[:1]) for one in of_the_pair)
    assert all(one.lines for one in of_the_pair if one.calls), "example calls without a source line"
    # Where ranks share processors that is so of both.
    few = pair.ranks > len(os.sched_getaffinity(0))
    if few and pair.processors:
        pytest.skip("the innocent program needs a processor for each rank, which are not here")
    # What else runs beside a test is none of the program's doing.
    also = {*pair.also, "busy-processors", *(["more-ranks-than-processors"] if few else [])}
    innocent, seconds = concluded(pair, pair.innocent, tmp_path / "innocent", rules)
    wrong = [
        one
        for one in innocent.conclusions
        if one.rule.name == pair.finding
        or (one.rule.name not in also and (one.lost or 0) > MUCH * seconds)
    ]
    assert not wrong, f"found of the innocent program:\n{listed(innocent)}"


def test_who_asks_for_collective_transfers_is_not_told_to(tmp_path: Path) -> None:
    """HDF5 broke them up, and says why: the small accesses below are no second mistake."""
    pair = mistakes.load(mistakes.FOLDER / "collective-broken.toml")
    needs.require([*pair.needs, *needs.of_mpi(pair.mpi)])
    found, _ = concluded(pair, pair.guilty, tmp_path, findings.catalog())
    assert "collective-broken" in {one.rule.name for one in found.conclusions}
    for one in found.conclusions:
        assert "H5Pset_dxpl_mpio collective" not in sentence(one.rule.fix, one.values), listed(
            found
        )


#: Findings of what no machine of ours has (stripes of Lustre): of logs, in test_wild.py and test_import_darshan_*.
OF_LOGS = {"few-stripes"}


def test_every_finding_has_its_two_programs() -> None:
    tested = {mistakes.load(path).finding for path in mistakes.pairs()}
    assert {path.stem for path in findings.catalog()} <= tested | OF_LOGS


def test_the_page_of_all_findings_is_of_now() -> None:
    now = page(map(findings.read, findings.catalog()))
    document = (paths.ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert document == now, "python -m fathom.pages.findings_page > docs/findings.md"
