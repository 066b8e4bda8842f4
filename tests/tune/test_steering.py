"""`fathom tune --live RUN auto`: what is chosen, and what comes of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fathom.tune.settings.steering import OCCURRENCES, PATIENCE, Steering
from fathom.tune.settings.watched import rules, seen
from harness import paths
from harness.steps import RANKS, Steps

MIB = 1 << 20


def look(
    accesses: int, piece: int, seconds: float, movers: Sequence[int] = (0,), share: float = 0.1
) -> dict[str, Any]:
    """As the engine tells of OCCURRENCES collective writes."""
    every = {"kind": "write", "enclosing": None}
    calls = [
        {**every, "layer": "mpiio", "op": "MPI_File_write_all", "pid": 100 + rank, "rank": rank, "calls": OCCURRENCES,
         "bytes": MIB, "seconds": OCCURRENCES * seconds}
        for rank in range(RANKS)
    ]  # fmt: skip
    inside = [
        {**every, "layer": "posix", "op": "pwrite", "enclosing": "MPI_File_write_all", "pid": 100 + rank, "rank": rank,
         "calls": OCCURRENCES * accesses,
         "bytes": OCCURRENCES * accesses * piece, "seconds": OCCURRENCES * seconds * share}
        for rank in movers
    ]  # fmt: skip
    return {"calls": calls + inside}


@pytest.fixture
def put() -> list[tuple[str, dict[str, str]]]:
    return []


@pytest.fixture
def steering(put: list[Any]) -> Steering:
    return Steering(
        "fathom-tuned 1\nrule\ninfo a b\n", lambda text, notes: put.append((text, dict(notes)))
    )


def lines(steering: Steering, *looks: Any) -> Iterator[str]:
    for one in looks:
        line = steering.take(one, ())
        if line:
            yield line


def test_a_larger_buffer_is_kept_where_calls_become_faster(steering: Steering, put: Any) -> None:
    slow, fast = look(16, 65536, 0.5), look(1, MIB, 0.1)
    change, after = lines(steering, slow, slow, fast, fast)
    assert "process 100 (rank 0) is critical: it makes 16 writes of 64 KiB" in change
    assert (
        "cb_buffer_size = 1048576; kept: accesses 16 became 1, a call's 500 ms became 100 ms"
        in change
    )
    assert after.startswith("no further change worth making") and steering.over
    assert put[0][0] == "fathom-tuned 1\nrule\ninfo a b\nrule\ninfo cb_buffer_size 1048576\n"
    assert [text for text, _ in put[1:]] == [""]  # it stays in force


def test_it_is_taken_back_where_they_do_not(steering: Steering, put: Any) -> None:
    slow = look(16, 65536, 0.5)
    (line,) = lines(steering, slow, slow, look(1, MIB, 0.6))
    assert "taken back: accesses 16 became 1, a call's 500 ms became 600 ms" in line
    assert put[-1][0] == "fathom-tuned 1\nrule\ninfo a b\n"


def test_what_no_file_takes_is_taken_back(steering: Steering) -> None:
    slow = look(16, 65536, 0.5)
    answers = list(lines(steering, *[slow] * (PATIENCE + 2)))
    assert len(answers) == 1 and "taken back: accesses stayed 16: no file took it" in answers[0]


def test_no_change_is_an_answer(steering: Steering, put: Any) -> None:
    (line,) = lines(steering, look(1, 16 * MIB, 0.1, movers=range(RANKS)))
    assert line.startswith("no change worth making") and steering.over and not put


def test_one_aggregator_that_is_busy_gets_help(steering: Steering, put: Any) -> None:
    one, two = look(1, 16 * MIB, 1.0, share=0.9), look(1, 8 * MIB, 0.5, (0, 1), 0.9)
    change = next(lines(steering, one, one, two))
    assert (
        "is one of 1 of 4 that write for all, 90% of each collective call" in change
        and "kept: movers 1 became 2" in change
    )
    assert "info cb_nodes 2\ninfo cb_config_list *:*\n" in put[0][0]


def test_who_an_agent_names_is_critical() -> None:
    figures = seen([look(2, MIB, 0.1, (0, 1, 3))], {103, 999})
    assert figures and figures.pid == 103 and figures.movers == 3


def test_rules_name_figures_that_there_are() -> None:
    observed = seen([look(16, 65536, 0.5)], ())
    assert observed
    for rule in rules():
        assert {*rule.least, *rule.below, rule.shows} <= observed.figures.keys() and rule.hints(
            observed
        )
        assert rule.sees.format(**observed.figures)


def raw_writes(trace: Path) -> dict[int, int]:
    """Writes of each step's file, by strace."""
    writes: dict[int, int] = {}
    for file in trace.parent.glob(f"{trace.name}.*"):
        for step in re.findall(r"pwrite64\(\d+<.*/step\.(\d+)>", file.read_text(errors="replace")):
            writes[int(step)] = writes.get(int(step), 0) + 1
    return writes


@pytest.mark.full
@pytest.mark.parametrize("options", [(), ("--select", "critical")])
def test_a_program_improves_within_its_run(
    tmp_path: Path, steps: Any, options: Sequence[str]
) -> None:
    """A buffer of 4 KiB, that the run began with, makes 256 rounds of each call; each step has a file of its own."""
    bad, trace, most = tmp_path / "bad.toml", tmp_path / "trace", 100
    bad.write_text('[[file]]\n[file.romio]\ncb_buffer_size = "4KiB"\n')
    under = ("strace", "-ff", "-o", trace, "-e", "trace=pwrite64", "-y", "-s1")
    run: Steps = steps("mpich", most, "--tunable", "--tuned", bad, *options, under=under)
    run.step(0)
    words = [str(word) for word in (paths.FATHOM, "tune", "--live", run.at, "auto")]
    auto = subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    number = 0
    while auto.poll() is None and number < most - 2:
        number += 1
        run.step(number)
    output, errors = auto.communicate(timeout=300)
    assert auto.returncode == 0 and not errors, errors
    for last in range(number + 1, most):
        (run.out / f"go.{last}").touch()
    assert run.process.wait(300) == 0
    writes = raw_writes(trace)
    assert writes[0] == 256 and writes[most - 1] == 1
    assert re.search(
        r"is critical: it makes \d+ writes of 4 KiB .* cb_buffer_size = \d+; kept: accesses", output
    )
    assert output.splitlines()[-1].startswith("no further change worth making")
    changes = [json.loads(line) for line in (run.at / "tuned.jsonl").read_text().splitlines()]
    assert (
        changes[0]["rule"] == "rounds" and changes[0]["settings"] and "kept" in changes[1]["became"]
    )
