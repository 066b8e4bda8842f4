"""What Fathom adds to the start of a process: system calls and bytes, counted over 2,000 processes.

Times of starts are noise on a shared machine; strace's counts are not. The counts of few processes
are taken from those of many, so that what `fathom run` does once drops out.
"""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from pathlib import Path

from tools import PROGRAMS, Row, fathom_run, run, scratch, size_of

FEW = 20
# What a start may add, per process. Bounds, with air over what was measured: a rise is a finding.
# Of the 20 opens and at most 148 calls measured, 4 and 13 tell whether there are more ranks than processors:
# schedstat at the begin and at the end (6 calls), sched_getaffinity (1), the cgroup and its quota (6).
# What storage gave is 2 opens of /proc/self/task/TID/io, the most memory 1 of /proc/self/status at the end.
# Each further level of cgroups with a quota's file would add an open and two calls.
GROUPS: dict[str, tuple[tuple[str, ...], float]] = {
    "opens": (("open", "openat", "openat2", "creat"), 22),
    "stats": (("stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs"), 6),
    "execs": (("execve", "execveat"), 0),
    "all system calls": ((), 151),
}
STREAM_BYTES = 8192  # of the run directory, per process
SELECTION_CALLS = 6
SELECTION = '[call]\nlayers = ["posix"]\noperations = "write"\nfiles = ["*"]\n'


def program(processes: int) -> list[str | Path]:
    """Children that do a little I/O, so that each has a stream to write."""
    return [PROGRAMS / "start", str(processes), PROGRAMS / "regular", "/dev/null", "4"]


def counts(words: list[str | Path], scratch_directory: Path) -> dict[str, int]:
    """System calls by name, of the program's processes, as strace prints them.

    Those of the watcher beside them are left out: how often it wakes up depends on how busy the machine is.
    """
    logs = scratch_directory / "strace"
    logs.mkdir()
    run(["strace", "-ff", "-s", "0", "-e", "signal=none", "-o", logs / "of", *words])
    calls: Counter[str] = Counter()
    for log in logs.iterdir():
        text = log.read_text()
        if f'execve("{PROGRAMS}/' in text:
            calls.update(re.findall(r"^(\w+)\(", text, re.MULTILINE))
    shutil.rmtree(logs)
    return calls


def per_process(
    traced: bool, many: int, directory: Path, options: tuple[str | Path, ...] = ()
) -> dict[str, float]:
    """Calls by group that one more process makes."""
    sums: list[dict[str, int]] = []
    for processes in (FEW, many):
        run_directory = directory / f"{processes}{'.selected' * bool(options)}.fathom"
        before = fathom_run(run_directory, *options) if traced else []
        sums.append(counts([*before, *program(processes)], directory))
    few, more = sums
    return {
        group: sum(more.get(name, 0) - few.get(name, 0) for name in (names or set(more) | set(few)))
        / (many - FEW)
        for group, (names, _) in GROUPS.items()
    }


def milliseconds(traced: bool, processes: int, directory: Path) -> float:
    run_directory = directory / "timed.fathom"
    began = time.monotonic()
    run([*(fathom_run(run_directory) if traced else []), *program(processes)])
    return (time.monotonic() - began) * 1e3 / processes


def bytes_per_process(many: int, directory: Path) -> float:
    few, more = (size_of(directory / f"{n}.fathom", "*") for n in (FEW, many))
    return (more - few) / (many - FEW)


def selected(many: int, directory: Path, plain: float) -> Row:
    """System calls that a selection file adds to each start: it is opened, read and closed."""
    path = directory / "selection.toml"
    path.write_text(SELECTION)
    calls = per_process(True, many, directory, ("--select", path))["all system calls"]
    return Row(
        "system calls added to a start by --select",
        calls - plain,
        "calls",
        plain,
        calls / plain,
        f"<= {SELECTION_CALLS:g}",
        calls - plain <= SELECTION_CALLS,
    )


def rows(quick: bool) -> list[Row]:
    many = 200 if quick else 2000
    with scratch("/dev/shm") as directory:
        bare = per_process(False, many, directory)
        ours = per_process(True, many, directory)
        result = [
            Row(
                f"{group} added to a start, of {many} processes",
                ours[group] - bare[group],
                "calls",
                bare[group],
                ours[group] / bare[group] if bare[group] else None,
                f"<= {bound:g}",
                ours[group] - bare[group] <= bound,
            )
            for group, (_, bound) in GROUPS.items()
        ]
        result.append(selected(many, directory, ours["all system calls"]))
        size = bytes_per_process(many, directory)
        result.append(
            Row(
                "bytes in the run directory per process",
                size,
                "B",
                target=f"<= {STREAM_BYTES} B",
                met=size <= STREAM_BYTES,
            )
        )
        slow, fast = (milliseconds(traced, many, directory) for traced in (True, False))
        result.append(Row("  wall time of one process", slow, "ms", fast, slow / fast))
        return result
