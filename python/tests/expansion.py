"""The oracle of `fathom patterns`: its directives made into every rank's elements again, by brute force.

Knows nothing of how they were recognised.
"""

import re
from itertools import product
from typing import Any

Element = tuple[int, ...]


def split(text: str) -> list[str]:
    """The forms of a list, GEN_BLOCK's own list left whole."""
    return re.findall(r"GEN_BLOCK\(\(/[^/]*/\)\)|[^,(]+(?:\([^)]*\))?", text)


def arguments(lines: list[str], word: str) -> list[str] | None:
    for line in lines:
        directive = re.match(rf"(?:!HPF\$ |! ){word} \w+\((.*)\)(?: ONTO P)?$", line)
        if directive:
            return split(directive[1])
    return None


def indices(extent: int, section: str | None) -> list[int]:
    """`first:last`, `first:last:step of length`."""
    if section is None:
        return list(range(extent))
    numbers, _, length = section.partition(" of ")
    first, last, *step = (int(word) for word in numbers.split(":"))
    if not step:
        return list(range(first, last + 1))
    return [i for i in range(first, last + 1) if (i - first) % step[0] < int(length or 1)]


def places(
    form: str, parts: int, some: list[int], shadow: str, sizes: list[int]
) -> list[list[int]]:
    """The indices of each place of one dimension."""
    kind, _, rest = form.partition("(")
    number = int(rest.rstrip(")")) if rest and kind != "GEN_BLOCK" else None
    total = len(some)
    if kind in ("*", "ONE_RANK"):
        return [some]
    if kind == "CYCLIC":
        each = number or 1
        return [[some[n] for n in range(total) if n // each % parts == i] for i in range(parts)]
    if kind == "BLOCK":
        each = number or -(-total // parts)
        cuts = [(i * each, min(total, (i + 1) * each)) for i in range(parts)]
    else:
        assert kind == "GEN_BLOCK"
        cuts = [(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(parts)]
    low, high = (int(word) for word in (shadow.split(":") if ":" in shadow else (shadow, shadow)))
    return [some[max(0, a - low) : min(total, b + high)] for a, b in cuts]


def ranks_of(text: str) -> list[int]:
    ranks: list[int] = []
    for word in text.split(","):
        span, _, step = word.partition(":")
        first, _, last = span.partition("-")
        ranks += range(int(first), int(last or first) + 1, int(step or 1))
    return ranks


def dimension(
    values: dict[str, Any], form: str, shadow: str, section: str | None
) -> list[list[int]]:
    if values["starts"]:
        return [
            list(range(a, a + n)) for a, n in zip(values["starts"], values["sizes"], strict=True)
        ]
    if section == "…":
        section = None
    return places(
        form, values["parts"], indices(values["extent"], section), shadow, values["sizes"]
    )


def expand(pattern: dict[str, Any]) -> dict[int, set[Element]]:
    """By rank, every element that the directives give it."""
    of, lines = pattern["distribution"], pattern["hpf"]
    forms = arguments(lines, "DISTRIBUTE")
    assert forms is not None and len(forms) == len(of["dimensions"])
    shadows = arguments(lines, "SHADOW") or ["0"] * len(forms)
    sections = arguments(lines, "only") or [None] * len(forms)
    grid = [dimension(*one) for one in zip(of["dimensions"], forms, shadows, sections, strict=True)]
    held = {}
    for number, rank in enumerate(ranks_of(of["ranks"])):
        at, rest = [0] * len(forms), number
        for name in of["rank_order"]:
            rest, digit = divmod(rest, of["copies"] if name == -1 else len(grid[name]))
            if name >= 0:
                at[name] = digit
        if of["places"]:
            at = of["places"][number]
        held[rank] = set(product(*(grid[d][i] for d, i in enumerate(at))))
    return held


def to_bytes(pattern: dict[str, Any]) -> dict[int, set[int]]:
    """Of an array of bytes: which bytes of the file."""
    by_rank = {}
    for rank, elements in expand(pattern).items():
        bytes_ = set()
        for element in elements:
            index = 0
            for i, extent in zip(element, pattern["extents"], strict=True):
                index = index * extent + i
            bytes_.add(pattern["first_byte"] + index)
        by_rank[rank] = bytes_
    return by_rank


def is_regular(pattern: dict[str, Any]) -> bool:
    """Is everything of it known?"""
    kinds = {one["kind"] for one in pattern["distribution"]["dimensions"]}
    return "IRREGULAR" not in kinds and not pattern["not_known"]
