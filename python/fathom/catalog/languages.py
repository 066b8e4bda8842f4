"""What advice calls a function in the language of the program, as catalog/languages.toml has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from .layers import catalog_data

LANGUAGES = ("c", "cpp", "python", "fortran")  # as language() of analysis/sql says


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


def spoken(text: str, language: str) -> str:
    """Advice for a program of this language."""
    known = names(language)
    if not known:
        return text
    return _anywhere(language).sub(lambda match: known[match[0]], text)


def is_nameless(function: str | None) -> bool:
    """Is the line outside of all functions, or its function unknown? Python calls a file's own level so."""
    return function in (None, "", "<module>")
