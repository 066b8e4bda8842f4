"""Which ranks an amount belongs to: one, some, all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

HOLD = 0.9  # of the amount: what is left to the others is noise
LIKE = 0.5  # of the least that was needed for that: a rank that has as much is one of them


@dataclass(frozen=True)
class Dominance:
    """The fewest ranks that hold nine tenths of an amount, and those that have nearly as much as the least of these."""

    how: Literal["none", "one", "some", "all"]
    ranks: tuple[int, ...]
    of: int
    share: float  # of the amount that `ranks` hold


def dominant(amounts: Mapping[int, float]) -> Dominance:
    """Of an amount per rank; ranks with nothing count as ranks."""
    total = sum(amounts.values())
    if total <= 0:
        return Dominance("none", (), len(amounts), 0.0)
    held, least, ranks = 0.0, 0.0, []
    # Equal amounts in the order of the ranks.
    for rank, amount in sorted(amounts.items(), key=lambda item: (-item[1], item[0])):
        if held >= HOLD * total and amount < LIKE * least:
            break
        least = least if held >= HOLD * total else amount
        held += amount
        ranks.append(rank)
    kind: Literal["one", "some", "all"] = "some"
    if len(ranks) == 1:
        kind = "one"
    elif len(ranks) == len(amounts):
        kind = "all"
    return Dominance(kind, tuple(sorted(ranks)), len(amounts), held / total)
