"""Which group a file is of: by its suffix, or as the user says."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

NUMBER = re.compile(r"\d+")
LETTER = re.compile(r"[A-Za-z]")


def by_suffix(path: str) -> str:
    """`/data/out.0001.rst` -> `*.rst`; a suffix of digits says nothing: `restart.0001` -> `restart.*`."""
    name = PurePosixPath(path).name
    suffix = PurePosixPath(name).suffix
    if len(suffix) > 1 and LETTER.match(suffix[1]):
        return f"*{suffix}"
    return NUMBER.sub("*", name) or path


def by_globs(globs: Sequence[tuple[str, str]]) -> Callable[[str], str | None]:
    """Names by the first glob that the path, or its last part, matches."""

    def name_of(path: str) -> str | None:
        base = PurePosixPath(path).name
        return next(
            (name for name, glob in globs if fnmatchcase(path, glob) or fnmatchcase(base, glob)),
            None,
        )

    return name_of
