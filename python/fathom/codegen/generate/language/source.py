"""Finds blocks of hints in a user's source, and keeps the rest byte for byte.

A block is written `#begin_X … #end_X`, or so that the source compiles as it is: in C and C++
`/*@iog begin_X … end_X @*/`, in Fortran lines that begin with `!$iog`. Only comments and strings are
tracked, so that what merely looks like a block in them is none.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from fathom.codegen.generate.language.mistake import Mistake, Place

KINDS = (
    "parameters",
    "types",
    "dimensions",
    "variables",
    "attributes",
    "options",
    "layout",
    "write",
    "read",
)
FIXED = {".f", ".for", ".f77", ".ftn"}
FORTRAN = {*FIXED, ".f90", ".f95", ".f03", ".f08"}
CXX = {".cc", ".cpp", ".cxx", ".c++", ".hpp", ".hh"}
C = {".c", ".h"}

_SEED = re.compile(r"[ \t]*#(begin|end)_(\w+)[ \t]*(\w*)[ \t]*$")
_INERT_C = re.compile(r"[ \t]*/\*@iog[ \t]+begin_(\w+)[ \t]*(\w*)[ \t]*$")
_INERT_C_END = re.compile(r"[ \t]*end_(\w+)[ \t]*@\*/[ \t]*$")
_INERT_F = re.compile(r"[ \t]*!\$iog[ \t]+(begin|end)_(\w+)[ \t]*(\w*)[ \t]*$", re.I)
_PREFIX_F = re.compile(r"([ \t]*)!\$iog", re.I)
_LEXED = re.compile(r'/\*|//|"(?:\\.|[^"\\])*"?|\'(?:\\.|[^\'\\])*\'?|R"([^(\s]{0,16})\(')


@dataclass(frozen=True)
class Block:
    """One block: its kind, its name (of an I/O point), its lines; `text` has them with columns kept."""

    kind: str
    name: str
    first: int  # index of the line of its begin
    last: int  # of the line of its end
    text: str
    spelling: str  # seed, c, fortran


@dataclass(frozen=True)
class Source:
    """A file: its lines with their ends, its blocks, its language by its suffix ("" if it is no program)."""

    path: str
    lines: list[str]
    blocks: list[Block]
    language: str

    @property
    def fixed(self) -> bool:
        """Is it Fortran in fixed form?"""
        return Path(self.path).suffix.lower() in FIXED

    def place(self, line: int, column: int) -> Place:
        """Of an index of a line, from 0, and a column, from 1."""
        text = self.lines[line].rstrip("\r\n") if line < len(self.lines) else ""
        return Place(self.path, line + 1, column, text)


def language_of(path: str) -> str:
    """c, c++, fortran or "" by the file's suffix."""
    suffix = Path(path).suffix.lower()
    for name, suffixes in (("c", C), ("c++", CXX), ("fortran", FORTRAN)):
        if suffix in suffixes:
            return name
    return ""


class _Skipper:
    """Knows at each line of C or C++ whether it begins inside a comment or a raw string."""

    def __init__(self, language: str) -> None:
        self.active = language in ("c", "c++")
        self.until = ""

    def inside(self) -> bool:
        return bool(self.until)

    def pass_line(self, line: str) -> None:
        at = 0
        while self.active and at < len(line):
            if self.until:
                end = line.find(self.until, at)
                if end < 0:
                    return
                at, self.until = end + len(self.until), ""
            token = _LEXED.search(line, at)
            if token is None or token[0] == "//":
                return
            at = token.end()
            if token[0] == "/*":
                self.until = "*/"
            elif token[0].startswith('R"'):
                self.until = f'){token[1]}"'


def scan(path: str, text: str) -> Source:
    """All blocks of a source; Mistake for one that is not closed, not opened, or of no known kind."""
    lines = text.splitlines(keepends=True)
    source = Source(path, lines, [], language_of(path))
    skipper, at = _Skipper(source.language), 0
    while at < len(lines):
        line = lines[at].rstrip("\r\n")
        opening = None if skipper.inside() else _opening(source, at, line)
        if opening is None:
            skipper.pass_line(line)
            at += 1
            continue
        block = _block(source, at, *opening)
        source.blocks.append(block)
        at = block.last + 1
    return source


def _opening(source: Source, at: int, line: str) -> tuple[str, str, str] | None:
    """(spelling, kind, name) where a block begins."""
    column = len(line) - len(line.lstrip()) + 1
    for spelling, pattern in (("seed", _SEED), ("fortran", _INERT_F)):
        opening = pattern.match(line)
        if not opening:
            continue
        if opening[1].lower() == "end":
            raise Mistake(
                source.place(at, column),
                f"end_{opening[2]} closes no block",
                f"write begin_{opening[2]} before it, or take it out",
            )
        return spelling, _kind(source, at, column, opening[2]), opening[3]
    opening = _INERT_C.match(line)
    return ("c", _kind(source, at, column, opening[1]), opening[2]) if opening else None


def _kind(source: Source, at: int, column: int, kind: str) -> str:
    if kind.lower() not in KINDS:
        raise Mistake(
            source.place(at, column),
            f"no block is called '{kind}'",
            f"blocks are {', '.join(KINDS)}",
        )
    return kind.lower()


def _block(source: Source, first: int, spelling: str, kind: str, name: str) -> Block:
    """The block that begins at line `first`."""
    text: list[str] = []
    for at in range(first + 1, len(source.lines)):
        line = source.lines[at].rstrip("\r\n")
        closes = _closing(spelling, line)
        if closes is None:
            text.append(_PREFIX_F.sub(r"\1     ", line) if spelling == "fortran" else line)
            continue
        if closes.lower() != kind:
            column = len(line) - len(line.lstrip()) + 1
            raise Mistake(
                source.place(at, column),
                f"end_{closes} inside the block {kind}, which began on line {first + 1}",
                f"write end_{kind}",
            )
        return Block(kind, name, first, at, "\n".join(text), spelling)
    column = len(source.lines[first]) - len(source.lines[first].lstrip()) + 1
    end = {"seed": f"#end_{kind}", "c": f"end_{kind} @*/", "fortran": f"!$iog end_{kind}"}[spelling]
    raise Mistake(
        source.place(first, column), f"the block {kind} is not closed", f"close it by a line {end}"
    )


def _closing(spelling: str, line: str) -> str | None:
    """Which kind a line closes, or None."""
    if spelling == "c":
        closing = _INERT_C_END.match(line)
        return closing[1] if closing else None
    closing = (_SEED if spelling == "seed" else _INERT_F).match(line)
    return closing[2] if closing and closing[1].lower() == "end" else None
