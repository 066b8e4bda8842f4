"""A distribution that was observed as statements of the hints: by formula where one holds, else rank by rank.

A formula is exact for the run's own number of ranks; it is chosen so that it means the same for any other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from fathom.analysis.distribution.array import COPIES, Distribution
from fathom.analysis.distribution.axis import BLOCK, CYCLIC, GEN_BLOCK, Axis
from fathom.analysis.distribution.spans import Section

MOST_STATEMENTS = 4096  # rank by rank, of one array


class Inexpressible(Exception):
    """Why a distribution cannot be said in hints."""


@dataclass(frozen=True)
class Part:
    """Of one dimension what a place has, as expressions: where it begins, how many."""

    start: str
    count: str


def in_elements(axes: Sequence[Axis], size: int) -> tuple[Axis, ...]:
    """Axes whose fastest counts bytes, as axes of elements of that size."""
    *rest, last = axes
    at = last.section
    numbers = [last.extent, last.touched, last.size or 0, *last.sizes, *last.starts, *last.ghosts]
    numbers += [at.first, at.end, at.length, at.step] if at else []
    if any(number % size for number in numbers):
        raise Inexpressible(f"its pieces are no multiples of {size} bytes: choose another --type")
    whole = Section(*(n // size for n in (at.first, at.end, at.length, at.step))) if at else None
    return (
        *rest,
        replace(
            last,
            extent=last.extent // size,
            touched=last.touched // size,
            section=whole,
            size=last.size // size if last.size else last.size,
            sizes=tuple(n // size for n in last.sizes),
            starts=tuple(n // size for n in last.starts),
            ghosts=(last.ghosts[0] // size, last.ghosts[1] // size),
        ),
    )


def unrolled(distribution: Distribution) -> Distribution:
    """Pieces dealt out in turn, as one dimension more: rounds, and what is dealt in each."""
    first = distribution.axes[0]
    if first.kind != CYCLIC or len(distribution.axes) > 1:
        return distribution
    piece = first.size or 1
    deal = piece * first.parts
    if first.touched % deal:
        raise Inexpressible("the last of the pieces that its ranks have in turn is shorter")
    rounds = first.touched // deal
    outer = Axis("*", 1, rounds, rounds, Section(0, rounds, rounds, rounds))
    inner = Axis(BLOCK, first.parts, deal, deal, Section(0, deal, deal, deal), piece)
    order = tuple(name if name == COPIES else name + 1 for name in distribution.order)
    places = tuple((0, *place) for place in distribution.places)
    return replace(distribution, axes=(outer, inner), order=order, places=places)


def statements(
    distribution: Distribution,
    names: Sequence[str],
    array: str,
    buffer: str,
    ranks: int,
    writing: bool,
) -> list[str]:
    """Accesses of an array whose dimensions have these names, in a job of `ranks`."""
    if not distribution.regular:
        raise Inexpressible("how it is spread over the ranks follows no rule")
    if any(
        not (axis.starts or (axis.section and axis.section.whole)) for axis in distribution.axes
    ):
        raise Inexpressible("only every so many elements were touched")
    if any(axis.kind == CYCLIC for axis in distribution.axes):
        raise Inexpressible("pieces are dealt out in turn along one of several dimensions")
    if writing and (distribution.copies > 1 or any(any(axis.ghosts) for axis in distribution.axes)):
        raise Inexpressible("several ranks write the same elements")
    by_rule = distribution.ranks == tuple(range(ranks)) and not distribution.places
    if by_rule and (formula := _formula(distribution, names, ranks)):
        return [_array("*", array, formula, buffer)]
    if len(distribution.ranks) > MOST_STATEMENTS:
        raise Inexpressible(
            f"its parts follow no formula, and there are more than {MOST_STATEMENTS}"
        )
    return [_array(str(rank), array, part, buffer) for rank, part in _each(distribution)]


def _array(who: str, array: str, parts: Sequence[Part], buffer: str) -> str:
    numbers = ", ".join(f"{part.start}, {part.count}" for part in parts)
    return f"array: {who}, {array}, {numbers}, {buffer};"


# ---- rank by rank


def _each(distribution: Distribution) -> list[tuple[int, list[Part]]]:
    parts_of_ranks = []
    for number, rank in enumerate(distribution.ranks):
        at = distribution.places[number] if distribution.places else _place(distribution, number)
        parts = [_numbers(axis, i) for axis, i in zip(distribution.axes, at, strict=True)]
        parts_of_ranks.append((rank, parts))
    return parts_of_ranks


def _place(distribution: Distribution, number: int) -> list[int]:
    """Digits of a rank's number, in the mixed radix of the order."""
    at = [0] * len(distribution.axes)
    for name in distribution.order:
        number, digit = divmod(
            number, distribution.copies if name == COPIES else distribution.axes[name].parts
        )
        if name != COPIES:
            at[name] = digit
    return at


