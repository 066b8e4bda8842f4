"""Whole S3D and FLASH with collective calls: on a disk, and on the same disk through four servers that stripe.

python bench/run.py --only forward shows it; alone: python bench/collective.py
"""

from __future__ import annotations

import filecmp
import statistics
import sys
from pathlib import Path

from kernel import KERNELS, Kernel, inner_seconds, program
from tools import FATHOM, BenchError, Row, fathom_run, run, scratch

LAUNCH: list[str | Path] = ["mpiexec.mpich", "-n", "4"]
SERVERS = 4
#: Of the time without servers, for accesses that are list requests; servers and ranks share the processors.
LIMIT = 1.5
#: Arguments for a look and for a measurement; each run reads back what it wrote and compares.
ARGUMENTS = {
    "S3D MPI-IO": (
        ["-c", "1", "64", "64", "64", "2", "2", "1"],
        ["-c", "2", "100", "100", "100", "2", "2", "1"],
    ),
    "FLASH HDF5": (["-x", "8"], ["-x", "12"]),
}
DIRECT = "direct"
#: Under the tracer an access of MPI-IO is one list request; without it MPI's library makes it of POSIX calls.
WAYS = {
    "traced": "as list requests (fathom run --forward)",
    "untraced": "as POSIX calls (fathom forward with)",
}


def before(way: str, place: Path) -> list[str | Path]:
    """The words that put a program's files below place/out on servers that stripe over the same disk."""
    out, storage = place / "out", place / "storage"
    if way == "traced":
        options: list[str | Path] = [
            f"--forward={SERVERS}",
            "--forward-path",
            out,
            "--forward-storage",
            storage,
        ]
        return fathom_run(place / "run", *options)
    if way == "untraced":
        at: list[str | Path] = ["--at", place / "servers", "--export", out, "--storage", storage]
        return [FATHOM, "forward", "with", *at, "--servers", str(SERVERS), "--"]
    return []


def once(kernel: Kernel, arguments: list[str], way: str, place: Path) -> float:
    """Seconds from MPI_Init to MPI_Finalize by the kernel's own clock; its files are in place/out afterwards."""
    (place / "out").mkdir(parents=True)
    (place / "storage").mkdir()
    mine = [*LAUNCH, program(kernel), "-m", "collective", "-r", *arguments, place / "out"]
    return inner_seconds(kernel, run([*before(way, place), *mine]))


def compare(direct: Path, forwarded: Path) -> None:
    """HDF5 writes the time of day into its files: those are compared by what they hold."""
    names = sorted(file.name for file in direct.iterdir())
    if not names:
        raise BenchError(f"{direct}: the kernel wrote nothing")
    for name in names:
        if name.endswith(".h5"):
            run(["h5diff", direct / name, forwarded / name])
        elif not filecmp.cmp(direct / name, forwarded / name, shallow=False):
            raise BenchError(f"{forwarded / name} differs from the file that was written directly")


def one_round(kernel: Kernel, arguments: list[str]) -> dict[str, float]:
    """Seconds of each way, in turn."""
    with scratch() as place:
        seconds = {way: once(kernel, arguments, way, place / way) for way in (DIRECT, *WAYS)}
        for way in WAYS:
            compare(place / DIRECT / "out", place / way / "out")
    return seconds


def rows(quick: bool) -> list[Row]:
    """Medians, and those of each round's ratio."""
    result = []
    for kernel in KERNELS:
        arguments = ARGUMENTS[kernel.name][0 if quick else 1]
        rounds = [one_round(kernel, arguments) for _ in range(1 if quick else 3)]
        for way, how in WAYS.items():
            ratio = statistics.median(one[way] / one[DIRECT] for one in rounds)
            took, direct = (statistics.median(one[of] for one in rounds) for of in (way, DIRECT))
            what = f"{kernel.name}, collective, 4 ranks, {SERVERS} striped servers, {how}"
            gated = way == "traced"
            target, met = (f"<= {LIMIT:g} x directly", ratio <= LIMIT) if gated else ("", None)
            result.append(Row(what, took, "s", direct, ratio, target, met))
    return result


if __name__ == "__main__":
    for row in rows(quick="--quick" in sys.argv):
        print(
            f"{row.what}: {row.measured:.2f} {row.unit}, {row.baseline:.2f} directly, {row.ratio:.2f}"
        )
