"""Looks for the names that were replaced, in all that was written."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fathom.files import files_below
from fathom.run.anonymise import described
from fathom.run.anonymise.names import LEAST, Names
from fathom.run.anonymise.vocabulary import WORD


@dataclass(frozen=True)
class Leak:
    """A name that is still there."""

    file: str  # and column, relative to the copy
    name: str


class Search:
    """Of all names at once: by their first letters, then by lengths."""

    def __init__(self, names: Names) -> None:
        hashes = {word for made in names.hidden.values() for word in WORD.findall(made)}
        ours = names.vocabulary.words | described.keys(names) | names.sentence_words
        self._words = ours | names.suffixes | hashes
        self._readable = names.readable
        self._by_start: dict[str, dict[int, set[str]]] = {}
        self.searched = 0
        for name in names.hidden:
            if sum(map(str.isalpha, name)) >= LEAST and not self._is_public(name, 0, len(name)):
                self.searched += 1
                lengths = self._by_start.setdefault(name[:LEAST], {})
                lengths.setdefault(len(name), set()).add(name)

    def first(self, text: str) -> str | None:
        """The first of the names in a text. It is none inside a word that is Fathom's, or a hash's; nor below a
        folder that stays readable."""
        text = self._readable.sub("", text)
        for at in range(len(text) - LEAST + 1):
            for length, known in self._by_start.get(text[at : at + LEAST], {}).items():
                name = text[at : at + length]
                if name in known and not self._is_public(text, at, at + length):
                    return name
        return None

    def _is_public(self, text: str, start: int, stop: int) -> bool:
        """Are all the words that this stretch lies in?"""
        while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        while stop < len(text) and (text[stop].isalnum() or text[stop] == "_"):
            stop += 1
        return self._words.issuperset(WORD.findall(text[start:stop]))


def leaks(out: Path, search: Search) -> Iterator[Leak]:
    """In each file of a run directory: of a table each column, of others all of it."""
    for path in sorted(files_below(out)):
        where = str(path.relative_to(out))
        texts = _texts_of_table(path) if path.suffix == ".parquet" else _texts_of_file(path)
        for column, values in texts:
            leaked = next(filter(None, map(search.first, values)), None)
            if leaked is not None:
                yield Leak(f"{where}{column}", leaked)


def _texts_of_file(path: Path) -> Iterator[tuple[str, Iterable[str]]]:
    yield "", path.read_text(encoding="utf-8", errors="replace").splitlines()


def _texts_of_table(path: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Different values of each column of texts, and what is written beside the rows."""
    with pq.ParquetFile(path) as file:
        beside = file.metadata.metadata or {}
        yield (
            "",
            [str(one) for pair in beside.items() for one in pair if pair[0] != b"ARROW:schema"],
        )
        for field in file.schema_arrow:
            kind = field.type.value_type if pa.types.is_list(field.type) else field.type
            if pa.types.is_string(kind) or pa.types.is_dictionary(kind):
                for group in range(file.num_row_groups):
                    yield f", column {field.name}", _different(file, group, field.name)


def _different(file: pq.ParquetFile, group: int, name: str) -> list[str]:
    column = file.read_row_group(group, columns=[name])[name]
    flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    return [text for text in pc.unique(flat).to_pylist() if text is not None]
