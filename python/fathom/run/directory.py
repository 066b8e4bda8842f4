"""A run directory as a user names it, and the engine at work on it. Without DuckDB and
Arrow: commands that read no table start at once."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from fathom.errors import NotARun, UsageError, printable
from fathom.files import facts, is_folder, is_there, listed
from fathom.run import foreign, paths
from fathom.run.logs import run_of

SUFFIX = ".fathom"
MOST = 5  # runs that are named where one is not there
OF_IMPORT = ["index", "streams.blocks"]  # shared files of an import of many processes


def resolve(path: str | PathLike[str]) -> Path:
    """The run directory that a user means by `s3d`, `s3d.fathom` or a path below it; of a log of another tool the one
    that is made of it."""
    directory = resolve_if_any(path)
    if directory:
        return directory
    given = Path(path)
    if is_there(given):
        raise NotARun(
            f"{printable(given)} is no run directory: it has neither run.json nor streams"
        )
    raise NotARun(f"{printable(given)}: there is no such run directory{_others(given)}")


def resolve_if_any(path: str | PathLike[str]) -> Path | None:
    """The same, None if the path is neither a run directory nor a log. Errors: a log that cannot be read."""
    with foreign.readable(Path(path)):
        directory = find(path) or run_of(Path(path))
        if directory:
            foreign.check_files(directory)
    if directory and not _is_utf8(directory):
        raise NotARun(
            f"{printable(directory)}: this path is no UTF-8, so its tables cannot be opened; rename it"
        )
    return directory


def _others(given: Path) -> str:
    """What else is where this run was looked for, the most alike first; nothing where that cannot be read."""
    from difflib import SequenceMatcher  # where something is wrong already

    runs: list[Path] = []
    with contextlib.suppress(OSError):
        runs = [*runs_in(given.parent), *listed(given.parent, "*.darshan")]
    names = [one.name.removesuffix(SUFFIX) for one in runs]
    wanted = given.name.removesuffix(SUFFIX)
    names.sort(key=lambda name: -SequenceMatcher(None, name, wanted).ratio())
    first = ", ".join(printable(given.with_name(name)) for name in names[:MOST])
    if not first:
        return ""
    return f"; runs here: {first}{', …' if len(names) > MOST else ''}"


def runs_in(folder: Path) -> list[Path]:
    """The run directories in this one, those made last first. Errors: OSError."""
    created = {one: _created(one) for one in listed(folder, f"*{SUFFIX}")}
    return sorted(
        (one for one in created if created[one]), key=lambda one: (-created[one], one.name)
    )


def _created(directory: Path) -> int:
    """When, in nanoseconds; 0: it is no run, or one of somebody else that we may not read. Reading a run writes its
    run.json anew."""
    try:
        known = facts(directory / "streams") or facts(directory / "run.json")
    except PermissionError:
        if directory.lstat().st_uid == os.getuid():
            raise
        return 0
    return known.st_mtime_ns if known else 0


def newest() -> Path:
    """The run in the current directory that was made last. Errors: NotARun if there is none, or no last one."""
    runs = runs_in(Path())
    if not runs:
        raise NotARun(
            "which run? There is none here; name one, or record one: fathom run -- PROGRAM"
        )
    if len(runs) > 1 and _created(runs[0]) == _created(runs[1]):
        raise NotARun(f"which run? {runs[0]} and {runs[1]} are of one moment; name one")
    return runs[0]


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def find(path: str | PathLike[str]) -> Path | None:
    """The same, None if there is none. A program of that name beside its run is passed over."""
    given = Path(path)
    for candidate in (given, given.with_name(given.name + SUFFIX) if given.name else given):
        if is_there(candidate / "run.json") or is_folder(candidate / "streams"):
            return candidate.resolve()
    return None


def is_settled(directory: Path) -> bool:
    """Have all processes ended, and were the tables made of the streams that are there? As the engine would say,
    without starting it; of what an agent shipped elsewhere only the engine knows."""
    sink = directory / "sink"
    try:
        lines = (directory / "tables" / "packed").read_text(encoding="utf-8").splitlines()
        packed = dict(line.split("=", 1) for line in lines)
        streams = _streams(directory / "streams")
        shared = [one.name for one in listed(sink)]
        stated = tuple(int(packed.get(key, -1)) for key in ("newest", "files", "bytes"))
        whole = packed.get("refused", "0") == "0" and packed.get("unreadable", "[]") == "[]"
        if not whole or packed.get("alive") != "0":
            return False
        if shared == OF_IMPORT:  # to which nobody ships more
            return stated[0] == _newest([*streams, (sink / OF_IMPORT[1]).stat()])
    except FileNotFoundError:  # not packed; or only tables were kept
        return is_there(directory / "tables" / "packed")
    except (OSError, ValueError):
        return False
    present = (_newest(streams), len(streams), sum(stream.st_size for stream in streams))
    return not is_there(sink) and present == stated


def _newest(streams: list[os.stat_result]) -> int:
    return max((stream.st_mtime_ns for stream in streams), default=0)


def _streams(place: Path) -> list[os.stat_result]:
    """What is known of each stream's file."""
    nodes = [entry.path for entry in os.scandir(place) if entry.is_dir()]
    files = [entry for node in nodes for entry in os.scandir(node) if entry.name.endswith(".fts")]
    return [entry.stat() for entry in files if entry.is_file(follow_symlinks=False)]


def to_make(path: str | PathLike[str]) -> Path:
    """Where the run is to be made that a user calls `s3d` or `s3d.fathom`."""
    given = Path(path)
    if given.name in ("", ".."):
        raise UsageError(f"'{printable(given)}' is no name of a run: add one, as {given / 's3d'}")
    return given if given.suffix == SUFFIX else given.with_name(given.name + SUFFIX)


@contextlib.contextmanager
def packing(run: str | PathLike[str]) -> Iterator[None]:
    """Makes the tables of a run that has none, meanwhile; who opens it behind the block makes them of what could not be
    packed here, and says why."""
    directory = find(run)
    if directory is None or not _is_to_pack(directory):
        yield
        return
    command = [str(paths.engine()), "pack", str(directory)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, restore_signals=False
    ) as packer:
        yield
        _, report = packer.communicate()
    if packer.returncode == 0:
        print(report, end="", file=sys.stderr)


def _is_to_pack(directory: Path) -> bool:
    """Nobody has, and it can be done here."""
    return (
        is_folder(directory / "streams")
        and not is_there(directory / "tables")
        and os.access(directory, os.W_OK)
        and os.access(paths.engine(), os.X_OK)
    )
