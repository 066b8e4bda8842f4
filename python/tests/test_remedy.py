"""What findings would have set: values that their knobs take, what is left out, what fresh runs say of the finding."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.findings import Finding
from fathom.analysis.sentence import SETTING, sentence
from fathom.catalog.layers import catalog_path
from fathom.run.store import Run
from fathom.tune.search import default_space, remedy
from fathom.tune.search.plan import FINDING, Plan
from fathom.tune.search.prediction import Prediction
from fathom.tune.search.space import Dimension, Space
from fathom.tune.search.verdict import result
from fathom.tune.settings.prove import Verdict
from fathom.tune.settings.settings import catalog
from fathom.tune.settings.toml import read as read_text
from schema import write_run
from test_tune import COST, options, play

FIGURES = {
    "want": 4,
    "transfer": "collective",
    "holder": "MPI_File_write",
    "sieving": "disable",
    "is_sieved": 0,
    "unforced": "false",
    "romio": "romio321",
}
LAYERS = {knob.layer.name for knob in catalog().values()}


def concluded(name: str, ompio: bool = False, **values: Any) -> Finding:
    rule = findings.read(catalog_path("findings", f"{name}.sql"))
    rule = replace(rule, knob=rule.ompio) if ompio else rule
    return Finding(rule, {**FIGURES, **values}, 1.0, (0.5, 2.0), 0.8, [], [])


@pytest.mark.parametrize("path", findings.catalog(), ids=lambda path: path.stem)
@pytest.mark.parametrize("ompio", [False, True])
def test_a_value_that_a_header_names_is_one_that_its_knob_takes(path: Path, ompio: bool) -> None:
    finding = concluded(path.stem, ompio)
    named = remedy.settings(finding, LAYERS)
    words = sentence(finding.rule.knob, finding.values)
    assert len({catalog()[key].name for key in named}) == len(SETTING.findall(words)), words
    for key, value in named.items():
        if catalog()[key].route != "layout":
            text = Space((Dimension(key, key, (None, value)),), accept=("all-ranks",)).settings(
                (1,)
            )
            assert read_text(path.stem, text)


@pytest.mark.parametrize(
    ("finding", "layers", "settings"),
    [
        (concluded("small-collective-buffer", want=1 << 20), ("romio", "hdf5"), {"romio.cb_buffer_size": 1 << 20}),
        (concluded("small-collective-buffer", True), ("ompio",), {"ompio.io_ompio_bytes_per_agg": 4}),
        (concluded("few-aggregators"), ("romio",), {"romio.cb_nodes": 4, "romio.cb_config_list": "*:*"}),
        (concluded("hdf5-pieces"), ("hdf5",), {"hdf5.dxpl_mpio": "collective"}),
        (concluded("hdf5-pieces", transfer=None), ("hdf5",), {}),
        (concluded("time-in-locks", holder=None), ("romio",), {}),
        (concluded("hints-lost", True), ("ompio",), {"ompio.io": "romio321"}),
        (concluded("hints-lost", True, romio="romio341"), ("ompio",), {"ompio.io": "romio341"}),
        (concluded("hints-lost"), ("romio",), {}), (concluded("sieving"), ("ompio",), {}),
        (concluded("small-accesses"), tuple(LAYERS), {}),
    ],
)  # fmt: skip
def test_a_finding_has_the_settings_of_the_library_in_force(
    finding: Finding, layers: tuple[str, ...], settings: dict[str, Any]
) -> None:
    assert remedy.settings(finding, layers) == settings


@pytest.mark.parametrize(
    ("words", "layer"),
    [("romio321", "romio"), ("romio341", "romio"), ("^ompio", "romio"), ("ompio", "ompio")],
)
def test_open_mpis_romio_is_one_in_every_version(tmp_path: Path, words: str, layer: str) -> None:
    """It is a value of the knob, and a program that asks for it takes ROMIO's hints."""
    assert read_text("given", f'[launch.ompio]\nio = "{words}"\n')
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 10**9}],
        processes=[{"process": 0, "rank": 0, "mpi": "Open MPI v5.0.3"}],
        counters=[{"process": 0, "layer": "mpiio", "op": "MPI_File_open", "kind": "open", "calls": 1}],
    )  # fmt: skip
    program = ["mpirun", "--mca", "io", words, "./program"]
    assert list(default_space.stacks(fathom.open(run), program)) == [layer]


def verdict(name: str) -> Verdict:
    return Verdict("", "", name, "", ("", ""), ("", ""))


