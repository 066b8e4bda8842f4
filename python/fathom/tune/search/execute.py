"""One trial: the program under `fathom run --tuned`, in a directory of its own, judged, and its output compared."""

import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from fathom.errors import FathomError, system_error
from fathom.forward.group import Group
from fathom.run import paths, programs
from fathom.run.store import open_run
from fathom.tune.search.energy import Meter, check_single_node
from fathom.tune.search.ledger import Outcome
from fathom.tune.search.objective import (
    COUNTED,
    Measures,
    estimated,
    is_command,
    measure,
    objective_of,
    printed_number,
    watts,
)
from fathom.tune.search.options import Options
from fathom.tune.search.outputs import Reference
from fathom.tune.settings.file import read

OUT = "{out}"
#: The counters of each file are mostly enough to judge by, and cheap; what is looked at closely is every call.
LEVEL, CLOSELY = "file", "call"


class Executor:
    """Runs trials of a search in its folder. `lock` is a descriptor that every trial inherits."""

    def __init__(self, folder: Path, options: Options, lock: int) -> None:
        self.folder, self.options, self.lock = folder, options, lock
        self.reference = Reference(options.verify, folder / "reference", options.timeout)
        self.objective = objective_of(options.objective, options.maximize)
        self.meter = Meter() if options.objective == COUNTED else None
        self.watts = watts(options.objective)

    def place(self, number: int) -> Path:
        """Where a trial keeps its settings, run and what it printed."""
        return self.folder / "trials" / str(number)

    def run_of(self, number: int) -> Path:
        """Its run directory."""
        return self.place(number) / "run.fathom"

    def store(self, number: int) -> Path | None:
        """Where the forwarding servers of a trial keep stripes; None: they share the directory of its output."""
        storage = self.options.forward_storage
        return Path(storage) / f"stripes.{number}" if storage else None

    def trial(self, number: int, settings: str, timeout: float | None, look: bool) -> Outcome:
        """Runs it; `look`: without settings, recorded closely, and its output is what others are compared with."""
        place, out = self.place(number), Path(self.options.scratch) / f"out.{number}"
        store = self.store(number)
        for old in filter(None, (place, out, store)):
            shutil.rmtree(old, ignore_errors=True)
        try:
            for new in filter(None, (place, out, store)):
                new.mkdir(parents=True)
        except OSError as error:
            raise FathomError(f"tune: {system_error(error)}") from error
        began = time.monotonic()
        try:
            return self._judged(number, settings, timeout, look, out)
        except FathomError as error:
            return Outcome("failed", time.monotonic() - began, why=str(error))
        finally:
            self._end_servers(number)
            for old in filter(None, (out, store)):
                shutil.rmtree(old, ignore_errors=True)
            if not look:
                shutil.rmtree(self.run_of(number), ignore_errors=True)

    def _judged(
        self, number: int, settings: str, timeout: float | None, look: bool, out: Path
    ) -> Outcome:
        began = time.monotonic()
        words = self._words(number, settings, look, out)
        with self.meter or nullcontext():
            status = self._run(words, self.place(number), timeout)
        seconds = time.monotonic() - began
        if status is None:
            return Outcome("hung", seconds, why=f"no end after {timeout:.1f} s")
        if status:
            return Outcome("failed", seconds, why=self._why(number, status))
        figures = self._figures(number, out, timeout)
        score = self.objective.of(figures)
        if look:
            self.reference.take(out)
        elif wrong := self.reference.wrong(out):
            return Outcome("wrong", time.monotonic() - began, score, figures, wrong)
        return Outcome("done", time.monotonic() - began, score, figures)

    def _words(self, number: int, settings: str, look: bool, out: Path) -> list[str]:
        place = self.place(number)
        words = [str(paths.native_command()), "run", "--no-show", "-o", str(self.run_of(number))]
        words += ["--level", CLOSELY if look or self.watts else LEVEL]
        if settings:
            file = place / "settings.toml"
            file.write_text(settings.replace(OUT, str(out)), encoding="utf-8")
            words += ["--tuned", str(file), *self._servers(number, file, out)]
        return [*words, "--", *(word.replace(OUT, str(out)) for word in self.options.program)]

    def _servers(self, number: int, file: Path, out: Path) -> list[str]:
        """Those that the settings start serve its output."""
        if all(one.knob.route != "option" for one in read(file).launch):
            return []
        store = self.store(number)
        return ["--forward-path", str(out), *(["--forward-storage", str(store)] if store else [])]

    def _end_servers(self, number: int) -> None:
        """Those of a trial that was killed before it could end them."""
        group = Group(self.run_of(number) / "forward")
        if group.file.exists():
            for _ in group.down(0):
                pass

    def _run(self, words: Sequence[str], place: Path, timeout: float | None) -> int | None:
        """Its status; None: it was ended, having taken too long."""
        with (place / "printed").open("wb") as printed, (place / "errors").open("wb") as errors:
            process = subprocess.Popen(
                words, cwd=self.options.directory, stdin=subprocess.DEVNULL, stdout=printed,
                stderr=errors, start_new_session=True, pass_fds=(self.lock,),
            )  # fmt: skip
            try:
                return process.wait(timeout)
            except subprocess.TimeoutExpired:
                return None
            finally:
                programs.end(process)

    def _why(self, number: int, status: int) -> str:
        text = (self.place(number) / "errors").read_text(encoding="utf-8", errors="replace")
        lines = (line.strip() for line in text.splitlines())
        # Open MPI draws a line above what it says.
        said = (line for line in lines if any(map(str.isalnum, line)))
        line = next((line for line in said if " run directory " not in line), "")
        return f"exit status {status}: {line}"[:200]

    def _figures(self, number: int, out: Path, timeout: float | None) -> Measures:
        run = open_run(self.run_of(number), quiet=True)
        figures = measure(run, self.options.group)
        if self.meter:
            check_single_node(run)
            figures["joules"] = self.meter.joules
        elif self.watts:
            figures["joules"] = estimated(run, self.watts, self.options.group)
        elif is_command(self.options.objective):
            printed = str(self.place(number) / "printed")
            words = {
                "TUNE_RUN": str(self.run_of(number)),
                "TUNE_OUT": str(out),
                "TUNE_PRINTED": printed,
            }
            cwd = Path(self.options.directory)
            figures["objective"] = printed_number(self.options.objective, cwd, words, timeout)
        return figures
