"""A program that is busy in every way that attaching might spoil goes on as before: attached and let go many times, and
when the engine that does it is killed at any of its steps."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fathom import places
from fathom.attach import attached, injector
from fathom.attach.injector import Status
from harness import needs

HERE = Path(__file__).parent
ROUNDS = int(os.environ.get("FATHOM_ATTACH_ROUNDS", "50"))
#: System calls by which the engine changes something, or learns of it.
STEPS = ("ptrace", "pwrite64", "wait4")


def build(source: Path, place: Path) -> Path:
    compiler = "c++" if source.suffix == ".cpp" else "cc"
    needs.require([compiler])
    program = place / source.stem
    words = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-lpthread"]
    subprocess.run(words, check=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(HERE / "busy.cpp", tmp_path_factory.mktemp("busy"))


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
        assert line, f"it ended: {self.process.communicate()[1]}"
        return int(line)

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
            _, errors = process.communicate(timeout=120)
            assert (errors, process.returncode) == ("", 7)
        finally:
            process.kill()


def once(place: Path, pid: int) -> None:
    """Attached, recorded for a moment, let go."""
    settings = attached.create(str(place / "run"), [])
    library = places.library()
    assert library
    told = [f"{name}={value}" for name, value in settings.items()]
    assert injector.attach(pid, library, told).status is Status.DONE
    assert injector.detach(pid).status is Status.DONE
    attached.discard(settings)
    shutil.rmtree(place / "run.fathom", ignore_errors=True)


def test_attached_many_times(program: Path, tmp_path: Path) -> None:
    with running(program) as busy:
        for _ in range(ROUNDS):
            once(tmp_path, busy.pid)
        assert "t" not in busy.state()


def test_a_sleep_goes_on_in_the_borrowed_thread(tmp_path: Path) -> None:
    """The kernel forgets how it goes on when another is made in the same thread."""
    words = [build(HERE / "naps.c", tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        for _ in range(5):
            once(tmp_path, process.pid)
        process.communicate(b"x")
    assert process.returncode == 7


def killed(pid: int, call: str, number: int, settings: str) -> bool:
    """An engine that is killed as it makes its n-th such system call; False: it came to its end before."""
    library = str(places.library())
    inject = f"inject={call}:signal=KILL:when={number}"
    engine = [str(places.engine()), "attach", str(pid), "--library", library]
    words = ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject, *engine]
    done = subprocess.run(words, input=settings, capture_output=True, text=True, check=False)
    return done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)


@pytest.mark.parametrize("each", [3, pytest.param(1 << 30, marks=pytest.mark.full)])
@pytest.mark.parametrize("call", STEPS)
def test_an_engine_that_is_killed_leaves_it_whole(
    program: Path, tmp_path: Path, call: str, each: int
) -> None:
    """At the first steps, and at fewer of those behind them; long: at all. Ten by ten in a program of their own, so
    that the library is loaded anew. Who stood still in a system call may hear EINTR: nobody makes it again."""
    needs.require(["strace"])
    settings = attached.create(str(tmp_path / "run"), [])
    told = "".join(f"{name}={value}\0" for name, value in settings.items())
    number, goes_on = 1, True
    while goes_on:
        with running(program, "EINTR") as busy:
            for _ in range(10):
                goes_on = killed(busy.pid, call, number, told)
                busy.rounds()
                assert "t" not in busy.state()
                number += 1 + number // each
                if not goes_on:
                    break
    assert number > 3
    attached.discard(settings)
