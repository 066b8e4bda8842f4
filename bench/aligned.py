"""S3D untraced, traced, and traced through forwarding servers: its own seconds, and the three on one axis.

python bench/aligned.py [PICTURE]
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import fathom
from kernel import KERNELS, inner_seconds, program
from tools import fathom_run, run, scratch

S3D = KERNELS[0]
ROUNDS = 5
LAUNCH: list[str | Path] = ["mpiexec.mpich", "-n", "4"]
ARGUMENTS = ["-c", "10", "64", "64", "64", "2", "2", "1"]
WAYS = ("untraced", "traced, files of its own", "traced, through two servers")
#: What each lane shows, from the end of MPI_Init on, where the program's clock begins.
CALLS = """
    select
        coalesce('rank ' || c.rank, 'server ' || dense_rank() over (partition by c.rank is null order by c.process))
            as lane,
        c.layer, (c.start - begin.start) / 1e9 as start, c.duration / 1e9 as seconds
    from calls c, (select max(start + duration) as start from calls where op = 'MPI_Init') as begin
    where (c.layer = 'mpiio' and c.kind = 'write') or c.layer = 'fathom' or (c.layer = 'server' and c.op = 'append')
    order by lane, c.start"""
COLOURS = {"mpiio": "tab:blue", "fathom": "tab:red", "server": "tab:orange"}
MEANS = {
    "mpiio": "the program's collective writes",
    "fathom": "tracing, inside the program",
    "server": "blocks of the trace, at the servers",
}


def once(way: str, place: Path) -> float:
    """Seconds of the kernel by its own clock. The servers get the trace, not the program's files."""
    traces, out = place / "traces", place / "out"
    traces.mkdir(parents=True)
    out.mkdir()
    sink: list[str | Path] = [
        "--forward=2",
        "--forward-path",
        traces,
        "--trace-sink",
        "forward=flush=step,size=64K",
    ]
    before = [] if way == WAYS[0] else fathom_run(traces / "run.fathom", *sink * (way == WAYS[2]))
    return inner_seconds(S3D, run([*before, *LAUNCH, program(S3D), *ARGUMENTS, out]))


def rounds(place: Path) -> dict[str, list[float]]:
    """Each way in turn; the last round's runs are left there."""
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(ROUNDS):
        for way in WAYS:
            seconds[way].append(once(way, place / f"{number} {way}"))
    return seconds


def lanes(place: Path) -> list[dict[str, Any]]:
    """Of a traced run."""
    calls: list[dict[str, Any]]
    calls = fathom.open(place / "traces" / "run.fathom").sql(CALLS).to_pylist()
    return calls


def draw(place: Path, seconds: dict[str, list[float]], picture: Path) -> None:
    """The last round's runs, one below the other."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(9, 5), layout="constrained")
    for axes, way in zip(figure.subplots(len(WAYS), sharex=True), WAYS, strict=True):
        took = seconds[way][-1]
        axes.set_title(f"{way}: {took:.2f} s", loc="left", fontsize=9)
        axes.tick_params(labelsize=7)
        axes.axvline(took, color="black", linewidth=0.6)
        if way == WAYS[0]:
            axes.barh(["4 ranks"], [took], color="lightgrey")
            continue
        for row in reversed(lanes(place / f"{ROUNDS - 1} {way}")):
            width = max(row["seconds"], 0.002)
            axes.barh(row["lane"], width, left=row["start"], color=COLOURS[row["layer"]])
    axes.set_xlabel(
        "seconds by the program's clock, from MPI_Init to MPI_Finalize (line)", fontsize=8
    )
    handles = [Patch(color=colour, label=MEANS[layer]) for layer, colour in COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(picture, dpi=110)


def main() -> int:
    with scratch("/dev/shm") as place:
        seconds = rounds(place)
        for way, each in seconds.items():
            pairs = zip(each, seconds[WAYS[0]], strict=True)
            ratio = statistics.median(took / bare for took, bare in pairs)
            print(f"{way}: {statistics.median(each):.3f} s, {ratio:.3f} x untraced")
        print(f"medians of {ROUNDS} rounds, each way in turn")
        if len(sys.argv) > 1:
            draw(place, seconds, Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
