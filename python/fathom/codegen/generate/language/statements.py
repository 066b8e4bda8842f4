"""What the grammar makes of blocks: one object per statement, each with its place."""

from dataclasses import dataclass

from fathom.codegen.generate.language.expression import Expression
from fathom.codegen.generate.language.mistake import Place


@dataclass(frozen=True)
class Word:
    """A name, a text or a number as it was written, without quotation marks."""

    text: str
    place: Place


@dataclass(frozen=True)
class Defined:
    """A parameter or a dimension; a length of None is unlimited."""

    name: Word
    length: Expression | None


@dataclass(frozen=True)
class RealLine:
    """A parameter that is no whole number."""

    name: Word
    value: Word


@dataclass(frozen=True)
class MemberPart:
    """Of a compound; `length`: of an array."""

    type: Word
    name: Word
    length: Word | None


@dataclass(frozen=True)
class CompoundLine:
    """A type made of named members."""

    name: Word
    members: tuple[MemberPart, ...]


@dataclass(frozen=True)
class VariableLine:
    name: Word
    path: Word | None
    type: Word
    rank: Word
    dimensions: tuple[Word, ...]


@dataclass(frozen=True)
class AttributeLine:
    name: Word
    variable: Word
    type: Word
    values: tuple[Word | Expression, ...]


@dataclass(frozen=True)
class OptionLine:
    name: Word
    words: tuple[Word, ...]


Numbers = tuple[Expression, ...]


@dataclass(frozen=True)
class MemoryShape:
    """Where a buffer's part lies in a larger array: its extents, and the first element that is moved."""

    extents: Numbers
    start: Numbers


@dataclass(frozen=True)
class Item:
    """An expression, and behind it what only a buffer has: `[elements]`, `in <…> from <…>`."""

    value: Expression
    elements: Expression | None
    memory: MemoryShape | None


@dataclass(frozen=True)
class AccessLine:
    """One statement of a write or read block. `form` is array, global or list; `process` None is every one.

    array: `items` are starts and counts in turn, then the buffer; global: `tuples` are processes, offsets,
    lengths, strides; list: `tuples` are starts and counts in turn. The last item is the buffer.
    """

    place: Place
    form: str
    process: Expression | None
    variable: Word
    tuples: tuple[Numbers, ...]
    items: tuple[Item, ...]


Statement = (
    Defined | RealLine | CompoundLine | VariableLine | AttributeLine | OptionLine | AccessLine
)
