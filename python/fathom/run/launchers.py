"""Programs that start others, shells among them: their own calls are not recorded (catalog/runtime-files.toml)."""

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePath

from fathom.catalog.layers import catalog_path
from fathom.errors import FathomError


@cache
def _names() -> tuple[str, ...]:
    """Their files' names; none in an installation without catalogs."""
    try:
        text = catalog_path("runtime-files.toml").read_text(encoding="utf-8")
    except (FathomError, OSError):
        return ()
    known = tomllib.loads(text)
    return (*known["launchers"], *known["shells"])


def starts_others(program: str) -> bool:
    """Is this, a path or a name, one of them?"""
    return any(fnmatchcase(PurePath(program).name, name) for name in _names())
