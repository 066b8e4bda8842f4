"""Where in a source declarations may stand: there the form puts the blocks that are no I/O point."""

import re

from fathom.codegen.generate.language.source import Source

_INCLUDE = re.compile(r"[ \t]*#[ \t]*include\b")
_UNIT = re.compile(r"[ \t]*(program|module|subroutine)[ \t]+\w", re.I)
_USE = re.compile(r"[ \t]*use\b", re.I)


def declare_at(source: Source) -> int:
    """The line, from 0, that blocks go in front of. C: behind the includes; Fortran: behind `use` of the first unit."""
    if source.language in ("c", "c++"):
        return max(
            (n + 1 for n, line in enumerate(source.lines) if _INCLUDE.match(line)), default=0
        )
    if source.language != "fortran":
        return len(source.lines)
    first = next((n + 1 for n, line in enumerate(source.lines) if _UNIT.match(line)), 0)
    while first < len(source.lines) and (
        _USE.match(source.lines[first]) or not source.lines[first].strip()
    ):
        first += 1
    return first
