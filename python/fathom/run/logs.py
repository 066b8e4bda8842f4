"""Logs of other tools where a run is asked for: imported when they are first named, and kept for the next time."""

import contextlib
import glob
import hashlib
import re
import shutil
import stat
from pathlib import Path

from fathom.errors import FathomError, printable
from fathom.files import facts, files_below, is_file, is_folder, is_there, listed
from fathom.run import paths

# Where a log of Darshan has this number, little-endian, behind its version.
DARSHAN = (8, (6567223).to_bytes(8, "little"))
# How a log of strace begins: a call, or the head of its summary, behind what its options put before it.
STRACE = re.compile(
    rb"(\[pid +)?(\d+(<[^\n]*?>)?\]? +)? *"  # whose: 12, 12<sh>, [pid 12]
    rb"([\d:.]+ +)?(\(\+ *[\d.]+\) )?(\[[^]\n]*\] ){0,2}"  # when; -r, -n, -i beside it
    rb"(% time  |[a-z]\w*\([^\n]*( = |<unfinished \.\.\.>))"
)
FIRST_LINE = 1 << 16  # bytes that it may have
# How `strace -ff` names the file of a thread.
OF_THREAD = re.compile(r"\.\d+")
# Runs that were imported by other rules than today's are made anew.
RULES = 3


def tool_of(log: Path) -> str | None:
    """Whose log this is, as `fathom import` names the tool; None: of none that can be told by its look. Raises
    `OSError` of one that cannot be read."""
    known = facts(log)
    if known is None:
        return "strace" if _of_threads(log) else None
    if stat.S_ISDIR(known.st_mode):
        return _tool_of_directory(log)
    if not stat.S_ISREG(known.st_mode):
        return None
    if log.name.endswith((".pfw", ".pfw.gz")):
        return "dftracer"
    with log.open("rb") as file:
        begin = file.read(FIRST_LINE)
    if begin[DARSHAN[0] :].startswith(DARSHAN[1]):
        return "darshan"
    return "strace" if STRACE.match(begin) else None


def _tool_of_directory(log: Path) -> str | None:
    files = listed(log)
    names = {file.name for file in files}
    if names & {"recorder.mt", "recorder.dat"}:
        return "recorder"
    if any(".pfw" in name for name in names):
        return "dftracer"
    threads = bool(files) and all(OF_THREAD.fullmatch(file.suffix) for file in files)
    return "strace" if threads and tool_of(files[0]) == "strace" else None


def _files(log: Path) -> list[Path]:
    return [log] if is_there(log) else _of_threads(log)


def _of_threads(log: Path) -> list[Path]:
    """The files of `strace -ff -o LOG`: LOG.1, LOG.2 and so on."""
    return [
        file
        for file in listed(log.parent, f"{glob.escape(log.name)}.*")
        if OF_THREAD.fullmatch(file.name.removeprefix(log.name)) and tool_of(file) == "strace"
    ]


def run_of(log: Path) -> Path | None:
    """The run of a log, imported if it was not yet, or has changed; None: it is none. Raises `FathomError` of a log
    that cannot be imported, and where the run cannot be kept."""
    tool = tool_of(log)
    if tool is None:
        return None
    of_log = folder() / _hash(str(log.resolve()))
    of_state = of_log / _hash(_state(log))
    run = of_state / f"{log.absolute().name.removesuffix('.darshan')}.fathom"
    if is_file(run / "run.json"):
        return run.resolve()
    try:
        of_state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise FathomError(
            f"{printable(of_state)}: {error.strerror}, so the run of {printable(log)} cannot be stored there;"
            " name another place in XDG_CACHE_HOME, or make a run of it with fathom import"
        ) from error
    for before in listed(of_log):
        if before != of_state:
            shutil.rmtree(before, ignore_errors=True)
    try:
        _import(tool, log, run)
    except FathomError:
        if not is_file(run / "run.json"):  # else another process was quicker
            with contextlib.suppress(OSError):
                of_state.rmdir()
                of_log.rmdir()
            raise
    return run.resolve()


def folder() -> Path:
    """Where the runs of logs are kept."""
    return paths.user_cache() / "imported"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _state(log: Path) -> str:
    """Another one where the log has changed."""
    files = sorted(files_below(log)) if is_folder(log) else _files(log)
    states = ((str(file), file.stat()) for file in files)
    return f"{RULES} " + " ".join(f"{name}:{at.st_size}:{at.st_mtime_ns}" for name, at in states)


def _import(tool: str, log: Path, run: Path) -> None:
    from fathom.run.importing import reading

    reading(tool, _files(log), run, quiet=True)
