"""What a run does now and did so far, from the looks of `fathom-engine watch`.

Units: seconds, bytes, 10^6 bytes per second. A call counts in the look in which it ended.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]

#: Not I/O of a layer: Fathom's own work, regions of the program, threads and locks.
NO_IO = ("fathom", "user", "threads")
#: Looks that the course of throughput is kept of.
MOST_LOOKS = 600


@dataclass
class Sum:
    """Of calls; `moved`: bytes by layer, where the layers see the same transfers, else by `ALL`."""

    calls: int = 0
    errors: int = 0
    seconds: float = 0.0
    moved: dict[str, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Of the lowest layer that moved any: one transfer, seen in three layers, counts once."""
        lowest = (self.moved[layer] for layer in ("posix", "mpiio") if self.moved.get(layer))
        return next(lowest, sum(self.moved.values()))

    def add(self, more: "Sum") -> None:
        """Other calls of the same group."""
        self.calls += more.calls
        self.errors += more.errors
        self.seconds += more.seconds
        for layer, moved in more.moved.items():
            self.moved[layer] = self.moved.get(layer, 0) + moved


ALL = "all"


def line_of(row: Row) -> str:
    """`write_restart restart.c:120`, as far as it is known."""
    source = row["source"].rpartition("/")[2] if row["source"] else ""
    place = f"{source}:{row['line']}" if source and row["line"] else source
    words = " ".join(word for word in (row["function"], place) if word)
    return words or "(no line known)"


def file_of(row: Row) -> str:
    """The path; what has none is said."""
    if row["rest"]:
        return "(files of less time)"
    return row["file"] or "(no file)"


def rank_of(row: Row) -> str:
    """`rank 3`, or the process where there is no MPI."""
    return f"pid {row['pid']}" if row["rank"] is None else f"rank {row['rank']}"


@dataclass(frozen=True)
class View:
    """How calls are grouped: the group's name; and of which rows its calls, its time and its bytes are."""

    name: Callable[[Row], str]
    calls: Callable[[Row], bool]
    seconds: Callable[[Row], bool]
    moved: Callable[[Row], str | None]  # under which layer; None: not


def _any(_: Row) -> bool:
    return True


def _outermost(row: Row) -> bool:
    return not row["inner"]


def _not_in_itself(row: Row) -> bool:
    return bool(row["enclosing_layer"] != row["layer"])


def _all_of(counts: Callable[[Row], bool]) -> Callable[[Row], str | None]:
    return lambda row: ALL if counts(row) else None


def _moved_in_file(row: Row) -> str | None:
    if row["file"]:
        return str(row["layer"])
    return ALL if _outermost(row) else None


def _function_of(row: Row) -> str:
    return f"{row['op']} ({row['layer']})"


BY: dict[str, View] = {
    "layer": View(lambda row: row["layer"], _any, _not_in_itself, _all_of(_not_in_itself)),
    "function": View(_function_of, _any, _any, _all_of(_any)),
    "file": View(file_of, _any, _outermost, _moved_in_file),
    "rank": View(rank_of, _outermost, _outermost, _all_of(_outermost)),
    "line": View(line_of, _outermost, _outermost, _all_of(_outermost)),
}


def grouped(view: View, rows: list[Row]) -> dict[str, Sum]:
    """The rows' sums by name. Only I/O: MPI's start and end are none."""
    sums: dict[str, Sum] = {}
    for row in rows:
        if row["layer"] in NO_IO or row["kind"] == "comm" or not view.calls(row):
            continue
        seconds = row["seconds"] or 0.0 if view.seconds(row) else 0.0
        layer = view.moved(row)
        moved = {layer: row["bytes"]} if layer and row["bytes"] else {}
        sums.setdefault(view.name(row), Sum()).add(Sum(row["calls"], row["errors"], seconds, moved))
    return sums


def levels(call: Row) -> list[Row]:
    """A call in flight, and those around it, as rows of no calls that lasted so far."""
    rows: list[Row] = []
    inner = False
    for inner_call in [*call["inside"], call]:
        above = rows[-1]["layer"] if rows else None
        row = {**call, **inner_call, "enclosing_layer": above, "inner": inner, "rest": False}
        rows.append(row | {"calls": 0, "errors": 0, "bytes": 0})
        inner = inner or inner_call["layer"] not in ("user", "threads")
    return rows


@dataclass(frozen=True)
class Busy:
    """One line of the table: a group now, and since the run's start. `threads`: in its calls, on average of the
    last interval, whether or not they have ended."""

    name: str
    now: Sum
    total: Sum
    threads: float


@dataclass
class Course:
    """A run as it goes on. `add` each look once, in order."""

    look: Mapping[str, Any] = field(default_factory=dict)
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_LOOKS))
    tracing_seconds: float = 0.0
    _totals: dict[str, dict[str, Sum]] = field(default_factory=lambda: {by: {} for by in BY})
    _open: list[Row] = field(default_factory=list)
    _open_before: list[Row] = field(default_factory=list)

    def add(self, look: Mapping[str, Any]) -> None:
        """The next look."""
        self.look = look
        self._open_before = self._open
        self._open = [row for call in look["in_flight"] for row in levels(call)]
        for by, view in BY.items():
            for name, now in grouped(view, look["calls"]).items():
                self._totals[by].setdefault(name, Sum()).add(now)
        own = [row for row in look["calls"] if row["layer"] == "fathom"]
        self.tracing_seconds += sum(row["seconds"] or 0.0 for row in own)
        if look["look"] > 0:  # the first is of all that was before
            self.rates.append(self.bytes_now() / max(look["interval_seconds"], 1e-9))

    def busiest(self, by: str) -> list[Busy]:
        """Every group, the one whose calls took the most time in the last interval first."""
        view, totals = BY[by], self._totals[by]
        now = grouped(view, self.look.get("calls", []))
        open_now, open_before = grouped(view, self._open), grouped(view, self._open_before)
        none = Sum()
        rows = []
        for name in totals.keys() | open_now.keys():
            spent = sum(sums.get(name, none).seconds for sums in (now, open_now))
            spent -= open_before.get(name, none).seconds
            threads = max(0.0, spent / max(self.look["interval_seconds"], 1e-9))
            rows.append(Busy(name, now.get(name, none), totals.get(name, none), threads))
        return sorted(rows, key=lambda row: (-row.threads, -row.total.seconds, row.name))

    def bytes_now(self) -> int:
        """That moved in the last interval."""
        return sum(group.bytes for group in grouped(BY["file"], self.look["calls"]).values())

    def bytes_total(self) -> int:
        """That moved since the run's start."""
        return sum(group.bytes for group in self._totals["file"].values())

    def calls_now(self) -> int:
        """Of I/O, of all layers, in the last interval."""
        return sum(group.calls for group in grouped(BY["layer"], self.look["calls"]).values())

    def calls_total(self) -> int:
        """Of I/O, of all layers, since the run's start."""
        return sum(group.calls for group in self._totals["layer"].values())
