"""Where this node's rings of a run lie (docs/control-page.md). run.json says it, and may have come from anybody: what
it names is acted upon only where it is this run's own. The engine goes by the same rule (engine/pack/src/rings.rs)."""

import contextlib
import os
import stat
from pathlib import Path

from fathom.run import manifest

MAGIC = b"FATHOMCP"
#: Bytes of the page, and where it names the run.
PAGE, RUN = 4096, 1024
#: What lies there beside rings.
BESIDE = ("control", "select.lock", "selection.*", "tuned.*")


def own_rings(run: Path) -> Path | None:
    """The folder that run.json names, where it is this run's; None: there is none here, or it is somebody else's.

    It is no link, is this user's, and its control page names this run. Of a run that was moved since, or that has no
    page, it bears the name that `fathom run` gives it.
    """
    content = manifest.read(run)
    configuration = content.get("configuration")
    named = configuration.get("ring") if isinstance(configuration, dict) else None
    if not isinstance(named, str) or not named.startswith("/") or "\0" in named:
        return None
    rings = Path(named)
    try:
        facts = rings.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
        return None
    paged = run_of(rings / "control")
    if paged is not None and _same(paged, run):
        return rings
    if paged is not None and paged.is_dir():
        return None
    by_name = f"/dev/shm/fathom.{os.geteuid()}.{content.get('id')}"
    return rings if named == by_name else None


def run_of(control: Path) -> Path | None:
    """The run that a control page of this user's names."""
    try:
        handle = os.open(control, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            return None
        page = file.read(PAGE + 1)
    name = page[RUN:].partition(b"\0")[0]
    return (
        Path(os.fsdecode(name)) if page.startswith(MAGIC) and len(page) == PAGE and name else None
    )


def _same(first: Path, second: Path) -> bool:
    with contextlib.suppress(OSError):
        return first.samefile(second)
    return False


def are_done(rings: Path) -> bool:
    """Is nothing left there that a reader has to save?"""
    return all(any(path.match(pattern) for pattern in BESIDE) for path in rings.iterdir())


def remove(rings: Path) -> None:
    """The folder, with what lies beside rings in it."""
    for path in rings.iterdir():
        path.unlink(missing_ok=True)
    rings.rmdir()
