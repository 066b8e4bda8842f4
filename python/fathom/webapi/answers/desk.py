"""Jobs that `fathom view --allow-start` runs here: one at a time, as the user, with lists of words and no shell."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from fathom.errors import FathomError, UsageError
from fathom.run import paths, programs
from fathom.webapi.answers.setup import Job

TAIL = 16_384  # bytes of output that are shown


@dataclass
class _Started:
    """One job. Written by its thread, read by requests."""

    name: str
    folder: Path
    steps: list[list[str]]
    output: IO[bytes]
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    state: str = "starting"  # then building, running, and at the end done, failed or stopped
    status: int | None = None
    process: subprocess.Popen[bytes] | None = None
    opened: str | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        return self.ended is not None

    def tail(self) -> str:
        """The end of what it printed; an escape sequence is no text."""
        size = os.fstat(self.output.fileno()).st_size
        text = os.pread(self.output.fileno(), TAIL, max(0, size - TAIL)).decode(errors="replace")
        return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


class Desk:
    """Starts jobs. `opens` takes the directory of a finished run and gives the name under which it is open."""

    def __init__(self, opens: Callable[[Path], str]) -> None:
        self._opens = opens
        self._jobs: dict[str, _Started] = {}
        self._lock = threading.Lock()

    def start(self, job: Job, folder: Path, selection: str | None) -> dict[str, Any]:
        """Builds it where it is to be built, runs it, opens the run. Errors: UsageError."""
        with self._lock:
            if any(not job_run.is_over for job_run in self._jobs.values()):
                raise UsageError("a job runs already: wait for its end, or stop it")
            if (folder / f"{job.run}.fathom").exists():
                raise UsageError(f"{folder / job.run}.fathom is there already: choose another name")
            file = folder / f"{job.run}.select.toml"
            if selection is not None:
                _write(file, selection)
            started = _Started(job.run, folder, _steps(job, file), _nameless())
            self._jobs[job.run] = started
        threading.Thread(target=self._work, args=(started,), daemon=True).start()
        return self.progress(job.run)

    def progress(self, name: str) -> dict[str, Any]:
        """State, output and what became of it."""
        job_run = self._find(name)
        return {
            "job": job_run.name,
            "state": job_run.state,
            "status": job_run.status,
            "seconds": (job_run.ended or time.monotonic()) - job_run.began,
            "output": job_run.tail(),
            "run": job_run.opened,
            "error": job_run.error,
        }

    def stop(self, name: str) -> dict[str, Any]:
        """Interrupts it, and ends it where that does not."""
        job_run = self._find(name)
        with self._lock:
            process = None if job_run.is_over else job_run.process
            job_run.state = job_run.state if job_run.is_over else "stopped"
        if process is not None:
            programs.end(process, signal.SIGINT)
        return self.progress(job_run.name)

    def close(self) -> None:
        """Ends what still runs."""
        for name, job_run in list(self._jobs.items()):
            if not job_run.is_over:
                self.stop(name)

    def _find(self, name: str) -> _Started:
        if not self._jobs:
            raise UsageError("no job was started")
        if name and name not in self._jobs:
            raise UsageError(f"job={name[:40]!r}: no such job; there are {', '.join(self._jobs)}")
        return self._jobs[name or next(reversed(self._jobs))]

    def _work(self, job_run: _Started) -> None:
        try:
            self._steps(job_run)
        except (OSError, FathomError) as error:
            job_run.error = str(error)
        if job_run.state != "stopped":
            job_run.state = "failed" if job_run.error or job_run.status else "done"
        job_run.ended = time.monotonic()

    def _began(self, job_run: _Started, step: list[str]) -> bool:
        """Starts a step, unless the job was stopped."""
        with self._lock:
            if job_run.state == "stopped":
                return False
            job_run.process = subprocess.Popen(
                step, cwd=job_run.folder, stdin=subprocess.DEVNULL, stdout=job_run.output, stderr=job_run.output,
                start_new_session=True,
            )  # fmt: skip
            job_run.state = "running" if step is job_run.steps[-1] else "building"
            return True

    def _steps(self, job_run: _Started) -> None:
        for step in job_run.steps:
            if not self._began(job_run, step):
                return
            assert job_run.process is not None
            job_run.status = job_run.process.wait()
            if job_run.status and step is not job_run.steps[-1]:
                job_run.error = "the build failed"
                return
        directory = job_run.folder / f"{job_run.name}.fathom"
        if directory.is_dir():
            job_run.opened = self._opens(directory)


def _steps(job: Job, selection: Path) -> list[list[str]]:
    own = str(paths.native_command())
    command = job.command(str(selection))
    steps = [job.build] if job.build else []
    return [*steps, [own, *command[1:]]]


def _nameless() -> IO[bytes]:
    """A file without a name, that goes when the job is forgotten."""
    return os.fdopen(os.memfd_create("fathom-output"), "w+b")


def _write(path: Path, text: str) -> None:
    """Never over a file that says something else, nor through a link."""
    try:
        if path.is_file() and not path.is_symlink() and path.read_bytes() == text.encode():
            return
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path} is there already: choose another name") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
