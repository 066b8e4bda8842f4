"""What Fathom adds to the start of a process: system calls and bytes, counted over 2,000 processes.

Times of starts are noise on a shared machine; strace's counts are not. The counts of few processes
are taken from those of many, so that what `fathom run` does once drops out.
"""

from __future__ import annotations

import time
from pathlib import Path

from tools import PROGRAMS, Row, fathom_run, run, scratch, size_of

FEW = 20
# What a start may add, per process. Bounds, with air over what was measured: a rise is a finding. Some 4 opens and 20
# calls are those of the watcher, beside the program: who died when.
GROUPS: dict[str, tuple[tuple[str, ...], float]] = {
    "opens": (("open", "openat", "openat2", "creat"), 15),
    "stats": (("stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs"), 12),
    "execs": (("execve", "execveat"), 0),
    "all system calls": ((), 150),
}
STREAM_BYTES = 8192  # of the run directory, per process
SELECTION_CALLS = 6
SELECTION = '[call]\nlayers = ["posix"]\noperations = "write"\nfiles = ["*"]\n'


def program(processes: int) -> list[str | Path]:
    """Children that do a little I/O, so that each has a stream to write."""
    return [PROGRAMS / "start", str(processes), PROGRAMS / "regular", "/dev/null", "4"]


def counts(words: list[str | Path], scratch_directory: Path) -> dict[str, int]:
    """System calls by name, of the whole process tree, as strace counts them."""
    output = scratch_directory / "strace"
    run(["strace", "-f", "-c", "-S", "name", "-U", "calls,name", "-o", output, *words])
    calls = {}
    for line in output.read_text().splitlines():
        words_of = line.split()
        if len(words_of) == 2 and words_of[0].isdigit() and words_of[1] != "total":
            calls[words_of[1]] = int(words_of[0])
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
