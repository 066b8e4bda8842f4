"""What advice calls a function in the language of the program, as catalog/languages.toml has it."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import cache

from .layers import catalog_data

LANGUAGES = ("c", "cpp", "python", "fortran", "java", "other")  # as language() of analysis/sql says


@cache
def _anywhere(language: str) -> re.Pattern[str]:
    """Any of the names, as whole words."""
    return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names(language)))


@cache
def names(language: str) -> Mapping[str, str]:
    """C's name or phrase to that of another language, longer ones first; without those that are the same."""
    rows = catalog_data("languages.toml")["name"]
    known = {row["c"]: row[language] for row in rows if language in row}
    return dict(sorted(known.items(), key=lambda pair: -len(pair[0])))


@cache
def _needs() -> Mapping[str, str]:
    """C's name to what has the other: `h5py 3.12`."""
    rows = catalog_data("languages.toml")["name"]
    return {row["c"]: row["needs"] for row in rows if "needs" in row}


def spoken(text: str, language: str, used: Container[str] | None = None) -> str:
    """Advice for a program of this language. `used`: what it has; what its package is too old for keeps C's name."""
    known = names(language)
    if not known:
        return text

    def named(match: re.Match[str]) -> str:
        needs = _needs().get(match[0]) if used is not None and language == "python" else None
        return match[0] if needs and used is not None and needs not in used else known[match[0]]

    return _anywhere(language).sub(named, text)


def is_nameless(function: str | None) -> bool:
    """Is the line outside of all functions, or its function unknown? Python calls a file's own level so."""
    return function in (None, "", "<module>")
