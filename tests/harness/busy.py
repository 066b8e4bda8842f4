"""A program that is busy in every way that attaching might spoil (tests/attach/busy.cpp), attached and let go."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.attach import attached, injector
from fathom.attach.injector import Status
from fathom.run.paths import library

from . import needs, paths

SOURCES = paths.ROOT / "tests" / "attach"


def build(name: str, place: Path) -> Path:
    """Builds one of the programs of tests/attach."""
    source = SOURCES / name
    compiler = "c++" if source.suffix == ".cpp" else "cc"
    needs.require([compiler])
    program = place / source.stem
    words = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-lpthread"]
    subprocess.run(words, check=True)
    return program


class Busy:
    """busy.cpp, running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.pid = process, process.pid

    def rounds(self) -> int:
        """How many it has made by now. Fails when it has found something wrong."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("x")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.last_words()
        return int(line)

    def last_words(self) -> str:
        """Of one that has found something wrong: how it ended, and what it said of it."""
        self.process.kill()  # nothing to one that has ended
        errors = self.process.communicate()[1]
        return f"exit status {self.process.returncode}: {errors.strip()}"

    def goes_on(self) -> None:
        """All of its threads have found nothing wrong for a while."""
        until = self.rounds() + 2000
        while self.rounds() < until:
            pass

    def state(self) -> str:
        """Of all threads: T and t are those that stand still."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/stat")
        return "".join(path.read_text().rpartition(")")[2].split()[0] for path in tasks)


@contextmanager
def running(program: Path, *arguments: str) -> Iterator[Busy]:
    pipe = subprocess.PIPE
    words = [str(program), *arguments]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            busy = Busy(process)
            busy.goes_on()
            yield busy
            busy.goes_on()
            _, errors = process.communicate(timeout=300)
            assert (errors, process.returncode) == ("", 7)
        finally:
            process.kill()


def attach(place: Path, pid: int) -> dict[str, str]:
    """Attached, to a run in `place`; gives the run's settings."""
    settings = attached.create(str(place / "run"), [])
    recorder = library()
    assert recorder
    words = [f"{name}={value}" for name, value in settings.items()]
    assert injector.attach(pid, recorder, words).status is Status.DONE
    return settings


def attach_once(place: Path, pid: int) -> None:
    """Attached, recorded for a moment, let go."""
    settings = attach(place, pid)
    assert injector.detach(pid).status is Status.DONE
    attached.discard(settings)
    shutil.rmtree(place / "run.fathom", ignore_errors=True)
