"""Generated text into the user's source: after its block, between guard lines; all else stays byte for byte."""

import re
from dataclasses import dataclass

from fathom.codegen.generate.emit.seal import digest
from fathom.codegen.generate.language.source import Block, Source
from fathom.errors import UsageError

BEGIN = re.compile(r"\s*(?:/\*|!) fathom generate: begin \[([0-9a-f]{16})\]")
_HASH = re.compile(r"#(?=begin_|end_)")
_INDENT = re.compile(r"^([ \t]*)")
END = re.compile(r"\s*(?:/\*|!) fathom generate: end\b")


@dataclass(frozen=True)
class Comments:
    """How a line is a comment in the source's language."""

    before: str
    after: str


def splice(source: Source, regions: dict[int, list[str]]) -> str:
    """The source with a region behind each block; `regions` gives lines by the block's number."""
    comments = Comments("!", "") if source.language == "fortran" else Comments("/*", " */")
    out: list[str] = []
    at = 0
    for number, block in enumerate(source.blocks):
        out += source.lines[at : block.first]
        out += _inert(source, block)
        at = _behind_region(source, block.last + 1)
        if number in regions:
            out += _region(source, block, regions[number], comments)
    return "".join(out + source.lines[at:])


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :] or "\n"


def _inert(source: Source, block: Block) -> list[str]:
    """The block's lines, as comments."""
    lines = source.lines[block.first : block.last + 1]
    if block.spelling != "seed":
        return lines
    if source.language == "fortran":
        bare = [_HASH.sub("", line, count=1) for line in (lines[0], lines[-1])]
        mark = "!$iog " if source.fixed else r"\1!$iog "  # in column 6 it would continue a line
        return [_INDENT.sub(mark, line) for line in (bare[0], *lines[1:-1], bare[1])]
    first = lines[0].replace("#begin", "/*@iog begin", 1)
    last = lines[-1].rstrip("\r\n").replace("#end", "end", 1).rstrip()
    return [first, *lines[1:-1], f"{last} @*/{_end_of(lines[-1])}"]


def _behind_region(source: Source, at: int) -> int:
    """The line behind the region that an earlier run wrote there; UsageError if it was edited."""
    begin = BEGIN.match(source.lines[at]) if at < len(source.lines) else None
    if begin is None:
        return at
    for end in range(at + 1, len(source.lines)):
        if not END.match(source.lines[end]):
            continue
        if digest("".join(source.lines[at + 1 : end])) != begin[1]:
            raise UsageError(
                f"{source.path}:{at + 1}: the generated lines below were edited; move the change out of"
                " them, delete them with both guard lines, and generate again"
            )
        return end + 1
    raise UsageError(
        f"{source.path}:{at + 1}: this region has no end; delete it and generate again"
    )


def _region(source: Source, block: Block, lines: list[str], comments: Comments) -> list[str]:
    first = source.lines[block.first]
    indent, end = first[: len(first) - len(first.lstrip())], _end_of(first)
    if source.fixed:
        indent = ""  # lines have their columns
    body = [f"{indent}{line}{end}" if line else end for line in lines]
    mark = digest("".join(body))
    before, after = f"{indent}{comments.before} fathom generate: ", f"{comments.after}{end}"
    return [f"{before}begin [{mark}]{after}", *body, f"{before}end{after}"]
