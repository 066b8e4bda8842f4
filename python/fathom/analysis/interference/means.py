"""What calls take that are beside nobody, by kind of call."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# From so many calls on a mean is one.
ENOUGH = 5

Server = tuple[str, str]  # name, key of the file system
Kind = tuple[str, str, int]  # layer, op, size class


@dataclass
class Mean:
    """Calls of one kind: how many, and what they took."""

    calls: int = 0
    time: float = 0.0
    squares: float = 0.0

    def add(self, row: Mapping[str, Any]) -> None:
        """One row of classes.sql."""
        self.calls += row["calls"]
        self.time += row["time"]
        self.squares += row["squares"]

    @property
    def each(self) -> float:
        """ns of one call."""
        return self.time / self.calls

    @property
    def error(self) -> float:
        """Square of the standard error of `each`."""
        return max(0.0, self.squares / self.calls - self.each**2) / self.calls


def kind_of(row: Mapping[str, Any]) -> Kind:
    """Of a row of classes.sql."""
    return (row["layer"], row["op"], row["size"])


class Means:
    """What calls take when nobody else is there, by kind and server."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Of rows of classes.sql that are not beside."""
        self._at: dict[tuple[Server, Kind], Mean] = defaultdict(Mean)
        self._anywhere: dict[Kind, Mean] = defaultdict(Mean)
        for row in rows:
            self._at[(row["server"], row["key"]), kind_of(row)].add(row)
            self._anywhere[kind_of(row)].add(row)

    def at(self, server: Server, kind: Kind) -> Mean | None:
        """At this server."""
        return _enough(self._at.get((server, kind)))

    def anywhere(self, kind: Kind) -> Mean | None:
        """At all servers."""
        return _enough(self._anywhere.get(kind))


def _enough(mean: Mean | None) -> Mean | None:
    return mean if mean and mean.calls >= ENOUGH else None


def usual_mean(
    server: Server, kind: Kind, own: Means, baseline: Means | None, name: str
) -> tuple[Mean, str, float] | None:
    """What one such call takes alone, whence that is known, and how sure it then is."""
    for mean, source, sure in (
        (baseline and baseline.at(server, kind), name, 0.9),
        (baseline and baseline.anywhere(kind), name, 0.8),
        (own.at(server, kind), "its own calls at other times", 0.8),
        (own.anywhere(kind), "its own calls beside nobody", 0.6),
    ):
        if mean:
            return mean, source, sure
    return None
