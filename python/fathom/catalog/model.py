"""What a probe catalog says, as typed data. Nothing here knows TOML or C output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .layers import bits

#: Layer name -> bit of the control page's gate (docs/control-page.md).
LAYERS = bits()

KINDS = frozenset("open close read write meta sync seek map post wait comm dir".split())

#: Fields that one call can record (CALL_FIELDS in runtime/core/call.h).
MAX_FIELDS = 8


class CatalogError(Exception):
    """A mistake in a catalog: one line that names file, row and key."""

    def __init__(self, path: Path, row: str, key: str, problem: str) -> None:
        where = " ".join(part for part in (row, key) if part)
        super().__init__(f"{path}: {where}: {problem}")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a C prototype."""

    text: str  # the declaration, as written: "const void *buf"
    name: str  # "buf"
    type: str  # the declaration without its name: "const void *"

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type or "[" in self.type


@dataclass(frozen=True)
class Family:
    """What forms written as one (`each`) share: their wrappers pass on to one body."""

    number: int  # of the form in its row, from 2
    parameters: tuple[Parameter, ...]  # the wrapper's, with `void` for what differs
    own: tuple[str, ...]  # keys of `given` that differ from form to form


@dataclass(frozen=True)
class Form:
    """A prototype of an op and the symbols that have it."""

    symbols: tuple[str, ...]
    parameters: tuple[Parameter, ...]  # as the library declares them
    variadic: bool
    passed: tuple[Parameter, ...]  # what the wrapper takes and hooks see
    va: str  # of a variadic: the library's function with a va_list, which is called instead
    given: Mapping[str, str]  # argument of the row that this form lacks -> C expression
    since: str = ""  # library version that brought it
    family: Family | None = None  # it is one of several that differ by a C type only


@dataclass(frozen=True)
class Field:
    """One recorded number of a call."""

    name: str
    expression: str


@dataclass(frozen=True)
class Call:
    """One row: an op, its symbols, and what is recorded of it."""

    op: str
    kind: str
    forms: tuple[Form, ...]  # the first is the row's own
    values: Mapping[str, str]  # further names of expressions -> C expression in the row's own form
    result: Parameter | None
    error: str
    fails: str
    object: str  # C expression of the object's number, "" for none
    file: str
    by: str
    size: str
    offset: str
    fields: tuple[Field, ...]
    moved: str  # bytes that truly moved
    moves: str  # how far a stream's position went, where that is something else
    when: str
    tune: str  # statement that may replace arguments by a run's settings
    tuned: str  # statement that takes note of what became of them, recorded or not
    before: str
    before_changes: tuple[str, ...]
    after: str
    always: bool
    hot: bool
    row: bool  # False: nothing is recorded, only the hooks run
    keeps: str  # a layer whose tables its hooks keep too
    collective: bool
    beside: bool
    op_by: str  # C expression of the number of its op, where that depends on its arguments
    buffer: str  # C expression of the memory that data goes from or to, "" when it is not told
    pieces: str  # field that says of how many pieces that memory is
    offset_from: str
    clears_errno: bool
    by_hand: bool
    syscalls: tuple[str, ...]
    fortran: tuple[str, ...]
    since: str
    otherwise: str  # layer whose row of this op takes the calls that `when` refuses
    borrowed: bool  # an op of another file of the layer, seen inside its library
    means: str

    @property
    def direction(self) -> str:
        """Which way the call moves data: "read", "write" or ""; of a post what it asks for."""
        if self.kind != "post" or "size" not in (field.name for field in self.fields):
            return self.kind if self.kind in ("read", "write") else ""
        words = re.search("(read|get)|(write|put)", self.op.lower())
        return ("read" if words[1] else "write") if words else ""

    def place(self, name: str) -> int:
        """1 + the number of the field of this name; 0: there is none."""
        names = [field.name for field in self.fields]
        return names.index(name) + 1 if name in names else 0

    @property
    def at_position(self) -> bool:
        """The call works at the descriptor's or stream's position, which the runtime keeps."""
        return self.offset == "tracked"

    @property
    def tracked(self) -> bool:
        """The recorded offset was not given by the program."""
        return self.at_position or self.offset_from == "tracked"

    def failure(self) -> str:
        """C condition over result and arguments: it failed; "" when nothing tells."""
        if self.fails or self.error == "none" or self.result is None:
            return self.fails
        name = self.result.name
        return {
            "errno": f"!{name}" if self.result.is_pointer else f"{name} == -1",
            "negative": f"{name} < 0",
            "minus_errno": f"{name} < 0",
        }.get(self.error, name)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What hooks and expressions see: the arguments of the row's own form."""
        return self.forms[0].passed

    def symbols(self) -> Iterator[str]:
        for form in self.forms:
            yield from form.symbols

    def newer(self) -> Iterator[str]:
        """Symbols that older versions of the library lack."""
        for form in self.forms:
            if form.since or self.since:
                yield from form.symbols


@dataclass(frozen=True)
class Api:
    """One catalog file: a library's calls."""

    path: Path
    layer: str  # as the tables name it; of the user's own catalogs their `name`
    library: tuple[str, ...]
    own: tuple[str, ...]
    inside: tuple[str, ...]  # module globs: symbols are patched there only
    headers: tuple[str, ...]
    system: tuple[str, ...]  # system headers of the wrappers
    include: tuple[str, ...]  # headers of runtime/
    copies: int
    absorb: bool
    bindings_inside: bool  # own modules call these functions for other languages
    types: Mapping[str, str]
    left_out: Mapping[str, str]
    looks_like: tuple[str, ...]
    undeclared: tuple[str, ...]
    calls: tuple[Call, ...]
    same: tuple[str, ...]  # ops of the layer's file that are seen inside as well
    rows: Mapping[str, Any]  # keys that every row has unless it says otherwise
    below: str  # C expression that each row asks first

    @property
    def layer_number(self) -> int:
        return LAYERS.get(self.layer, LAYERS["user"])

    @property
    def c_name(self) -> str:
        """The file's name as part of a C name."""
        return re.sub(r"\W", "_", self.path.stem)

    def recorded(self) -> Iterator[Call]:
        """The rows that are ops of this file; the others only keep the runtime's tables right."""
        return (call for call in self.calls if call.row and not call.borrowed)


@dataclass(frozen=True)
class Catalog:
    """Every API that is built in together, by layer number."""

    apis: tuple[Api, ...]

    def calls(self) -> Iterator[tuple[Api, Call]]:
        for api in self.apis:
            for call in api.calls:
                yield api, call
