"""tests/findings/*.toml: a program that makes a mistake and one that does the same work well, both on a slow store.

What `test_findings.py` asks, and what `bench/findings.py` measures.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path

from harness import disks, layouts, paths, runner
from harness.needs import MPI

FOLDER = paths.TESTS / "findings"
CATALOG = paths.ROOT / "catalog" / "findings"
EXCHANGE = "SLOW_EXCHANGE_"


class MistakeError(Exception):
    """A mistake in a test file: one line for the reader."""


@dataclass(frozen=True)
class Pair:
    """One test file. Programs lie below build/tests or build/kernels; `{tmp}` is where the store is slow,
    `{programs}` has the Python ones. Before a program SLOW_EXCHANGE_… may say how slow MPI-IO's exchange is
    (tools/slow_exchange.c)."""

    path: Path
    guilty: str  # program and arguments
    innocent: str
    mpi: str = "mpich"  # mpich, ompio, romio321
    ranks: int = 0  # 0: without a launcher
    slow: dict[str, int | float | str] = field(
        default_factory=dict
    )  # SLOW_STORE_* in small letters
    processors: int = 0  # that the guilty program may run on; 0: all
    run: str = ""  # more options of `fathom run`
    env: dict[str, str] = field(default_factory=dict)
    osts: dict[str, int | str] = field(
        default_factory=dict
    )  # directories of {tmp}, each on this OST of a Lustre file system, or on several (`0,1,14`), stripes of slow.block
    mounts: dict[str, str] = field(
        default_factory=dict
    )  # directories of {tmp}, each said to be a file system of this type
    disk: dict[str, str | int] = field(
        default_factory=dict
    )  # {disk} is a file system of this `kind`; of its bytes `waits` may wait to be written
    before: str = ""  # shell, in {tmp}, before each of the two
    exit: int = 0  # status of both programs
    says: str = ""  # part of the finding's sentence
    todo: str = ""  # part of what to do, and of the knob
    line: str = ""  # part of the first of its lines
    also: list[str] = field(default_factory=list)  # findings that the innocent one has as well
    needs: list[str] = field(default_factory=list)
    timeout: int = 180  # ranks that spin while they wait take a minute on a busy machine
    full: bool = False  # in test-full only: it needs a machine that does nothing else
    within: float = 2.0  # factor between the seconds estimated and won that the benchmark allows

    @property
    def finding(self) -> str:
        """NAME.toml and NAME.VARIANT.toml are tests of finding NAME."""
        return self.path.name.split(".")[0]


def load(path: Path) -> Pair:
    """One file. Errors: MistakeError with the file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise MistakeError(f"{path}: {error}") from error
    unknown = set(table) - {f.name for f in fields(Pair)} - {"path"}
    missing = {"guilty", "innocent"} - set(table)
    if unknown or missing:
        what = f"unknown key {min(unknown)}" if unknown else f"no {min(missing)}"
        raise MistakeError(f"{path}: {what}")
    pair = Pair(path=path, **table)
    if not (CATALOG / f"{pair.finding}.sql").is_file():
        raise MistakeError(f"{path}: there is no finding {pair.finding}")
    return pair


def pairs() -> list[Path]:
    """All test files."""
    return sorted(FOLDER.glob("*.toml"))


def command(pair: Pair, words: str, traced: bool) -> list[str | Path]:
    """One of the two programs with its launcher, on a store that the environment slows down."""
    given = [word for word in shlex.split(words) if word.startswith(EXCHANGE)]
    program, *arguments = shlex.split(words)[len(given) :]
    launcher = [*shlex.split(runner.LAUNCH[pair.mpi]), "-n", str(pair.ranks)] if pair.ranks else []
    tools = ["slow_store", *(["slow_exchange"] if given else [])]
    preloaded = [str(paths.PROGRAMS / "tools" / f"{tool}.so") for tool in tools]
    preload = ":".join([*preloaded, *([str(paths.LIBRARY)] if traced else [])])
    return [
        *launcher,
        "env",
        f"LD_PRELOAD={preload}",
        *given,
        _program(program, pair.mpi),
        *arguments,
    ]


def environment(pair: Pair, tmp: Path) -> dict[str, str]:
    """How slow the store below `tmp` is."""
    slow = {key: str(value).replace("{tmp}", str(tmp)) for key, value in pair.slow.items()}
    return {
        "SLOW_STORE_UNDER": str(tmp),
        **{f"SLOW_STORE_{key.upper()}": value for key, value in slow.items()},
        **pair.env,
    }


def _program(word: str, mpi: str) -> Path:
    """`programs/X`, `kernels/X` or `X`, a kernel; built for an MPI where there is no plain one. Or `python`."""
    if word == "python":
        return Path(sys.executable)
    for folder in (paths.PROGRAMS, paths.BUILD, paths.BUILD / "kernels"):
        for name in (word, f"{word}_{MPI[mpi]}"):
            if (folder / name).is_file():
                return folder / name
    raise MistakeError(f"{word} is not built")


def _must(
    command: list[str | Path], env: dict[str, str], cwd: Path, timeout: int, status: int = 0
) -> None:
    words = [str(word) for word in command]
    done = runner.execute(words, env, timeout, cwd)
    if done.returncode != status:
        output = f"{done.stdout[-1500:]}{done.stderr[-3000:]}"
        raise runner.Failed(f"{shlex.join(words)}: exit {done.returncode}\n{output}")


@contextmanager
def _disk(pair: Pair, tmp: Path) -> Iterator[Path | None]:
    """The file system that the pair wants for itself."""
    if not pair.disk:
        yield None
        return
    with disks.disk(str(pair.disk["kind"]), tmp) as at:
        disks.let_wait(at, int(pair.disk["waits"]))
        yield at


def execute(pair: Pair, words: str, tmp: Path, run: Path | None) -> float:
    """One of the two programs in the empty directory `tmp`, traced into `run`. Gives the seconds that it took.

    Errors: `runner.Failed` where it fails or does not end.
    """
    traced = (
        [paths.FATHOM, "run", "--no-show", "-o", run, *shlex.split(pair.run), "--"] if run else []
    )

    def filled_in(text: str) -> str:
        return text.replace("{tmp}", str(tmp)).replace("{programs}", str(paths.TESTS / "programs"))

    if pair.before:
        before = filled_in(pair.before).replace("{python}", sys.executable)
        _must(["bash", "-c", before], {}, tmp, pair.timeout)
    few = sorted(os.sched_getaffinity(0))[: pair.processors] if words == pair.guilty else []
    pinned = ["taskset", "-c", ",".join(map(str, few))] if few else []
    with _disk(pair, tmp) as disk:
        started = command(
            pair, filled_in(words).replace("{disk}", str(disk)), traced=run is not None
        )
        began = time.monotonic()
        _must([*pinned, *traced, *started], environment(pair, tmp), tmp, pair.timeout, pair.exit)
        took = time.monotonic() - began
    if run and pair.mounts:
        layouts.mount(run, {f"{tmp}/{folder}": kind for folder, kind in pair.mounts.items()})
    if run and pair.osts:
        folders = {f"{tmp}/{folder}": ost for folder, ost in pair.osts.items()}
        layouts.lay_out(run, folders, int(pair.slow.get("block", 0)))
    return took
