"""Commands that read a run, or make something of it: what each begins with, and what it leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
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


def imported_run(place: Path) -> None:
    traced(place)
    subprocess.run(
        (ENGINE, "strace", "w.fathom", "log"), cwd=place, check=True, capture_output=True
    )


def packed_run(place: Path) -> None:
    killed_run(place)
    subprocess.run(PACK, cwd=place, check=True)


#: What each command begins with, its words, and folders that hold its result.
COMMANDS: dict[str, tuple[Callable[[Path], None], tuple[str, ...], tuple[str, ...]]] = {
    "pack": (killed_run, PACK, ("w.fathom", "rings")),
    "pack packed": (packed_run, PACK, ("w.fathom", "rings")),
    "pack --force": (packed_run, (*PACK, "--force"), ("w.fathom", "rings")),
    "pack recovered": (recovered_run, PACK, ("w.fathom",)),
    "pack imported": (imported_run, PACK, ("w.fathom",)),
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


def log_of_darshan(place: Path) -> None:
    needs.require(["python:darshan"])
    import darshan

    package = Path(darshan.__file__).parent
    place.mkdir()
    small = min(package.rglob("*.darshan"), key=lambda log: log.stat().st_size)
    shutil.copy(small, place / "log")


def log_of_dftracer(place: Path) -> None:
    place.mkdir()
    shutil.copy(next((paths.TESTS / "samples" / "dftracer").glob("*-fork.pfw.gz")), place / "log")


def log_of_recorder(place: Path) -> None:
    place.mkdir()
    shutil.copytree(paths.TESTS / "samples" / "recorder" / "each", place / "log")


FATHOM = (paths.PYTHON, "-P", "-m", "fathom")
LOGS = {
    "strace": traced,
    "darshan": log_of_darshan,
    "dftracer": log_of_dftracer,
    "recorder": log_of_recorder,
}
#: Columns of an import's tables that are others each time.
BY_CHANCE = {
    ("processes", "instance"),
    ("runs", "name"),
    ("runs", "configuration"),
    ("streams", "id"),
    ("streams", "path"),
}
OPENED = (paths.PYTHON, "-P", str(paths.TESTS / "harness" / "opened.py"))
#: The same of readers: how it begins, words, what they make, and every so many-th fault in the long test. `report` is
#: long. Names are of the place, as strace has to have them.
READERS = {
    "show": (shown_run, (*FATHOM, "show", "{}/w.fathom"), "", 1),
    "query": (shown_run, (*FATHOM, "query", "{}/w.fathom", "--sql", "from calls"), "", 5),
    "export": (shown_run, (*FATHOM, "export", "{}/w.fathom", "--to", "csv", "-o", "{}/x"), "x", 5),
    "show --all": (shown_run, (*FATHOM, "show", "{}/w.fathom", "--all"), "", 20),
    "patterns": (shown_run, (*FATHOM, "patterns", "{}/w.fathom"), "", 5),
    "view": (shown_run, (*OPENED, "{}/w.fathom"), "", 20),
    **{
        f"import {tool}": (made, (*FATHOM, "import", tool, "{}/log", "-o", "{}/x"), "x.fathom", 1)
        for tool, made in LOGS.items()
    },
    "report": (shown_run, (*FATHOM, "report", "{}/w.fathom", "-o", "{}/x.html"), "", 50),
}


def tables_of_import(place: Path) -> dict[str, bytes]:
    """What its tables say, but for names by chance."""
    run = place / "x.fathom"
    if not run.exists():
        return {}
    subprocess.run((ENGINE, "pack", "--quiet", run), check=False, stderr=subprocess.DEVNULL)
    made = {}
    for path in sorted(run.glob("tables/**/*.parquet")):
        rows = pq.read_table(path)
        columns = [name for name in rows.column_names if (path.stem, name) not in BY_CHANCE]
        made[str(path.relative_to(run))] = str(rows.select(columns).to_pylist()).encode()
    return made


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
    prepare, words, made, _ = READERS[name]
    prepare(place)
    files = tables_of_import if made == "x.fathom" else faults.below(*([made] if made else []))
    words = tuple(word.format(place) for word in words)
    return faults.Case(place, words, files, inside=True, made=made)


def says_it(place: Path) -> bool:
    """Do the tables say that something is not in them?"""
    tables = place.glob("[wx].fathom/tables/marks.parquet")
    kinds = {kind for table in tables for kind in pq.read_table(table)["kind"].to_pylist()}
    return not kinds.isdisjoint({"unreadable", "rings"})


def said(name: str) -> Callable[[Path], bool]:
    """What reads a run says what is missing, or its answer is the same."""
    return (lambda _: False) if name in READERS and not name.startswith("import") else says_it
