"""Words that are Fathom's and no user's: what the catalog lists, and what statements compare with."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import cached_property
from pathlib import Path

from fathom.catalog import columns
from fathom.catalog.layers import catalog_data, catalog_files, catalog_path
from fathom.catalog.layers import names as layers
from fathom.catalog.load import load
from fathom.run.macros import FOLDER

WORD = re.compile(r"\w+")
_LITERAL = re.compile(r"'((?:[^'\n]|'')*)'")
_QUOTED = re.compile(r"`([^`]*)`")


class Vocabulary:
    """What may stay as it is."""

    def __init__(self, listed: Iterable[str] = ()) -> None:
        """`listed`: more words, of a run's own list of functions."""
        public = catalog_data("public-names.toml")
        self._names = re.compile("|".join(map(translate, public["names"])))
        self._folders = frozenset(public["folders"])
        self._listed = (*public["words"], *public["folders"], *listed)

    def is_name(self, name: str) -> bool:
        """Is it a component of a path, or a function, that no user chose?"""
        return name in self._folders or bool(self._names.match(name))

    @cached_property
    def words(self) -> frozenset[str]:
        """All of them. A rule asks for none that is not here, so that it says of a copy what it says of the run."""
        texts = [*self._listed, *layers(), *_of_probes(), *_of_tables(), *_of_knobs()]
        folders = (FOLDER, catalog_path("findings"))
        texts += [
            text for folder in folders for path in folder.glob("*.sql") for text in _sql(path)
        ]
        return frozenset(word for text in texts for word in (text, *WORD.findall(text)))


def _of_probes() -> Iterator[str]:
    """Functions and what is recorded of them."""
    for _, call in load(catalog_files("probes")).calls():
        yield from (call.op, call.kind, *(field.name for field in call.fields))


def _of_tables() -> Iterator[str]:
    """Names of columns, and values that their meanings list."""
    for table in columns.tables():
        yield table.name
        for column in table.columns:
            yield from (*column.names, *_QUOTED.findall(column.means))


def _of_knobs() -> Iterator[str]:
    """Settings that can be asked for, and their values."""
    for path in catalog_files("knobs"):
        for knob in catalog_data(f"knobs/{path.name}").get("knob", []):
            yield from _texts(knob.get("name"))
            yield from _texts(knob.get("values"))


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _sql(path: Path) -> Iterator[str]:
    """What a file's statements compare with."""
    lines = path.read_text(encoding="utf-8").splitlines()
    code = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
    yield from _LITERAL.findall(code)