@pytest.mark.parametrize(
    ("key", "proved", "verify", "why"),
    [
        ("romio.cb_nodes", "alive", "none", ""), ("ompio.collective_buffering", "inverted", "none", ""),
        ("romio.cb_nodes", None, "none", "not known to be alive here: fathom list knobs --prove romio.cb_nodes"),
        ("romio.striping_factor", "dead", "none", "does nothing here: the drivers UFS and NFS drop it"),
        ("ompio.fbtl_posix_write_datasieving", None, "none", ""),  # no proof is possible, and the runs will tell
        ("hdf5.dxpl_mpio", "alive", "none", "write {out}"), ("hdf5.dxpl_mpio", "alive", "checksum", ""),
        ("hdf5.fill_time", "alive", "checksum", "--verify h5diff"), ("hdf5.fill_time", "alive", "h5diff", ""),
    ],
)  # fmt: skip
def test_what_is_dead_or_cannot_be_verified_is_left_out(
    monkeypatch: pytest.MonkeyPatch, key: str, proved: str | None, verify: str, why: str
) -> None:
    known = [(catalog()[key], "mpich", proved and verdict(proved))]
    monkeypatch.setattr(default_space, "known", lambda _run, _program: known)
    run: Any = None
    asked = options(verify=verify)
    if why:
        with pytest.raises(default_space.Refused, match=r"^tune: --try NAME: ") as refusal:
            remedy.space(run, asked, "NAME", {key: 1})
        assert why in str(refusal.value)
        return
    space, lines = remedy.space(run, asked, "NAME", {key: 1})
    (dimension,) = space.dimensions
    assert (dimension.knob, dimension.values, lines) == (key, (None, 1), [])
    assert ("all-ranks" in space.accept) == (key == "hdf5.dxpl_mpio")
    assert dimension.where == ({"dataset": "*"} if key.startswith("hdf5") else {})


@pytest.mark.parametrize(("after", "inside"), [(24.0, True), (29.9, False), (10.0, False)])
def test_fresh_runs_of_both_stand_beside_what_the_finding_said(after: float, inside: bool) -> None:
    names = ("romio.cb_nodes", "romio.cb_config_list")
    space = Space(tuple(Dimension(name, name, (None, 4)) for name in names))
    said = Prediction("few-aggregators", 5.0, 2.0, 10.0)
    asked = options(trials=1, finalists=1, finding="few-aggregators")
    plan = Plan(asked, COST, space, [(FINDING, (1, 1))], said)
    trials = play(plan, lambda _stage, _turn, point: after if any(point) else 30.0)
    ran = [trial.stage for trial in trials if trial.state != "known"]
    assert ran == ["default", "search", *["proof"] * 10]  # it is one remedy: no knob goes alone
    assert {trial.point for trial in trials} == {(0, 0), (1, 1)}
    outcome = result(plan, trials)
    assert outcome and outcome.prediction
    assert outcome.prediction.seen == pytest.approx(30 - after)
    assert outcome.prediction.inside == inside


def test_a_danger_predicts_no_seconds() -> None:
    seen = Prediction("hints-lost", None, None, None).beside(1.5)
    assert (seen.seen, seen.inside) == (1.5, None)


def test_the_finding_of_a_run_is_chosen_by_name_or_by_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, small = concluded("few-aggregators"), concluded("small-accesses")
    again = replace(few, lost=0.5, between=(0.25, 1.0), values={**FIGURES, "want": 2})
    ranked = findings.Findings([small, few, again], 3, {}, {}, None)  # type: ignore[arg-type]
    monkeypatch.setattr(remedy.conclusions, "find", lambda _run, _rules: ranked)
    run: Run = None  # type: ignore[assignment]
    for name in ("top", "few-aggregators"):
        prediction, settings = remedy.of(run, name, ("romio",))
        assert settings == {"romio.cb_nodes": 4, "romio.cb_config_list": "*:*"}
        assert prediction == Prediction("few-aggregators", 1.5, 0.75, 3.0)
    for name, layers, why in (
        ("small-accesses", ("romio",), "no setting from outside mends it; in the program: gather them"),
        ("few-aggregators", ("hdf5",), "no library of this program is known here that takes cb_nodes, cb_config_list"),
        ("top", ("hdf5",), "no finding of this run has a setting from outside; there are small-accesses (1 s), few-"),
        ("sieving", ("romio",), "none of this run's findings; there are small-accesses (1 s), few-aggregators (1 s), "),
    ):  # fmt: skip
        with pytest.raises(default_space.Refused, match=r"^tune: --try ") as refusal:
            remedy.of(run, name, layers)
        assert why in str(refusal.value)
