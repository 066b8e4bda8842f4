"""tests/programs/mpi/steps.c, recorded, step by step."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from harness import needs, paths, runner

RANKS, SIZE = 4, 4 * 64 * 4096


class Steps:
    """The program, recorded, that writes a file for each step, or one file that stays open (`how`)."""

    def __init__(
        self,
        folder: Path,
        mpi: str,
        steps: int,
        *options: object,
        how: str = "",
        under: Sequence[object] = (),
    ) -> None:
        needs.require(needs.of_mpi(mpi))
        self.out, self.at = folder / "out", folder / "r.fathom"
        self.out.mkdir()
        program = paths.PROGRAMS / "programs" / "mpi" / f"steps_{needs.MPI[mpi]}"
        command = [*under, *runner.LAUNCH[mpi].split(), "-n", str(RANKS), program, self.out, steps]
        command += [how] if how else []
        self.how = how
        words = [paths.FATHOM, "run", "--no-show", *options, "-o", self.at, "--", *command]
        self.process = subprocess.Popen(
            [str(word) for word in words], env={**os.environ, **runner.STACK_ENV}, start_new_session=True
        )  # fmt: skip

    def step(self, number: int) -> None:
        """Lets it write this file, and waits for that."""
        (self.out / f"go.{number}").touch()
        file, until = self.out / f"step.{number}", time.monotonic() + 120
        size = SIZE
        if self.how:
            file, size = self.out / "steps", (number + 1) * SIZE
        while not file.exists() or file.stat().st_size < size:
            assert self.process.poll() is None and time.monotonic() < until
            time.sleep(0.02)
