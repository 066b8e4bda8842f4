"""How files are used: by which ranks, alone or together, in which order of calls. Errors: `fathom.errors.RunError`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fathom.analysis import Source
from fathom.analysis.distribution.steps import MOST, Step, fold


@dataclass(frozen=True)
class Use:
    """A group of files that are named alike."""

    files: str
    paths: tuple[str, ...]
    use: str  # shared, per process, per group, one rank, mixed
    ranks: tuple[int, ...]
    steps: tuple[Step, ...] = ()  # of its first rank
    steps_rank: int | None = None
    steps_are_all: bool = True


def uses(source: Source, part: Mapping[str, Any]) -> tuple[list[Use], dict[int, str]]:
    """Groups of files, and the group of each file."""
    rows = source.sql("from file_uses()").to_pylist()
    steps = {
        row["files"]: row
        for row in source.sql(
            "from file_steps($inside, $part, $most)", most=MOST, **part
        ).to_pylist()
    }
    alike: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault(row["files"], []).append(row)
    groups = [_use(name, group, steps.get(name), part["part"]) for name, group in alike.items()]
    return groups, {row["file"]: row["files"] for row in rows}


def _use(
    name: str, rows: Sequence[Mapping[str, Any]], steps: Mapping[str, Any] | None, part: float
) -> Use:
    ranks = [frozenset(row["who"]) for row in rows]
    every = frozenset().union(*ranks)
    use = Use(name, tuple(row["path"] for row in rows), _how(ranks, every), tuple(sorted(every)))
    if steps is None:
        return use
    is_all = part == 1 and steps["calls"] == len(steps["steps"])
    return replace(use, steps=fold(steps["steps"]), steps_rank=steps["who"], steps_are_all=is_all)


def _how(ranks: Sequence[frozenset[int]], every: frozenset[int]) -> str:
    """Of files named alike: does every process, or every group of them, have its own?"""
    groups = Counter(ranks)
    apart = sum(len(group) for group in groups) == len(every)
    if len(every) == 1:
        return "one rank"
    if all(len(group) == 1 for group in groups):
        return "per process"
    if len(groups) == 1:
        return "shared"
    return "per group" if apart else "mixed"
