"""Runs the points of a study, one after the other, the programs of each at once; remembers which are done."""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.errors import FathomError, UsageError, system_error
from fathom.files import alone_in, is_file, replace_text
from fathom.run import paths, programs
from fathom.tune.sweep.plan import Plan, Point, Program

Say = Callable[[str], None]
TIMED_OUT = "timed out"


@dataclass
class Done:
    """What became of a run: `status` 0, another number, or `timed out`."""

    run: str
    mix: str
    values: dict[str, Any]
    repetition: int
    command: list[str]
    status: int | str
    seconds: float


class Study:
    """The study's folder: runs, their output, and `study.json` with what is done."""

    def __init__(self, plan: Plan, say: Say) -> None:
        """`say` is told what happens, a line each."""
        self.plan, self.say = plan, say
        self.file = plan.folder / "study.json"
        try:
            plan.folder.mkdir(exist_ok=True)
            for server in plan.servers:
                (plan.directory / server).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FathomError(f"study: {system_error(error)}") from error
        self.done = self._read()

    def _read(self) -> dict[str, Done]:
        if not is_file(self.file):
            return {}
        try:
            rows = json.loads(self.file.read_text(encoding="utf-8"))["runs"]
            return {row["run"]: Done(**row) for row in rows}
        except (ValueError, KeyError, TypeError) as error:
            raise FathomError(
                f"{self.file}: it is damaged: {error}; remove it to begin again"
            ) from error

    def _keep(self) -> None:
        rows = [vars(one) for one in self.done.values()]
        text = json.dumps({"format": 1, "runs": rows}, indent=1, ensure_ascii=False)
        replace_text(self.file, text)

    def path(self, run: str) -> Path:
        """Where a run is."""
        return self.plan.folder / f"{run}.fathom"

    def _is_done(self, point: Point) -> bool:
        for program in point.programs:
            one = self.done.get(program.run)
            if one is not None and one.command != list(program.words):
                raise UsageError(
                    f"{self.file}: {program.run} had another command line; rename the study, or remove its folder"
                )
        return all(program.run in self.done for program in point.programs)

    def run(self, again: bool) -> None:
        """Every point that is not done, by one command at a time; `again`: those too of which a program failed."""
        line = f"waiting: {self.plan.folder.name} is run by another command"
        with alone_in(self.plan.folder, lambda: self.say(line)):
            self.done = self._read()
            self._run(again)

    def _run(self, again: bool) -> None:
        points = list(self.plan.points())
        for number, point in enumerate(points, 1):
            failed = [
                one for p in point.programs if (one := self.done.get(p.run)) and one.status != 0
            ]
            if self._is_done(point) and not (again and failed):
                continue
            names = " + ".join(program.run for program in point.programs)
            self.say(f"{number} of {len(points)}: {names}")
            self._aside(point)
            for one in self._together(point):
                self.done[one.run] = one
                if one.status != 0:
                    self.say(
                        f"failed: {one.run}: {_why(one.status)}; {self._output(one.run)} has its output"
                    )
            self._keep()

    def _aside(self, point: Point) -> None:
        """What an interrupted or failed try left is kept under another name."""
        for program in point.programs:
            old, number = self.path(program.run), 1
            while old.exists():
                new = self.plan.folder / f"{program.run}.try-{number}.fathom"
                number += 1
                if not new.exists():
                    old.rename(new)
                    self.say(f"an earlier try is kept as {new.name}")

    def _output(self, run: str) -> Path:
        return self.plan.folder / f"{run}.out"

    def _together(self, point: Point) -> list[Done]:
        """Starts all programs of a point, waits for all."""
        began = time.monotonic()
        processes = [self._start(program) for program in point.programs]
        done: list[Done] = []
        try:
            for program, process in zip(point.programs, processes, strict=True):
                status = self._wait(process, began)
                seconds = time.monotonic() - began
                values = dict(point.values)
                words = list(program.words)
                done.append(
                    Done(program.run, point.mix, values, point.repetition, words, status, seconds)
                )
        finally:
            for process in processes:
                programs.end(process)
        return done

    def _start(self, program: Program) -> "subprocess.Popen[bytes]":
        words = [
            str(paths.native_command()),
            "run",
            "--no-show",
            "-o",
            str(self.path(program.run)),
            *self.plan.record,
        ]
        with self._output(program.run).open("wb") as output:
            return subprocess.Popen(
                [*words, "--", *program.words], cwd=self.plan.directory, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip

    def _wait(self, process: "subprocess.Popen[bytes]", began: float) -> int | str:
        left = (
            None
            if self.plan.timeout is None
            else max(0.0, began + self.plan.timeout - time.monotonic())
        )
        try:
            return process.wait(left)
        except subprocess.TimeoutExpired:
            programs.end(process)
            return TIMED_OUT


def _why(status: int | str) -> str:
    return status if isinstance(status, str) else f"exit status {status}"
