"""Logs of other tools where a run is asked for: imported when they are first named, and kept for the next time."""

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

from fathom.errors import FathomError, printable

# Where a log of Darshan has this number, little-endian, behind its version.
DARSHAN = (8, (6567223).to_bytes(8, "little"))
# Runs that were imported by other rules than today's are made anew.
RULES = 1


def tool_of(log: Path) -> str | None:
    """Whose log this is, as `fathom import` names the tool; None: of none that can be told by its look."""
    try:
        if log.is_dir():
            if any((log / name).is_file() for name in ("recorder.mt", "recorder.dat")):
                return "recorder"
            return "dftracer" if any(log.glob("*.pfw*")) else None
        if log.name.endswith((".pfw", ".pfw.gz")):
            return "dftracer"
        with log.open("rb") as file:
            file.seek(DARSHAN[0])
            return "darshan" if file.read(len(DARSHAN[1])) == DARSHAN[1] else None
    except OSError:
        return None


def run_of(log: Path) -> Path | None:
    """The run of a log, imported if it was not yet, or has changed; None: it is none. Raises `FathomError` of a log
    that cannot be imported, and where the run cannot be kept."""
    tool = tool_of(log)
    if tool is None:
        return None
    of_log = folder() / _hash(str(log.resolve()))
    kept = of_log / _hash(_state(log))
    run = kept / f"{log.absolute().name.removesuffix('.darshan')}.fathom"
    if (run / "run.json").is_file():
        return run.resolve()
    try:
        kept.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise FathomError(
            f"{printable(kept)}: {error.strerror}, so the run of {printable(log)} cannot be kept there;"
            " name another place in XDG_CACHE_HOME, or make a run of it with fathom import"
        ) from error
    for before in of_log.iterdir():
        if before != kept:
            shutil.rmtree(before, ignore_errors=True)
    try:
        _import(tool, log, run)
    except FathomError:
        if not (run / "run.json").is_file():  # else another process was quicker
            with contextlib.suppress(OSError):
                kept.rmdir()
                of_log.rmdir()
            raise
    return run.resolve()


def folder() -> Path:
    """Where the runs of logs are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home, "fathom", "imported")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _state(log: Path) -> str:
    """Another one where the log has changed."""
    files = sorted(log.rglob("*")) if log.is_dir() else [log]
    states = ((str(file), file.stat()) for file in files)
    return f"{RULES} " + " ".join(f"{name}:{at.st_size}:{at.st_mtime_ns}" for name, at in states)


def _import(tool: str, log: Path, run: Path) -> None:
    from fathom.importing.start import reading

    reading(tool, [log], run)