def _numbers(axis: Axis, place: int) -> Part:
    if axis.starts:
        return Part(str(axis.starts[place]), str(axis.sizes[place]))
    base = axis.section.first if axis.section else 0
    edges = [0, axis.touched]
    if axis.kind == GEN_BLOCK:
        edges = [0, *accumulate(axis.sizes)]
    elif axis.kind == BLOCK:
        edges = [min(axis.touched, i * (axis.size or 0)) for i in range(axis.parts + 1)]
        edges[-1] = axis.touched
    low = max(0, edges[place] - axis.ghosts[0])
    high = min(axis.touched, edges[place + 1] + axis.ghosts[1])
    return Part(str(base + low), str(high - low))


# ---- by formula


def _formula(distribution: Distribution, names: Sequence[str], ranks: int) -> list[Part] | None:
    """None: some dimension has none."""
    index = _indices(distribution, ranks)
    formulas = []
    for at, (axis, name) in enumerate(zip(distribution.axes, names, strict=True)):
        part = _part(axis, name, *index[at])
        if part is None:
            return None
        formulas.append(part)
    return formulas


def _indices(distribution: Distribution, ranks: int) -> list[tuple[str, str]]:
    """Of each dimension: the place of a rank, and how many places there are. The slowest counts as far as ranks go."""
    places = [("0", "1") for _ in distribution.axes]
    step = 1
    for name in distribution.order:
        parts = distribution.copies if name == COPIES else distribution.axes[name].parts
        last = step * parts == ranks
        digit = "rank" if step == 1 else f"div(rank, {step})"
        if name != COPIES:
            count = ("nprocs" if step == 1 else f"(nprocs / {step})") if last else str(parts)
            places[name] = (digit if last else f"({digit} % {parts})", count)
        step *= parts
    return places


def _part(axis: Axis, name: str, index: str, parts: str) -> Part | None:
    whole = axis.touched == axis.extent
    if axis.parts == 1:
        return Part("0", name) if whole else _numbers(axis, 0)
    if axis.starts or not whole:
        return None
    for rule in (_even, _blocks, _floors, _fronts):
        if part := rule(axis, name, index, parts):
            return part
    return None


def _sizes(axis: Axis) -> list[int]:
    """Of the places' blocks, without ghosts."""
    if axis.kind == GEN_BLOCK:
        return list(axis.sizes)
    size = axis.size or 0
    return [max(0, min(size, axis.touched - i * size)) for i in range(axis.parts)]


Rule = Callable[[Axis, str, str, str], Part | None]


def _even(axis: Axis, name: str, index: str, parts: str) -> Part | None:
    if len(set(_sizes(axis))) > 1:
        return None
    block = f"({name} / {parts})"
    low, high = axis.ghosts
    if not (low or high):
        return Part(f"{index} * {block}", f"{name} / {parts}")
    start = f"max(0, {index} * {block} - {low})"
    return Part(start, f"min({name}, ({index} + 1) * {block} + {high}) - {start}")


def _blocks(axis: Axis, name: str, index: str, parts: str) -> Part | None:
    """The last is smaller: HPF's own rule."""
    size = axis.size
    if axis.kind != BLOCK or any(axis.ghosts) or size != -(-axis.touched // axis.parts):
        return None
    block = f"div({name} + {parts} - 1, {parts})"
    start = f"min({name}, {index} * {block})"
    return Part(start, f"min({name}, ({index} + 1) * {block}) - {start}")


def _floors(axis: Axis, name: str, index: str, parts: str) -> Part | None:
    """As even as can be, by rounding the edges."""
    n, p = axis.touched, axis.parts
    edges = [n * i // p for i in range(p + 1)]
    wanted = [b - a for a, b in pairwise(edges)]
    if any(axis.ghosts) or _sizes(axis) != wanted:
        return None
    start = f"div({name} * {index}, {parts})"
    return Part(start, f"div({name} * ({index} + 1), {parts}) - {start}")


def _fronts(axis: Axis, name: str, index: str, parts: str) -> Part | None:
    """As even as can be: the first ones have one more."""
    size, more = divmod(axis.touched, axis.parts)
    wanted = [size + (i < more) for i in range(axis.parts)]
    if any(axis.ghosts) or _sizes(axis) != wanted:
        return None
    even, rest = f"div({name}, {parts})", f"{name} % {parts}"
    count = f"{even} + max(0, min(1, {rest} - {index}))"
    return Part(f"{index} * {even} + min({index}, {rest})", count)
