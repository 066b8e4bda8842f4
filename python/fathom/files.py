"""Files that others may read or have prepared: written aside and moved over, never through a link that lies there."""

import contextlib
import errno
import os
import shutil
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

DAY = 86400  # seconds


@contextlib.contextmanager
def replacing(path: Path, folder: bool = False) -> Iterator[Path]:
    """A name beside `path` to write to, an empty directory if `folder`. At the end it is moved to `path`, so that a
    reader sees a whole file or the one before, after a power cut too; after an error it is removed. No other node,
    process or thread has this name. Errors: OSError, also those that a file system reports only when data reach its
    disk."""
    writer = f"{socket.gethostname()}.{os.getpid()}.{threading.get_native_id()}"
    partial = path.with_name(f".{path.name}.{writer}")
    _remove(partial)
    try:
        if folder:
            partial.mkdir()
        yield partial
        _sync(partial)
        _move(partial, path)
    finally:
        _remove(partial)


def remove_abandoned(folder: Path) -> None:
    """Removes what writers by `replacing` left in a folder: of this node those that have ended."""
    # Others go after a day.
    for partial in folder.glob(".*"):
        words = partial.name.rsplit(".", 2)
        if len(words) == 3 and words[1].isdigit() and words[2].isdigit():
            with contextlib.suppress(FileNotFoundError, PermissionError):  # another one's, or gone
                if _is_abandoned(partial, words[0], int(words[1])):
                    _remove(partial)


def _is_abandoned(partial: Path, name_and_host: str, writer: int) -> bool:
    if time.time() - partial.lstat().st_mtime > DAY:
        return True
    if not name_and_host.endswith(f".{socket.gethostname()}"):
        return False
    try:
        os.kill(writer, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # another user's
    return False


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
    old = path.with_name(f"{partial.name}.old")
    path.rename(old)
    try:
        partial.rename(path)
    except OSError:
        old.rename(path)
        raise
    _sync_one(path.parent)
    shutil.rmtree(old)


def _remove(partial: Path) -> None:
    if partial.is_dir() and not partial.is_symlink():
        shutil.rmtree(partial, ignore_errors=True)
    else:
        partial.unlink(missing_ok=True)


def open_to_append(path: Path) -> int:
    """A descriptor behind the end of a file that is there, or is made. A link, or what is no file, is an OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is no regular file, so it is left alone", str(path))
    return descriptor
