"""Each system call on files that the engine or a reader makes fails once: it ends with one line, or says in `marks`
what is not in the tables, or does the same as ever. What it does next, without a fault, is right."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fathom.run.paths import engine
from harness import faults, needs, paths

WRITES = paths.PROGRAMS / "programs" / "writes"
ENGINE = str(engine())
PACK = (ENGINE, "pack", "--quiet", "--jobs", "1", "w.fathom")


def killed_run(place: Path) -> None:
    """A run whose process was killed, and its rings."""
    place.mkdir()
    words = ["run", "--no-show", "-o", place / "w.fathom", "--", WRITES, place / "data", "100", "8"]
    env = {**os.environ, "FATHOM_RING": str(place / "rings")}
    command = [str(word) for word in (paths.FATHOM, *words, "kill")]
    subprocess.run(command, env=env, capture_output=True, check=False)
    assert list((place / "rings").glob("*.ring"))


def packed_run(place: Path) -> None:
    killed_run(place)
    subprocess.run(PACK, cwd=place, check=True)


#: What each command begins with, its words, and folders that hold its result.
COMMANDS: dict[str, tuple[Callable[[Path], None], tuple[str, ...], tuple[str, ...]]] = {
    "pack": (killed_run, PACK, ("w.fathom", "rings")),
    "pack packed": (packed_run, PACK, ("w.fathom", "rings")),
    "pack --force": (packed_run, (*PACK, "--force"), ("w.fathom", "rings")),
    "recover": (killed_run, (ENGINE, "recover", "w.fathom"), ("w.fathom", "rings")),
    "join": (killed_run, (ENGINE, "join", "all.fathom", "w.fathom"), ("w.fathom", "all.fathom")),
    "stat": (packed_run, (ENGINE, "stat", "w.fathom"), ()),
}


def shown_run(place: Path) -> None:
    packed_run(place)
    subprocess.run([*FATHOM, "show", "w.fathom"], cwd=place, check=True, capture_output=True)


FATHOM = (paths.PYTHON, "-m", "fathom")
#: The same of readers: words, what they make, and every so many-th fault in the long test. `report` is long.
READERS = {
    "show": (("show", "w.fathom"), "", 1),
    "query": (("query", "w.fathom", "--sql", "select count(*) from calls"), "", 5),
    "export": (("export", "w.fathom", "--to", "csv", "-o", "x"), "x", 5),
    "report": (("report", "w.fathom", "-o", "x.html"), "", 50),
}
LONG = [pytest.param(name, True, marks=pytest.mark.full) for name in READERS]


def says_it(place: Path) -> bool:
    table = place / "w.fathom" / "tables" / "marks.parquet"
    kinds = pq.read_table(table)["kind"].to_pylist() if table.exists() else []
    return bool({"unreadable", "rings"} & set(kinds))


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


@pytest.mark.parametrize("share", [17, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_call_that_fails_is_no_data(name: str, share: int, tmp_path: Path) -> None:
    needs.require(["strace"])
    prepare, words, folders = COMMANDS[name]
    prepare(tmp_path / "place")
    files = faults.below(*folders, but=(".pack.lock", "packed"))
    bad = list(faults.sweep(faults.Case(tmp_path / "place", words, files), says_it, share))
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(("name", "long"), [*((name, False) for name in list(READERS)[:-1]), *LONG])
def test_a_call_of_a_reader_that_fails_is_no_data(name: str, long: bool, tmp_path: Path) -> None:
    needs.require(["strace"])
    place = tmp_path / "place"
    shown_run(place)
    words, made, share = READERS[name]
    files = faults.below(*([made] if made else []))
    case = faults.Case(place, (*FATHOM, *words), files, inside=True, made=made)
    bad = list(faults.sweep(case, lambda _: False, share if long else 61 * share))
    assert not bad, "\n".join(bad)
