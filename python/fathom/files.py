"""Files that others may read or have prepared: written aside and moved over, never through a link that lies there."""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

DAY = 86400  # seconds
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: How the folders begin in which files are written before they are moved to their names.
ASIDE = ".writing-"
#: Longest wait for a lock. Who has it for longer means harm, and is not waited for.
PATIENCE = 2.0


def facts(path: Path, follow: bool = True) -> os.stat_result | None:
    """Of what a path leads to, of a link itself if not `follow`; None where there is nothing. Errors: OSError, where
    nobody can tell: pathlib takes most of them for nothing, in each of its versions others."""
    try:
        return path.stat(follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: no file has this name
        return None


def is_there(path: Path) -> bool:
    """Does it lead anywhere? Errors: as `facts`."""
    return facts(path) is not None


def is_file(path: Path) -> bool:
    """Is it a regular file? Errors: as `facts`."""
    known = facts(path)
    return known is not None and stat.S_ISREG(known.st_mode)


def is_folder(path: Path) -> bool:
    """Is it a directory? Errors: as `facts`."""
    known = facts(path)
    return known is not None and stat.S_ISDIR(known.st_mode)


def listed(folder: Path, pattern: str = "*") -> list[Path]:
    """What lies in a folder under names of this pattern, in order; of `*/*.fts` in the folders in it. Nothing where
    there is no folder. Errors: OSError of one that cannot be read, which pathlib's glob takes for an empty one."""
    first, _, rest = pattern.partition("/")
    try:
        with os.scandir(folder) as entries:
            fitting = [one for one in entries if fnmatchcase(one.name, first)]
            names = sorted(one.name for one in fitting if not rest or one.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    paths = [folder / name for name in names]
    return [one for path in paths for one in listed(path, rest)] if rest else paths


def files_below(folder: Path) -> Iterator[Path]:
    """Each file in a folder and in those below it. Errors: OSError."""

    def fail(error: OSError) -> None:
        raise error

    for where, _, names in os.walk(folder, onerror=fail):
        yield from (path for name in names if is_file(path := Path(where, name)))


@contextlib.contextmanager
def replacing(path: Path, folder: bool = False, beside: Path | None = None) -> Iterator[Path]:
    """A name to write to, an empty directory if `folder`, in a folder next to `path`, or in `beside`, of the same file
    system. At the end it is moved to `path`, so that a reader sees a whole file or the one before, after a power cut
    too; after an error it is removed. No other node, process or thread has this name. Errors: OSError, also those that
    a file system reports only when data reach its disk."""
    place, lock = guarded_folder(beside or path.parent, f"{ASIDE}{boot_id()}-")
    partial = place / path.name
    try:
        if folder:
            partial.mkdir()
        yield partial
        _sync(partial)
        _move(partial, path)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def guarded_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder that `locked_folder` gives to nobody while the descriptor is open. Where a file system has no locks
    it gives none. Errors: OSError."""
    while True:
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(place, FOLDER)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_own = place.exists()  # else somebody took it for one that was left
            except OSError as error:
                is_own = not isinstance(error, BlockingIOError)
            if is_own:
                return place, descriptor
            os.close(descriptor)


@cache
def boot_id() -> str:
    """Of this node, since it was started."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def locked_folder(path: Path) -> int | None:
    """A lock on a folder of one's own; None: somebody has it, or it is another's or gone."""
    descriptor = None
    try:
        descriptor = os.open(path, FOLDER)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.fstat(descriptor)
        if held.st_uid == os.geteuid() and held.st_nlink and stat.S_IMODE(held.st_mode) == 0o700:
            return descriptor
    except OSError:
        pass
    if descriptor is not None:
        os.close(descriptor)
    return None


def remove_abandoned(folder: Path) -> None:
    """Removes what writers by `replacing` left in a folder that were killed: on this node, and others' after a day,
    for there are file systems whose locks hold on one node alone."""
    for place in folder.glob(f"{ASIDE}*"):
        with contextlib.suppress(FileNotFoundError):
            old = time.time() - place.lstat().st_mtime > DAY
            lock = locked_folder(place) if old or place.name.startswith(ASIDE + boot_id()) else None
            if lock is not None:
                shutil.rmtree(place, ignore_errors=True)
                os.close(lock)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Others that ask for the same file or folder wait: for who reads it, decides, and replaces it or something in it.
    Where it is not there, or cannot be locked, nobody does."""
    descriptor = _held(path)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _held(path: Path) -> int | None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            flags = FOLDER if path.is_dir() else os.O_RDWR | os.O_NONBLOCK
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.lstat()):
                return descriptor  # else it was replaced meanwhile
        except BlockingIOError:
            time.sleep(0.005)
        except OSError:
            return descriptor
        os.close(descriptor)
    return None


@contextlib.contextmanager
def alone_in(folder: Path, waiting: Callable[[], None]) -> Iterator[int]:
    """Nothing else of this kind is at work in the folder, nor a process that a killed one left with the descriptor;
    `waiting` is called where something is. Gives the descriptor."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def replace_bytes(path: Path, content: bytes) -> None:
    """The file with this content, whole or not at all. Errors: OSError."""
    with replacing(path) as partial, partial.open("xb") as file:
        file.write(content)


def replace_text(path: Path, text: str) -> None:
    """The same of a text, in UTF-8."""
    replace_bytes(path, text.encode())


def _sync(partial: Path) -> None:
    for path in (*partial.rglob("*"), partial):
        if path.is_file() or path.is_dir():
            _sync_one(path)


def _sync_one(path: Path) -> None:
    """A file's data, or the names in a directory; there are file systems that cannot be asked for the latter."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL or not path.is_dir():
            raise
    finally:
        os.close(handle)


def _move(partial: Path, path: Path) -> None:
    if not partial.is_dir() or not path.is_dir():
        partial.replace(path)
        _sync_one(path.parent)
        return
    old = partial.with_name(f"{partial.name}.old")
    path.rename(old)
    try:
        partial.rename(path)
    except OSError:
        old.rename(path)
        raise
    _sync_one(path.parent)


def open_to_append(path: Path) -> int:
    """A descriptor behind the end of a file that is there, or is made. A link, or what is no file, is an OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is no regular file, so it is left alone", str(path))
    return descriptor
