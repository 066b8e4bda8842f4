"""What a Fortran program says around its blocks: which interface of MPI it uses, and where `use` may stand."""

import re
from collections.abc import Iterator

from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.language.source import Block, Source

_USE = re.compile(r"\s*use\b\s*(?:,\s*(?:non_)?intrinsic\s*)?(?:::)?\s*(\w+)", re.I)
_INCLUDE = re.compile(r"""\s*#?include\s*['"<]mpif\.h['">]""", re.I)
_HEADER = re.compile(
    r"\s*(?:(?:recursive|pure|elemental|impure|module|integer|real|logical|complex|character|double\s*precision"
    r"|type)\b(?:\s*\([^)]*\)|\s*\*\s*\d+)?\s*)*\b(?:program|module|submodule|subroutine|function|block\s*data)\b\s*\(?\s*\w",
    re.I,
)
_BESIDE = re.compile(r"\s*(?:use\b|import\b|#)", re.I)


def interface_of(source: Source) -> str:
    """`mpi` where the program uses module `mpi` or mpif.h last before its first I/O point, else `mpi_f08`."""
    points = [block.first for block in source.blocks if block.kind in ("write", "read")]
    last = "mpi_f08"
    for at, line in enumerate(source.lines):
        if points and at > points[0]:
            break
        use = _USE.match(line)
        if use and use[1].lower() in ("mpi", "mpi_f08"):
            last = use[1].lower()
        elif _INCLUDE.match(line):
            last = "mpi"
    return last


def _statements(source: Source, lines: range) -> Iterator[int]:
    """Lines that begin a statement: no comment, no block, no generated line, no continuation."""
    blocks = {at for block in source.blocks for at in range(block.first, block.last + 1)}
    for at in lines:
        line = source.lines[at].rstrip()
        comment = line.lstrip().startswith("!") or (source.fixed and line[:1] in "cC*dD!")
        if line and not comment and at not in blocks and not _continues(source, at):
            yield at


def _continues(source: Source, at: int) -> bool:
    line = source.lines[at].rstrip()
    if source.fixed:
        return line[:5].strip() == "" and len(line) > 5 and line[5] not in " 0"
    before = at - 1
    while before >= 0 and not source.lines[before].split("!")[0].strip():
        before -= 1
    return before >= 0 and source.lines[before].split("!")[0].rstrip().endswith("&")


def check_use(source: Source, block: Block) -> None:
    """`use` can stand behind this block: in a program unit, before its other statements. Errors: Mistake."""
    for at in _statements(source, range(block.first - 1, -1, -1)):
        line = source.lines[at]
        if _HEADER.match(line):
            return
        if not _BESIDE.match(line):
            raise Mistake(
                source.place(block.first, 1),
                f"`use` comes behind this block, and cannot follow line {at + 1}: {line.strip()}",
                "move the block to the lines behind `program`, `subroutine` or `module`, above `implicit`",
            )
    behind = next(_statements(source, range(block.last + 1, len(source.lines))), None)
    if behind is not None and _HEADER.match(source.lines[behind]):
        raise Mistake(
            source.place(block.first, 1),
            f"`use` comes behind this block, which is outside of what begins on line {behind + 1}",
            "move the block below that line",
        )
