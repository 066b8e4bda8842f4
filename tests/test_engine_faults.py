"""Each system call on files that the engine or a reader makes fails once: it ends with one line, or says in `marks`
what is not in the tables, or does the same as ever. What it does next, without a fault, is right."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from harness import faults, needs, readers
from harness.readers import COMMANDS, PACK, READERS, TOGETHER, WRITES, killed_run

LONG = [pytest.param(name, True, marks=pytest.mark.full) for name in READERS]


def test_a_module_that_cannot_be_read_is_named_and_tried_again(tmp_path: Path) -> None:
    """Another user's library ends no pack: its lines are missing, until it can be read."""
    needs.require(["strace"])
    place = tmp_path / "place"
    killed_run(place)

    def lines() -> list[object]:
        table = pq.read_table(place / "w.fathom" / "tables" / "sites.parquet")
        return [line for line in table["line"].to_pylist() if line is not None]

    def pack(*before: str) -> tuple[list[str], int]:
        subprocess.run([*before, *PACK], cwd=place, check=True)
        tables = place / "w.fathom" / "tables"
        marks = pq.read_table(tables / "marks.parquet").to_pylist()
        return [m["detail"] for m in marks if m["kind"] == "unreadable"], tables.stat().st_ino

    closed = ["-e", "trace=openat", "-P", str(WRITES), "-e", "inject=openat:error=EACCES"]
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", *closed]
    marks, made = pack(*strace)
    assert marks == [f"{WRITES}: Permission denied (os error 13); calls there have no lines"]
    assert not lines()
    assert pack(*strace) == (marks, made), "made anew though nothing changed"
    assert pack()[0] == [] and lines()


@pytest.mark.parametrize("words", [("show", "--all"), ("patterns",)], ids=" ".join)
@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("openat", "tables"),
        ("newfstatat", "tables/nodes.parquet"),
        ("openat", "tables/args"),
        ("getdents64", "streams"),
    ],
)
def test_a_reader_names_what_may_not_be_read(
    words: tuple[str, ...], call: str, name: str, tmp_path: Path
) -> None:
    """Python's glob takes a folder that may not be read for an empty one: then there was no such table."""
    needs.require(["strace"])
    place = tmp_path / "place"
    readers.shown_run(place)
    path = place / "w.fathom" / name
    inject = ["-P", str(path), "-e", f"trace={call}", "-e", f"inject={call}:error=EACCES"]
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", *inject]
    command = [*strace, *readers.FATHOM, words[0], "w.fathom", *words[1:]]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1 and f"{path}: Permission denied" in done.stderr


def test_a_table_that_fails_at_any_look_is_one_line(tmp_path: Path) -> None:
    """DuckDB opens a file for each view of it; at the ninth look its own lines came, and a traceback."""
    needs.require(["strace"])
    place = tmp_path / "place"
    readers.shown_run(place)
    table = place / "w.fathom" / "tables" / "counters.parquet"
    query = [*readers.FATHOM, "query", "w.fathom", "--sql", "select count(*) from calls"]
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(table), "-e", "trace=fstat"]
    for look in range(1, 13):
        inject = ["-e", f"inject=fstat:error=EIO:when={look}"]
        done = subprocess.run([*strace, *inject, *query], cwd=place, capture_output=True, text=True)
        assert (done.returncode, done.stderr.count("\n")) in ((0, 0), (3, 1)), (look, done.stderr)


@pytest.mark.some(3)
@pytest.mark.parametrize("share", [17, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_call_that_fails_is_no_data(name: str, share: int, tmp_path: Path) -> None:
    needs.require(["strace"])
    bad = list(faults.sweep(readers.case(name, tmp_path / "place"), readers.said(name), share))
    assert not bad, "\n".join(bad)


@pytest.mark.some(2)
@pytest.mark.parametrize("share", [61, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", TOGETHER)
def test_a_call_that_fails_in_one_of_several_is_no_data(
    name: str, share: int, tmp_path: Path
) -> None:
    """A collector and who sends to it; a packer and who does its shares; an import and who reads it."""
    needs.require(["strace"])
    bad = list(faults.sweep(readers.case(name, tmp_path / "place"), readers.said(name), share))
    assert not bad, "\n".join(bad)


@pytest.mark.some(1)
@pytest.mark.parametrize(("name", "long"), [*((name, False) for name in list(READERS)[:-1]), *LONG])
def test_a_call_of_a_reader_that_fails_is_no_data(name: str, long: bool, tmp_path: Path) -> None:
    needs.require(["strace"])
    share = READERS[name][-1] if long else 61 * READERS[name][-1]
    bad = list(faults.sweep(readers.case(name, tmp_path / "place"), readers.said(name), share))
    assert not bad, "\n".join(bad)
