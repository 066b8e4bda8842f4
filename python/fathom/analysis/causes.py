"""The causes that a run's account tells apart, and its seconds by them; without DuckDB, as a kept screen has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: Causes in the order in which they rule each other out -> what they are.
CAUSES = {
    "processor": "waiting for a processor",
    "start-up": "what the run-time does for itself",
    "faults": "page faults on mapped files, which a device reads",
    "waiting": "in a collective call, until the last rank came",
    "exchange": "ranks sent each other data inside the library",
    "library": "the library's own work: filters, conversion, copies",
    "names": "opens, closes, stats, removals",
    "sync": "syncs and flushes",
    "locks": "file locks",
    "needless": "bytes that nobody asked for",
    "requests": "requests beyond their bytes: too many, too small",
    "contention": "more than such an access costs alone",
    "transfer": "the bytes asked for, at the store's rate",
    "unexplained": "no cause is known",
}
#: What the kernel did in reads, writes and syncs, where it was asked (`fathom run --kernel`) -> what that is.
KERNEL = {
    "cache": "data were copied from and to memory",
    "device": "requests to block devices were under way, or a server's client was at work",
    "write-back": "writers were paused, since too much of memory was to be written",
    "journal": "syncs waited for the commit of the file system's journal",
}
#: Where the price of an access is from (`learnt` of account_references()), the nearest first -> what that is.
REFERENCES = {
    "run": "this run's own accesses",
    "site": "other runs on the same mount",
    "catalog": "the catalogue of file systems",
}


@dataclass(frozen=True)
class Share:
    """The I/O of one process by cause, or of several that ran one after another."""

    process: int  # the one with the most I/O
    rank: int | None
    seconds: float
    causes: dict[str, float]  # seconds, in the order of CAUSES; without those of none
    #: Seconds of the same by KERNEL, as far as it is known.
    kernel: dict[str, float] = field(default_factory=dict)
    in_turn: int = 1  # how many that did I/O ran one after another

    @property
    def is_chain(self) -> bool:
        """Several processes, which no rank stands for."""
        return self.in_turn > 1 and self.rank is None


@dataclass(frozen=True)
class Bar:
    """Where the run's time went."""

    run_seconds: float
    slowest: Share | None  # None: no I/O call was timed
    median: Share | None
    references: list[str]  # where the price of an access is from, of REFERENCES


def bar_of(stored: dict[str, Any]) -> Bar:
    """A bar that `dataclasses.asdict` made JSON of."""
    shares = {name: stored[name] and Share(**stored[name]) for name in ("slowest", "median")}
    return Bar(**stored | shares)
