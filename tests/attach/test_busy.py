"""A program that is busy in every way that attaching might spoil goes on as before: attached and let go many times, and
when the engine that does it is killed at any of its steps."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from fathom import places
from fathom.attach import attached
from harness import busy, needs

#: More: bench/attach.py.
ROUNDS = 50
#: System calls by which the engine changes something, or learns of it.
STEPS = ("ptrace", "pwrite64", "wait4")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return busy.build("busy.cpp", tmp_path_factory.mktemp("busy"))


def test_attached_many_times(program: Path, tmp_path: Path) -> None:
    with busy.running(program) as process:
        for _ in range(ROUNDS):
            busy.attach_once(tmp_path, process.pid)
        assert "t" not in process.state()


def test_a_sleep_goes_on_in_the_borrowed_thread(tmp_path: Path) -> None:
    """The kernel forgets how it goes on when another is made in the same thread."""
    words = [busy.build("naps.c", tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        for _ in range(5):
            busy.attach_once(tmp_path, process.pid)
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
        with busy.running(program, "EINTR") as process:
            for _ in range(10):
                goes_on = killed(process.pid, call, number, told)
                process.rounds()
                assert "t" not in process.state()
                number += 1 + number // each
                if not goes_on:
                    break
    assert number > 3
    attached.discard(settings)
