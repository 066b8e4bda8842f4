"""What a run that is on its way shows of its collective calls, and which rules of catalog/live speak to that."""

import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.catalog.layers import catalog_path
from fathom.run.live import Look
from fathom.text import numbers

#: ROMIO's default: larger buffers bring little more.
LARGEST = 1 << 24


@dataclass(frozen=True)
class Seen:
    """Collective calls of some looks, and the accesses to files inside them of the critical process."""

    kind: str
    calls: int  # of the rank that made most
    ranks: int
    seconds: float  # of one call, on average
    pid: int
    rank: int | None
    accesses: float  # in each call
    piece: float  # bytes of each access
    movers: int  # processes that access files
    share: float  # of the calls' time that the accesses take

    @property
    def figures(self) -> Mapping[str, Any]:
        """As rules name them."""
        wanted = 1 << max(0, round(self.accesses * self.piece) - 1).bit_length()
        return {
            **vars(self),
            "spread": self.movers / self.ranks,
            "piece_said": numbers.size(self.piece),
            "wanted": min(wanted, LARGEST),
            "twice": min(2 * self.movers, self.ranks),
        }

    @property
    def who(self) -> str:
        """The critical process."""
        return f"process {self.pid}" + ("" if self.rank is None else f" (rank {self.rank})")


@dataclass(frozen=True)
class Rule:
    """A row of catalog/live."""

    name: str
    sees: str
    least: Mapping[str, float]
    below: Mapping[str, float]
    set: Mapping[str, str]
    shows: str
    fewer: bool
    source: str

    def speaks_to(self, seen: Seen) -> bool:
        """Its conditions hold."""
        figures = seen.figures
        return all(figures[name] >= number for name, number in self.least.items()) and all(
            figures[name] < number for name, number in self.below.items()
        )

    def hints(self, seen: Seen) -> dict[str, str]:
        """What it would set."""
        return {name: value.format(**seen.figures) for name, value in self.set.items()}

    def is_taken(self, before: Seen, after: Seen) -> bool:
        """By counts: the library does other accesses."""
        old, new = before.figures[self.shows], after.figures[self.shows]
        return bool(new <= 0.75 * old if self.fewer else new > old)


def rules() -> list[Rule]:
    """All rows, in their order."""
    path = catalog_path("live", "rules.toml")
    return [Rule(**row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["rule"]]


def seen(looks: Sequence[Look], critical: Collection[int], kind: str = "") -> Seen | None:
    """Of reads or writes, or of what took longer. `critical`: pids that an agent named; where it named none
    of those, the process counts whose accesses took longest. None: no collective call accessed a file.
    """
    if not kind:
        both = [
            seen_of_kind
            for kind in ("write", "read")
            if (seen_of_kind := seen(looks, critical, kind))
        ]
        return max(both, key=lambda one: one.calls * one.seconds, default=None)
    collective, inside = _sums(looks, kind)
    if not collective or not inside:
        return None
    named = [pid for pid in inside if pid in critical]
    pid = max(named or inside, key=lambda pid: inside[pid]["seconds"])
    calls = max(one["calls"] for one in collective.values())
    seconds = sum(one["seconds"] for one in collective.values())
    own = inside[pid]
    ranks = {row["pid"]: row["rank"] for look in looks for row in look["calls"]}
    return Seen(
        kind=kind,
        calls=int(calls),
        ranks=len(collective),
        seconds=seconds / sum(one["calls"] for one in collective.values()),
        pid=pid,
        rank=ranks[pid],
        accesses=own["calls"] / calls,
        piece=own["bytes"] / own["calls"],
        movers=len(inside),
        share=own["seconds"] / (collective[pid]["seconds"] if pid in collective else seconds),
    )


def _sums(looks: Sequence[Look], kind: str) -> tuple[dict[int, Counter[str]], ...]:
    """By process: its collective calls, and accesses to files inside them: calls, bytes, seconds."""
    collective: dict[int, Counter[str]] = {}
    inside: dict[int, Counter[str]] = {}
    for row in (row for look in looks for row in look["calls"] if row["kind"] == kind):
        if row["layer"] == "mpiio" and "_all" in row["op"]:
            to = collective
        elif row["layer"] == "posix" and "_all" in (row["enclosing"] or ""):
            to = inside
        else:
            continue
        if row["calls"]:
            figures = {name: row[name] for name in ("calls", "bytes", "seconds")}
            to.setdefault(row["pid"], Counter()).update(figures)
    return collective, inside
