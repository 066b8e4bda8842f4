"""Blocks as they are written: statements and the parts of each, by their places in the text alone.

A form edits these places, so it works on what is not right yet too; what the text means, the parser says.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from fathom.codegen.generate.language.source import Block, Source
from fathom.codegen.generate.splice import BEGIN, END

_TOKEN = re.compile(r'\s+|//[^\n]*|![^\n]*|"[^"\n]*"?|[^\s"]')
_OPENS, _CLOSES = "(<[", ")>]"
_At = Callable[[int], int]


@dataclass
class Part:
    """A stretch of the text; of one that begins with `<`, the numbers of each tuple."""

    start: int
    end: int
    text: str
    tuples: list[list["Part"]] = field(default_factory=list)


@dataclass
class Statement:
    """`head: part, part;` The end is behind the semicolon."""

    start: int
    end: int
    head: Part
    parts: list[Part]


@dataclass
class BlockOutline:
    """`start` and `end` of its lines; `inside`: where the last of them begins, so where a statement can be added;
    `behind`: the end of what was generated after it."""

    kind: str
    name: str
    spelling: str
    start: int
    inside: int
    end: int
    behind: int
    statements: list[Statement]


@dataclass
class _Token:
    start: int
    end: int
    text: str


class _Places:
    """From a place in a block's text to one in the whole text, counted as browsers count: in units of UTF-16."""

    def __init__(self, source: Source) -> None:
        self.starts = [0]
        for line in source.lines:
            self.starts.append(self.starts[-1] + len(line))
        text = "".join(source.lines)
        self.wide = [at for at, letter in enumerate(text) if ord(letter) > 0xFFFF]

    def line(self, number: int) -> int:
        return self.units(self.starts[number])

    def units(self, at: int) -> int:
        return at + bisect_right(self.wide, at - 1)


def outline(source: Source) -> list[BlockOutline]:
    """Every block of a source."""
    places = _Places(source)
    return [_block(source, block, places) for block in source.blocks]


def offset(source: Source, line: int, column: int) -> int:
    """Of a line and a column, both from 1: where that is in the text."""
    places = _Places(source)
    return places.units(places.starts[line - 1] + column - 1)


def _block(source: Source, block: Block, places: _Places) -> BlockOutline:
    starts = [0]
    for line in block.text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def at(place: int) -> int:
        line = bisect_right(starts, place) - 1
        return places.units(places.starts[block.first + 1 + line] + place - starts[line])

    after = _after(source, block.last + 1)
    statements = [_statement(block.text, tokens, at) for tokens in _statements(block.text)]
    start, inside, end, behind = map(places.line, (block.first, block.last, block.last + 1, after))
    return BlockOutline(
        block.kind, block.name, block.spelling, start, inside, end, behind, statements
    )


def _after(source: Source, line: int) -> int:
    if line < len(source.lines) and BEGIN.match(source.lines[line]):
        for end in range(line + 1, len(source.lines)):
            if END.match(source.lines[end]):
                return end + 1
    return line


def _statements(text: str) -> list[list[_Token]]:
    """Tokens up to each semicolon, it included; comments and blanks left out. The last may lack it."""
    groups: list[list[_Token]] = [[]]
    for one in _TOKEN.finditer(text):
        if one[0].isspace() or one[0].startswith(("//", "!")):
            continue
        groups[-1].append(_Token(one.start(), one.end(), one[0]))
        if one[0] == ";":
            groups.append([])
    return [tokens for tokens in groups if tokens]


def _statement(text: str, tokens: list[_Token], at: _At) -> Statement:
    body = tokens[:-1] if tokens[-1].text == ";" else tokens
    colon = next((n for n, one in enumerate(body) if one.text == ":"), len(body))
    end = at(tokens[-1].end)
    head = _part(text, body[:colon], at, at(tokens[0].start))
    after_colon = at(body[colon].end) if colon < len(body) else head.end
    parts = []
    for n, group in enumerate(_split(body[colon + 1 :])):
        if group or n > 0 or colon < len(body):
            parts.append(_part(text, group, at, after_colon))
            after_colon = parts[-1].end
    return Statement(at(tokens[0].start), end, head, parts)


def _split(tokens: list[_Token]) -> list[list[_Token]]:
    """At the commas that are in no parentheses."""
    parts: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in _OPENS) - (token.text in _CLOSES)
        if token.text == "," and depth <= 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _part(text: str, tokens: list[_Token], at: _At, otherwise: int) -> Part:
    """`otherwise`: where a part stands that is empty."""
    if not tokens:
        return Part(otherwise, otherwise, "")
    part = Part(at(tokens[0].start), at(tokens[-1].end), text[tokens[0].start : tokens[-1].end])
    if tokens[0].text == "<":
        part.tuples = [
            [_part(text, group, at, at(one[0].start) + 1) for group in _split(one[1:-1])]
            for one in _tuples(tokens)
        ]
    return part


def _tuples(tokens: list[_Token]) -> list[list[_Token]]:
    """Each with its brackets; what lies between them is left out."""
    groups: list[list[_Token]] = []
    first = None
    for n, token in enumerate(tokens):
        if token.text == "<":
            first = n
        elif token.text == ">" and first is not None:
            groups.append(tokens[first : n + 1])
            first = None
    return groups
