"""fathom attach, detach: a program that runs already is recorded from one moment to another, and never harmed."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from fathom.run import control
from fathom.run.filter import compile_text, from_options
from harness import invariants, tables
from harness.attached import Program, fathom, running, works

BLOCK, BLOCKS, WRITERS = 64, 1024, 3


def no_gap(connection: Any) -> int:
    """Each writer's blocks follow each other; how many there are."""
    rows = tables.ask(
        connection,
        f"select thread, file_offset // {1 << 20}, file_offset % {1 << 20} // {BLOCK} from calls"
        f" where op = 'pwrite' and size = {BLOCK} order by thread, start",
    )
    writers = {(thread, writer) for thread, writer, _ in rows}
    assert len(writers) == len({thread for thread, _ in writers}) == WRITERS
    for before, after in itertools.pairwise(rows):
        if before[0] == after[0]:
            assert after[2] == (before[2] + 1) % BLOCKS, (before, after)
    return len(rows)


@pytest.mark.parametrize("name", ["attached", "attached_hard"])
def test_each_call_between_attach_and_detach(tmp_path: Path, name: str) -> None:
    with running(tmp_path, name) as program:
        bare = program.holds()
        first = program.goes_on(500)
        works(tmp_path, "attach", program.pid, "-o", "run")
        began = program.writes()
        ended = program.goes_on(3000)
        works(tmp_path, "detach", "run")
        last = program.goes_on(500)
        assert program.holds()[0] == bare[0]
        assert program.holds()[2] == bare[2]
        program.end()
    run = tmp_path / "run.fathom"
    connection = tables.connect(run)
    assert not invariants.broken(connection, finished=False, whole=True)
    no_gap(connection)
    unfinished = tables.ask(connection, "select op from calls where state <> 'done'")
    assert unfinished == [["read"]]  # of the main thread, which waits
    (recorded_writes,) = tables.ask(connection, "select count(*) from calls where op = 'pwrite'")[0]
    assert ended - began <= recorded_writes <= last - first
    handlers = "select count(*) from calls where op = 'pread' and error = 0"
    assert tables.ask(connection, handlers) != [[0]]
    manifest = json.loads((run / "run.json").read_text())
    assert manifest["program"] == name
    assert [one["pid"] for one in manifest["attached"]] == [program.pid]
    assert manifest["start_ns"] < manifest["end_ns"]
    assert not Path(manifest["configuration"]["ring"]).exists()


def test_all_ranks_of_a_job_at_once(tmp_path: Path) -> None:
    """This test is their launcher: it tells each its rank, and is their parent."""
    ranks = [{"PMI_RANK": str(rank), "PMI_SIZE": "2"} for rank in range(2)]
    with running(tmp_path, **ranks[0]) as first, running(tmp_path, **ranks[1]) as second:
        works(tmp_path, "attach", "--job", os.getpid(), "-o", "run")
        first.goes_on(500)
        second.goes_on(500)
        watched = fathom(tmp_path, "top", "--once", "--json", "run")
        works(tmp_path, "detach", first.pid)
        second.goes_on(500)
        assert "end_ns" not in json.loads((tmp_path / "run.fathom" / "run.json").read_text())
        works(tmp_path, "detach", "run")
        first.end()
        second.end()
    assert json.loads(watched.stdout)["processes"]["running"] == 2
    assert "end_ns" in json.loads((tmp_path / "run.fathom" / "run.json").read_text())
    connection = tables.connect(tmp_path / "run.fathom")
    calls = "select p.rank, count(*) from calls join processes p using (process) group by all order by all"
    (rank0, some), (rank1, more) = tables.ask(connection, calls)
    assert (rank0, rank1) == (0, 1)
    assert some >= 500
    assert more >= 1000


def rings(pid: int) -> set[str]:
    """Those that are mapped, deleted or not."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return set(re.findall(r"\S+\.ring", maps))


def ring_directory(run: Path) -> Path:
    return Path(json.loads((run / "run.json").read_text())["configuration"]["ring"])


def cycles(place: Path, program: Program, times: range) -> tuple[int, int, int]:
    for i in times:
        works(place, "attach", program.pid, "-o", f"run{i}")
        program.goes_on(200)
        assert ring_directory(place / f"run{i}.fathom").exists()
        works(place, "detach", program.pid)
        assert not ring_directory(place / f"run{i}.fathom").exists()
        assert (
            len(rings(program.pid)) <= 2
        )  # a thread that has not called since keeps the one before
        assert no_gap(tables.connect(place / f"run{i}.fathom")) >= 200
    return program.holds()


def test_attached_again(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        cycles(tmp_path, program, range(3))
        program.end()


@pytest.mark.full
def test_fifty_cycles_leak_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        before = cycles(tmp_path, program, range(10))
        after = cycles(tmp_path, program, range(10, 60))
        assert after[0] == before[0]
        assert after[2] == before[2]
        assert after[1] <= before[1] + 8  # libc's arenas for threads come and stay
        program.end()


def toggles(place: Path, program: Program, times: int) -> None:
    works(place, "attach", program.pid, "-o", "run")
    program.goes_on(100)
    node = control.Node(ring_directory(place / "run.fathom"))
    on = compile_text(from_options("call", None, [], {}), "on", [])
    off = compile_text(from_options("off", None, [], {}), "off", [])
    before = (0, 0, 0)
    for i in range(times):
        node.change(off if i % 2 else on)
        program.goes_on(5)
        before = program.holds() if i == times // 10 else before
    descriptors, mappings, threads = program.holds()
    assert (descriptors, threads) == (before[0], before[2])
    assert mappings <= before[1]  # of one less a neighbour has grown
    node.change(on)
    program.goes_on(100)
    works(place, "detach", program.pid)
    program.end()
    assert not invariants.broken(tables.connect(place / "run.fathom"), finished=False, whole=False)


def test_levels_are_changed_while_attached(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        toggles(tmp_path, program, 50)


@pytest.mark.full
def test_a_thousand_changes_of_level_leak_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        toggles(tmp_path, program, 1000)
