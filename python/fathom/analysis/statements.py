"""Statements in .sql files, with parts put in that a user may have given."""

from collections.abc import Callable
from functools import cache
from importlib import resources

from fathom import analysis


@cache
def _text(package: str, name: str) -> str | None:
    file = resources.files(package).joinpath(f"{name}.sql")
    return file.read_text(encoding="utf-8") if file.is_file() else None


def of_folder(*packages: str) -> Callable[..., str]:
    """Gives the statements of these folders: a function of NAME and parts.

    `{PART}` in NAME.sql stands for the part given, else for PART.sql of the folders in order, or of this one.
    Parts may hold what a user gave: nothing is looked for in them, and nothing is kept.
    """
    folders = dict.fromkeys((*packages, __package__))

    def statement(name: str, **parts: str) -> str:
        texts = (_text(package, name) for package in folders if "/" not in name)
        text = next((text for text in texts if text is not None), None)
        if text is None:
            return analysis.statement(name)
        return analysis.compose(
            text, lambda word: parts[word] if word in parts else statement(word, **parts)
        ).strip()

    return statement


statement = of_folder()
