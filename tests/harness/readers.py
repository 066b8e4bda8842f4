"""Commands that read a run, or make something of it: what each begins with, and what it leaves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from fathom.run.paths import engine

from harness import faults, paths

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


def recovered_run(place: Path) -> None:
    """Without rings, and with its stream where a name of its own leads to it."""
    killed_run(place)
    subprocess.run((ENGINE, "recover", "w.fathom"), cwd=place, check=True, stdout=subprocess.PIPE)
    (stream,) = place.glob("w.fathom/streams/*/*.tail.fts")
    (place / "w.fathom.fts").write_bytes(stream.read_bytes())


def traced(place: Path) -> None:
    place.mkdir()
    words = ["strace", "-f", "-ttt", "-T", "-y", "-o", "log", WRITES, "data", "100", "8", "exit"]
    subprocess.run([str(word) for word in words], cwd=place, check=False)


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
    "thin": (
        killed_run,
        (ENGINE, "thin", "w.fathom", "--keep-if", "io>100%"),
        ("w.fathom", "rings"),
    ),
    "stat": (packed_run, (ENGINE, "stat", "w.fathom"), ()),
    "dump": (recovered_run, (ENGINE, "dump", "w.fathom.fts"), ()),
}


SEVERAL = (paths.PYTHON, "-I", str(paths.TESTS / "harness" / "several.py"), ENGINE)
#: The same of commands of several processes, by who of them is under strace.
TOGETHER = {
    "collect": (recovered_run, ("all.fathom", "w.fathom")),
    "agent": (killed_run, ("all.fathom", "w.fathom", "rings")),
    "pack --shares": (recovered_run, ("w.fathom",)),
    "pack-share": (recovered_run, ("w.fathom",)),
    "strace": (traced, ()),
}
#: They lie in a run for ever, or say when it was made.
BESIDE = (".pack.lock", ".collect.lock", "packed")


def shown_run(place: Path) -> None:
    packed_run(place)
    subprocess.run([*FATHOM, "show", "w.fathom"], cwd=place, check=True, capture_output=True)


FATHOM = (paths.PYTHON, "-m", "fathom")
#: The same of readers: words, what they make, and every so many-th fault in the long test. `report` is long.
READERS = {
    "show": (("show", "w.fathom"), "", 1),
    "query": (("query", "w.fathom", "--sql", "select count(*) from calls"), "", 5),
    "export": (("export", "w.fathom", "--to", "csv", "-o", "x"), "x", 5),
    "show --all": (("show", "w.fathom", "--all"), "", 20),
    "patterns": (("patterns", "w.fathom"), "", 5),
    "report": (("report", "w.fathom", "-o", "x.html"), "", 50),
}


def case(name: str, place: Path) -> faults.Case:
    """The command of that name, with all that it needs in `place`."""
    if name in COMMANDS:
        prepare, words, folders = COMMANDS[name]
        prepare(place)
        return faults.Case(place, words, faults.below(*folders, but=BESIDE))
    if name in TOGETHER:
        prepare, folders = TOGETHER[name]
        prepare(place)
        files = faults.below(*folders, but=BESIDE) if folders else (lambda _: {})
        made = "x.fathom" if name == "strace" else ""
        return faults.Case(place, (*SEVERAL, name), files, made=made, behind=True)
    words, made, _ = READERS[name]
    shown_run(place)
    files = faults.below(*([made] if made else []))
    return faults.Case(place, (*FATHOM, *words), files, inside=True, made=made)


def says_it(place: Path) -> bool:
    """Do the tables say that something is not in them?"""
    table = place / "w.fathom" / "tables" / "marks.parquet"
    kinds = pq.read_table(table)["kind"].to_pylist() if table.exists() else []
    return bool({"unreadable", "rings"} & set(kinds))


def said(name: str) -> Callable[[Path], bool]:
    """A reader says what is missing, or its answer is the same."""
    return (lambda _: False) if name in READERS else says_it
