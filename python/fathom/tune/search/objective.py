"""What a trial is judged by: a figure of its recorded run, or what a command of the user's says."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fathom.analysis.latency.language import Query
from fathom.analysis.latency.model import answer
from fathom.analysis.latency.segment import Segment
from fathom.errors import FathomError, UsageError
from fathom.run import programs
from fathom.run.store import Run

SECOND = 1e9
Measures = Mapping[str, float]


@dataclass(frozen=True)
class Objective:
    """Its name, unit, and whether more is better."""

    name: str
    unit: str
    more: bool
    of: Callable[[Measures], float]

    def cost(self, score: float) -> float:
        """Lower is better."""
        return -score if self.more else score


def _rate(measures: Measures) -> float:
    """Many files: all bytes over the whole run (Behzad et al. 2019)."""
    seconds = measures["write_seconds" if measures["files"] == 1 else "runtime"]
    if not measures["bytes_written"] or not seconds:
        raise FathomError("it wrote no bytes to any file that counts")
    return measures["bytes_written"] / seconds / 1e6


OBJECTIVES = {
    "runtime": Objective("runtime", "s", False, lambda of: of["runtime"]),
    "io-time": Objective("io-time", "s", False, lambda of: of["io_seconds"]),
    "write-time": Objective("write-time", "s", False, lambda of: of["write_seconds"]),
    "rate": Objective("rate", "MB/s", True, _rate),
    "energy": Objective("energy", "J", False, lambda of: of["joules"]),
}
#: By what it is counted, and how the watts are given by which it is estimated instead.
COUNTED, WATTS = "energy", "energy="


def objective_of(name: str, maximize: bool) -> Objective:
    """By its name, or of a command."""
    command = Objective("objective", "", maximize, lambda of: of["objective"])
    return OBJECTIVES[COUNTED] if name.startswith(WATTS) else OBJECTIVES.get(name, command)


def is_command(name: str) -> bool:
    """None of ours."""
    return name not in OBJECTIVES and not name.startswith(WATTS)


def watts(name: str) -> Query | None:
    """Of `energy=ACTIVE,INACTIVE`, as `fathom query` asks; None: another objective. Errors: UsageError."""
    if not name.startswith(WATTS):
        return None
    words = name.removeprefix(WATTS).split(",")
    try:
        active, inactive = map(float, words)
    except ValueError:
        active = inactive = float("nan")
    if not (0 <= active < float("inf") and 0 <= inactive < float("inf")):
        line = f"'{name}': watts of a disk at work and at rest, as {WATTS}11.5,8"
        raise UsageError(f"tune: --objective {line}")
    return Query("energy", active=active, inactive=inactive)


def estimated(run: Run, query: Query, group: str | None) -> float:
    """Joules of the disks of all servers, by `fathom query energy`. The run's calls must be recorded in full."""
    energy = answer(run, query, Segment(file=group), 0, frozenset({"server"}))
    return float(sum(energy.views["server"]["joules"].to_pylist()))


def measure(run: Run, group: str | None) -> dict[str, float]:
    """Run time, launcher too; I/O of the slowest process, its opening, writing and closing; bytes; files written."""
    pattern = group if group is None or "/" in group else f"*/{group}"
    rows = run.sql("from landscape_measures($group)", group=pattern).to_pylist()
    files = {path for row in rows for path in row["written"] or ()}
    return {
        "runtime": (run.manifest["end_ns"] - run.manifest["start_ns"]) / SECOND,
        "io_seconds": max((row["io"] for row in rows), default=0) / SECOND,
        "write_seconds": max((row["write"] for row in rows), default=0) / SECOND,
        "bytes_written": sum(row["bytes_written"] for row in rows),
        "bytes_read": sum(row["bytes_read"] for row in rows),
        "files": len(files),
    }


def printed_number(
    command: str, cwd: Path, words: Mapping[str, str], seconds: float | None
) -> float:
    """The number in the last line that the user's command prints."""
    environment = {**os.environ, **words}
    done = programs.run(["/bin/sh", "-c", command], seconds, environment=environment, cwd=cwd)
    if done is None:
        raise FathomError(f"the objective's command did not end in {seconds:g} s")
    if done.returncode:
        raise FathomError(f"the objective's command ended with status {done.returncode}")
    last = done.stdout.split("\n") if done.stdout.strip() else [""]
    text = next((line for line in reversed(last) if line.strip()), "")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise FathomError(f"the objective's command printed '{text}', which is no number")
    return value
