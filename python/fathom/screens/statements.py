"""The statements of the screens: .sql files of this folder, with parts put in."""

from functools import cache
from importlib import resources

from fathom import analysis


@cache
def _text(name: str) -> str | None:
    file = resources.files(__package__).joinpath(f"{name}.sql")
    return file.read_text(encoding="utf-8") if file.is_file() else None


def statement(name: str, **parts: str) -> str:
    """Text of NAME.sql. `{PART}` in it stands for the part given, else for PART.sql of this folder, else for that of
    `analysis/`. Parts may hold what a user gave: nothing is looked for in them, and nothing is kept."""
    text = _text(name)
    if text is None:
        return analysis.statement(name)
    return analysis.compose(
        text, lambda word: parts[word] if word in parts else statement(word, **parts)
    ).strip()
