"""An I/O point that not every rank reaches: its calls are collective, so the program would stand still.

Only the shape of the source is looked at: a point inside `if (rank …)`, where `rank` is what MPI_Comm_rank
was given in the same source.
"""

import re

from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.language.source import Source
from fathom.codegen.generate.spec import Point, Spec

_RANK = re.compile(r"MPI_Comm_rank\s*\([^,()]*,\s*&?\s*(\w+)", re.I)
_C_NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
_F_NOISE = re.compile(r"![^\n]*|'[^'\n]*'|\"[^\"\n]*\"")


def check_conditions(spec: Spec) -> None:
    """Mistake for the first point that stands under a condition on the rank."""
    source = spec.source
    if not source.language or spec.library == "posix":
        return
    text = "".join(source.lines)
    ranks = {name.lower() for name in _RANK.findall(text)}
    for point in spec.points:
        before = "".join(_outside_blocks(source)[: point.block.first])
        plain = _blanked(before, source.language)
        find = _under_fortran if source.language == "fortran" else _under_c
        line = find(plain, ranks)
        if line is not None:
            raise _mistake(spec, point, line)


def _outside_blocks(source: Source) -> list[str]:
    """The source's lines, those of blocks empty."""
    lines = list(source.lines)
    for block in source.blocks:
        for at in range(block.first, block.last + 1):
            lines[at] = "\n"
    return lines


def _blanked(text: str, language: str) -> str:
    """Comments and strings as blanks, lines kept."""
    noise = _F_NOISE if language == "fortran" else _C_NOISE
    return noise.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _names(condition: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Za-z_]\w*", condition)}


def _under_c(text: str, ranks: set[str]) -> int | None:
    """Line of the condition on the rank whose braces are still open at the text's end."""
    open_: list[int | None] = []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "}":
            if open_:
                open_.pop()
            continue
        open_.append(_condition_c(text, brace.start(), ranks))
    # an `if (rank == 0)` without braces, right before the point
    last = _condition_c(text, len(text), ranks)
    return next((line for line in [*open_, last] if line is not None), None)


def _condition_c(text: str, end: int, ranks: set[str]) -> int | None:
    """Line of `if (…)`, `while (…)`, `switch (…)` or `else` on a rank that ends at `end`."""
    head = text[:end].rstrip()
    if not head.endswith(")"):
        return None
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(head[at], 0)
        if depth == 0:
            word = re.search(r"\b(if|while|switch)\s*$", head[:at])
            if word and _names(head[at:]) & ranks:
                return head.count("\n", 0, word.start())
            return None
    return None


def _under_fortran(text: str, ranks: set[str]) -> int | None:
    open_: list[int | None] = []
    for number, line in enumerate(text.split("\n")):
        word = line.strip().lower()
        if re.match(r"end\s*if\b|end\s*select\b", word):
            if open_:
                open_.pop()
            continue
        head = re.match(r"if\s*\((.*)\)\s*then\s*$|select\s+case\s*\((.*)\)\s*$", word)
        if head:
            on_rank = _names(head[1] or head[2]) & ranks
            open_.append(number if on_rank else None)
    return next((line for line in open_ if line is not None), None)


def _mistake(spec: Spec, point: Point, line: int) -> Mistake:
    first = spec.source.lines[point.block.first]
    column = len(first) - len(first.lstrip()) + 1
    return Mistake(
        spec.source.place(point.block.first, column),
        f"only some ranks reach this {point.kind}: line {line + 1} has a condition on the rank,"
        " and the calls are collective",
        "move the block out of the condition; a rank that has nothing to move says a count of 0",
    )
