"""Settings that won a recorded grid, proved live by `fathom tune` on the same throttled servers.

    python bench/proved.py [KERNEL]…

The best of bench/grids/KERNEL.csv is the only trial; default, expert's rule and winner are then run fresh: minutes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from fathom.run import paths
from grid import GRIDS, KERNELS, KINDS, LAUNCH, PATIENT, SCRIPT, Kernel, servers
from tools import FATHOM, scratch
from tuning import Grid

#: The seconds that a kernel prints.
OBJECTIVE = r"""sed -n 's/.*write_seconds=\([0-9.]*\).*/\1/p' "$TUNE_PRINTED" """


def seeded(kernel: Kernel, file: Path) -> None:
    """The kernel's space, which begins with what is best in its grid."""
    space = GRIDS / ("hdf5.toml" if "hdf5" in kernel.program else "mpiio.toml")
    costs = Grid(kernel).costs
    best = kernel.space.named(min(costs, key=lambda point: costs[point]))
    seed = [f"{name} = {json.dumps(value)}" for name, value in best.items() if value is not None]
    file.write_text("\n".join([space.read_text(), "[[seed]]", *seed, ""]))


def live(kernel: Kernel, place: Path) -> None:
    """Prints the proof."""
    space = place / "space.toml"
    seeded(kernel, space)
    with servers(place) as clients:
        words = [FATHOM, "tune", "--space", space, "--trials", "1", "--objective", OBJECTIVE]
        words += ["-o", place / kernel.name, "--", "sh", "-c", SCRIPT, place / "out" / kernel.name]
        words += [*LAUNCH, KERNELS / kernel.program, *kernel.arguments.split()]
        mpiio = {"FATHOM_FORWARD_MPIIO": "library", "BESIDE": f"{paths.preload()}:{PATIENT}"}
        subprocess.run(
            [str(word) for word in words], env={**os.environ, **clients, **mpiio}, check=True
        )


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # servers end too
    for name in sys.argv[1:] or ("column", "block"):
        with scratch() as place:
            live(KINDS[name], place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
