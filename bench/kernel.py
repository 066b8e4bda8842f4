"""Whole S3D and FLASH, every call traced or only counted: seconds of the kernels, and instructions of their I/O."""

from __future__ import annotations

import random
import re
import shutil
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT, BenchError, Row, fathom_run, pack, run, scratch

#: As few ranks as make a collective: more than there are processors, and waiting ranks take turns with working ones,
#: so that the times are the scheduler's.
LAUNCH: list[str | Path] = ["mpiexec.mpich", "-n", "2"]
#: Of the run time without Fathom, by level.
LIMITS = {"call": 1.02, "job": 1.005}
#: Runs without Fathom: two a round, so that what two equal runs differ by is seen beside what Fathom adds.
BARE = ("bare", "bare again")


@dataclass(frozen=True)
class Kernel:
    """A program of kernels/, and arguments for a look, for a run of 5 s or more, and for one rank under callgrind."""

    name: str
    program: str
    quick: list[str]
    full: list[str]
    counted: list[str]


KERNELS = [
    Kernel(
        "S3D MPI-IO",
        "s3d_mpiio_mpich",
        ["-c", "2", "32", "32", "32", "2", "1", "1"],
        ["-c", "56", "64", "64", "64", "2", "1", "1"],
        ["-c", "4", "64", "64", "64", "1", "1", "1"],
    ),
    Kernel(
        "FLASH HDF5",
        "flash_hdf5_mpich",
        ["-x", "16", "-b", "20", "-f", "cpk"],
        ["-x", "16", "-b", "80", "-f", "cpk" * 32],
        ["-x", "16", "-b", "80", "-f", "cpk"],
    ),
]
SECONDS = re.compile(r"^job_seconds=([0-9.]+)$", re.MULTILINE)
#: All I/O of a kernel lies below this function of kernels/common/run.c; MPI_Init does not.
INSIDE = "all_files"
COLLECTED = re.compile(r"^==\d+== Collected : (\d+)$", re.MULTILINE)


def inner_seconds(kernel: Kernel, output: str) -> float:
    job_seconds = SECONDS.search(output)
    if not job_seconds:
        raise BenchError(f"{kernel.program} printed no job_seconds")
    return float(job_seconds.group(1))


def under(directory: Path, level: str) -> list[str | Path]:
    return [] if level in BARE else fathom_run(directory / f"{level}.fathom", "--level", level)


def program(kernel: Kernel) -> Path:
    return ROOT / "build" / "kernels" / kernel.program


def one_round(
    kernel: Kernel, arguments: list[str], directory: Path, order: list[str]
) -> tuple[dict[str, float], float]:
    """Seconds bare (twice) and at each level, one after the other in this order; seconds of packing."""
    out = directory / "out"
    seconds = {}
    for level in order:
        out.mkdir()
        command = [*under(directory, level), *LAUNCH, program(kernel), *arguments, out]
        seconds[level] = inner_seconds(kernel, run(command))
        shutil.rmtree(out)
    began = time.monotonic()
    pack(directory / "call.fathom")
    return seconds, time.monotonic() - began


def instructions(kernel: Kernel, level: str) -> int:
    """What one rank's I/O takes, by callgrind: the same at every repetition, whatever else the machine does."""
    with scratch("/dev/shm") as directory:
        (directory / "out").mkdir()
        callgrind: list[str | Path] = [
            "valgrind",
            "--tool=callgrind",
            f"--toggle-collect={INSIDE}",
            "--callgrind-out-file=/dev/null",
            f"--log-file={directory}/counted",
        ]
        one = ["mpiexec.mpich", "-n", "1", *callgrind, program(kernel), *kernel.counted]
        run([*under(directory, level), *one, directory / "out"])
        collected = COLLECTED.search((directory / "counted").read_text())
    if not collected or not int(collected.group(1)):
        raise BenchError(f"callgrind counted nothing inside {INSIDE} of {kernel.program}")
    return int(collected.group(1))


def counted_rows(kernel: Kernel) -> list[Row]:
    bare = instructions(kernel, BARE[0])
    result = []
    for level, limit in LIMITS.items():
        counted = instructions(kernel, level)
        ratio = counted / bare
        what = f"{kernel.name} at level {level}, instructions of one rank's I/O"
        row = Row(what, counted / 1e6, "M", bare / 1e6, ratio, f"<= {limit:.3f}", ratio <= limit)
        result.append(row)
    return result


def interval(ratios: list[float]) -> tuple[float, float]:
    """Between which the true median lies, 95 times of 100: order statistics of a binomial distribution."""
    ordered, n = sorted(ratios), len(ratios)
    beyond = max(0, int(n / 2 - 0.98 * n**0.5))
    return ordered[beyond], ordered[n - 1 - beyond]


def timed_rows(kernel: Kernel, rounds: list[dict[str, float]]) -> list[Row]:
    bare = [statistics.mean(one[name] for name in BARE) for one in rounds]
    result = []
    for level in (BARE[1], *LIMITS):
        base = [one[BARE[0]] for one in rounds] if level in BARE else bare
        ratios = [one[level] / without for one, without in zip(rounds, base, strict=True)]
        ratio, (least, most) = statistics.median(ratios), interval(ratios)
        what = f"{kernel.name}, {level}, median of {len(rounds)} rounds"
        seconds = statistics.median(one[level] for one in rounds), statistics.median(base)
        limit = LIMITS.get(level)
        row = Row(what, seconds[0], "s", seconds[1], ratio)
        if limit:
            row.target, row.met = f"<= {limit:.3f}", ratio <= limit
        result += [
            row,
            Row("  the ratio lies, 95 % sure, between", least, ""),
            Row("  and", most, ""),
        ]
    return result


def rows_of(kernel: Kernel, quick: bool) -> list[Row]:
    count, arguments = (2, kernel.quick) if quick else (20, kernel.full)
    shuffle = random.Random(kernel.name).sample
    rounds: list[dict[str, float]] = []
    packing: list[float] = []
    for _ in range(count):
        with scratch("/dev/shm") as directory:
            order = shuffle([*BARE, *LIMITS], len(BARE) + len(LIMITS))
            seconds, packed = one_round(kernel, arguments, directory, order)
        rounds.append(seconds)
        packing.append(packed)
        seconds_by_level = ", ".join(f"{level} {seconds[level]:.2f} s" for level in sorted(seconds))
        print(
            f"{kernel.name} {len(rounds)}/{count}: {seconds_by_level}", file=sys.stderr, flush=True
        )
    return [
        *counted_rows(kernel),
        *timed_rows(kernel, rounds),
        Row("  packing it afterwards", statistics.median(packing), "s"),
    ]


def rows(quick: bool) -> list[Row]:
    return [row for kernel in KERNELS for row in rows_of(kernel, quick)]
