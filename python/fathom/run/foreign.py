"""What a run's directory holds may come from anybody. Files are read as far as they are files, JSON as far as it has
the form that is expected: what is wrong is said in a line, once, and readers may rely on the rest."""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from fathom.errors import DamagedRun, printable, why
from fathom.files import is_there

Form: TypeAlias = Any
"""What a value of JSON must be: a type or several; [form]: a list of such; {key: form}: an object in which these keys,
where they are there, are such, of ANY key the others too. Whole numbers only where a form says int."""
ANY = "*"
NAMES = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}
#: Bytes of a file that is read whole: run.json of a job of many nodes has a line for each.
MOST = 256 << 20


def content(path: Path, most: int = MOST) -> bytes:
    """Of a regular file: what else can be opened may have no end, or wait for ever, and what a link leads to is none of
    the run's. Errors: OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            error.strerror = "is a link, which is not followed"
        raise
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        if facts.st_size > most:
            raise OSError(errno.EFBIG, f"has more than {most >> 20} MiB", str(path))
        return file.read(most)


def check_files(folder: Path) -> None:
    """Whoever opens a pipe or a device of a run waits for ever, or reads without end. Errors: DamagedRun names it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                # whoever needs what is closed will say so; what a packer has just made has got another name
                with suppress(PermissionError, FileNotFoundError):
                    check_files(Path(entry.path))
            elif not entry.is_file() and not _leads_to_folder_or_nowhere(entry):
                raise DamagedRun(
                    f"{printable(entry.path)}: is no regular file, so the run is not read"
                )


def _leads_to_folder_or_nowhere(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() and (entry.is_dir() or not is_there(Path(entry.path)))


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Around what reads this file, or in this directory. Errors: DamagedRun in place of the system's."""
    try:
        yield
    except OSError as error:
        raise DamagedRun(f"{printable(error.filename or path)}: {why(error)}") from error


def read_text(path: Path) -> str:
    """A file of text. Errors: DamagedRun."""
    with readable(path):
        return content(path).decode(errors="replace")


def read_json(path: Path, form: Form, absent: dict[str, Any]) -> dict[str, Any]:
    """A file with one object; `absent` where there is none. Errors: DamagedRun."""
    with readable(path):
        try:
            text = content(path)
        except FileNotFoundError:
            return absent
    return absent | checked(path, text, form)


def checked(path: Path, text: str | bytes, form: Form) -> dict[str, Any]:
    """An object of a file. Errors: DamagedRun."""
    try:
        value = parsed(text)
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
        _check(value, form, "")
    except ValueError as error:
        raise DamagedRun(f"{printable(path)}: {printable(error)}") from error
    return value


def parsed(text: str | bytes) -> Any:
    """A text of JSON in UTF-8; half a letter in it becomes a question mark. Errors: ValueError, also where it is nested
    deeper than can be read."""
    plain = text if isinstance(text, str) else text.decode()
    try:
        value = json.loads(plain)
        if "\\ud" in plain.lower():
            whole = json.dumps(value, ensure_ascii=False).encode(errors="replace")
            value = json.loads(whole)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value


def _check(value: Any, form: Form, where: str) -> None:
    """Errors: ValueError that says where something else is expected."""
    if isinstance(form, dict):
        _expect(value, (dict,), where)
        for key, one in value.items():
            if key in form or ANY in form:
                _check(one, form.get(key, form.get(ANY)), f"{where}.{key}" if where else key)
    elif isinstance(form, list):
        _expect(value, (list,), where)
        for number, one in enumerate(value):
            _check(one, form[0], f"{where}[{number}]")
    else:
        _expect(value, form if isinstance(form, tuple) else (form,), where)


def _expect(value: Any, kinds: tuple[type, ...], where: str) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(f"{where}: {NAMES[kinds[0]]} is expected")
