"""A distribution as directives of High Performance Fortran, as a key, and as plain values.

Dimensions stand in the order of the array's own library, the slowest first, and indices count from 0. Words that are no
Fortran: ONE_RANK, IRREGULAR.
"""

import re
from collections.abc import Sequence
from typing import Any

from fathom.analysis import ranklist
from fathom.analysis.distribution.array import COPIES, Distribution
from fathom.analysis.distribution.axis import BLOCK, CYCLIC, GEN_BLOCK, IRREGULAR, Axis

LISTED = 8  # sizes of a GEN_BLOCK that are written out


def _form(axis: Axis) -> str:
    if axis.kind == BLOCK and axis.size != -(-axis.touched // axis.parts):
        return f"BLOCK({axis.size})"
    if axis.kind == CYCLIC and axis.size != 1:
        return f"CYCLIC({axis.size})"
    if axis.kind == GEN_BLOCK:
        more = ",…" if len(axis.sizes) > LISTED else ""
        return f"GEN_BLOCK((/{','.join(str(one) for one in axis.sizes[:LISTED])}{more}/))"
    return axis.kind


def name_of(text: str) -> str:
    """The last part of a dataset's or file's name that begins with a letter, as a name in Fortran."""
    parts = [part for part in text.split("/") if part[:1].isalpha()]
    return re.sub(r"\W", "_", parts[-1]) if parts else "data"


def directives(name: str, of: Distribution) -> list[str]:
    """Lines of HPF; remarks begin with `! `."""
    name = name_of(name)
    grid = [axis.parts for axis in of.axes if axis.parts > 1 and axis.kind != IRREGULAR]
    lines = (
        [f"!HPF$ PROCESSORS P({','.join(str(parts) for parts in grid) or 1})"] if of.regular else []
    )
    lines.append(
        f"!HPF$ DISTRIBUTE {name}({','.join(map(_form, of.axes))})" + " ONTO P" * of.regular
    )
    if any(any(axis.ghosts) for axis in of.axes):
        lines.append(f"!HPF$ SHADOW {name}({','.join(map(_shadow, of.axes))})")
    if of.regular and not _is_all(of.axes):
        lines.append(f"! only {name}({','.join(map(_section, of.axes))})")
    if of.copies > 1:
        lines.append(f"! each element on {of.copies} ranks")
    return lines


def _shadow(axis: Axis) -> str:
    low, high = axis.ghosts
    return str(low) if low == high else f"{low}:{high}"


def _is_all(axes: Sequence[Axis]) -> bool:
    return all(axis.touched == axis.extent for axis in axes)


def _section(axis: Axis) -> str:
    """In Fortran's form but from 0, the last index included; pieces of several as `first:last:step of length`."""
    at = axis.section
    if at is None:
        return "…"
    if at.whole:
        return f"{at.first}:{at.end - 1}"
    return f"{at.first}:{at.end - 1}:{at.step}" + (f" of {at.length}" if at.length > 1 else "")


def rank_order(of: Distribution) -> str:
    """Which dimensions the ranks count through first; nothing where there is no choice."""
    if of.places and of.regular:
        return "in no regular order"
    if len(of.order) < 2:
        return ""
    names = ["copy" if at == COPIES else str(at + 1) for at in of.order]
    if COPIES not in of.order and list(of.order) == sorted(of.order, reverse=True):
        return "last dimension fastest"
    if COPIES not in of.order and list(of.order) == sorted(of.order):
        return "first dimension fastest"
    return f"fastest first: {', '.join(names)}"


def _short(axis: Axis, in_bytes: bool) -> str:
    if axis.kind == CYCLIC:
        return "CYCLIC" if axis.size == 1 else "CYCLIC(k)"
    return BLOCK if axis.even(in_bytes) else axis.kind


def _shape(of: Distribution, in_bytes: bool) -> str:
    """The distribution without sizes: equal for arrays and jobs of other sizes that are laid out alike."""
    words = [f"({','.join(_short(axis, in_bytes) for axis in of.axes)})"]
    if any(any(axis.ghosts) for axis in of.axes):
        words.append("ghosts")
    if of.regular and not all(axis.section and axis.section.whole for axis in of.axes):
        words.append("holes")
    if of.copies > 1:
        words.append("copies")
    return " ".join(words)


def key(layer: str, direction: str, mode: str, element_bytes: int | None, of: Distribution) -> str:
    """The pattern's key: layer, read or write, how ranks call, bytes of an element (None: bytes of a file), shape."""
    form = _shape(of, in_bytes=element_bytes is None)
    return f"{layer} {direction} {mode} {element_bytes or '-'} {form}"


def as_values(of: Distribution) -> dict[str, Any]:
    """For JSON: all that makes every rank's elements again (array.py, axis.py say how)."""
    return {
        "dimensions": [
            {
                "kind": axis.kind,
                "parts": axis.parts,
                "extent": axis.extent,
                "touched": axis.touched,
                "size": axis.size,
                "sizes": list(axis.sizes),
                "starts": list(axis.starts),
                "ghosts": list(axis.ghosts),
                "section": vars(axis.section) if axis.section else None,
            }
            for axis in of.axes
        ],
        "ranks": ranklist.compress(of.ranks),
        "copies": of.copies,
        "rank_order": list(of.order),
        "places": [list(place) for place in of.places],
    }
