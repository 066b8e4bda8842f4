"""A program that is busy in every way that attaching might spoil goes on as before: attached and let go many times, and
when the engine that does it is killed at any of its steps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fathom.attach import attached, injector
from fathom.run import paths
from harness import busy, needs

#: More: bench/attach.py.
ROUNDS = 50
#: Twice for each system call that the loader and the library make in its name.
STOPS = 130
SPINS = "print(flush=True)\nwhile True: pass"
#: System calls by which the engine changes something, or learns of it.
STEPS = ("ptrace", "pwrite64", "wait4")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return busy.build("busy.cpp", tmp_path_factory.mktemp("busy"))


@pytest.mark.full
def test_attached_many_times(program: Path, tmp_path: Path) -> None:
    with busy.running(program) as process:
        for _ in range(ROUNDS):
            busy.attach_once(tmp_path, process.pid)
        assert "t" not in process.state()


def given_up(pid: int) -> int:
    """How often a process gave its processor up so far; where it only computes, it was stopped."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def test_it_is_stopped_few_times(tmp_path: Path) -> None:
    """It stands still for as long as that takes: milliseconds (bench/attach.py)."""
    program = [sys.executable, "-c", SPINS]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.readline()
            before = given_up(process.pid)
            settings = busy.attach(tmp_path, process.pid)
            assert 10 < given_up(process.pid) - before <= STOPS
        finally:
            process.kill()
    attached.discard(settings)


def test_a_sleep_goes_on_in_the_borrowed_thread(tmp_path: Path) -> None:
    """The kernel forgets how it goes on when another is made in the same thread."""
    words = [busy.build("naps.c", tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        for _ in range(5):
            busy.attach_once(tmp_path, process.pid)
        process.communicate(b"x")
    assert process.returncode == 7


#: Takes a processor for itself for a while, from when it says so.
HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print(flush=True)
until = time.monotonic() + 0.6
while time.monotonic() < until:
    pass
"""


def test_who_gets_no_processor_hears_nothing_of_it(tmp_path: Path) -> None:
    """A thread that is asked to stop, and comes to it only when all is done."""
    ours = os.sched_getaffinity(0)
    if len(ours) < 2:
        pytest.skip("one processor only")
    taken = str(max(ours))
    pipe = subprocess.PIPE
    words = [str(busy.build("starved.c", tmp_path)), taken]
    os.sched_setaffinity(0, ours - {int(taken)})
    try:
        with subprocess.Popen(words, stdin=pipe, stderr=pipe, text=True) as process:
            busy.attach_once(tmp_path, process.pid)
            with subprocess.Popen([sys.executable, "-c", HOG, taken], stdout=pipe) as hog:
                assert hog.stdout
                if not hog.stdout.readline():
                    pytest.skip("no right to real-time scheduling")
                injector.detach(
                    process.pid
                )  # of one that is detached: nothing waits for all its threads
            assert process.communicate("", timeout=300) == (None, "")
        assert process.returncode == 7
    finally:
        os.sched_setaffinity(0, ours)


def killed(pid: int, call: str, number: int, settings: str) -> bool:
    """An engine that is killed as it makes its n-th such system call; False: it came to its end before."""
    library = str(paths.library())
    inject = f"inject={call}:signal=KILL:when={number}"
    engine = [str(paths.engine()), "attach", str(pid), "--library", library]
    words = ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject, *engine]
    done = subprocess.run(words, input=settings, capture_output=True, text=True, check=False)
    return done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)


@pytest.mark.some(1)
@pytest.mark.parametrize("each", [3, pytest.param(1 << 30, marks=pytest.mark.full)])
@pytest.mark.parametrize("call", STEPS)
def test_an_engine_that_is_killed_leaves_it_whole(
    program: Path, tmp_path: Path, call: str, each: int
) -> None:
    """At the first steps, and at fewer of those behind them; long: at all. Ten by ten in a program of their own, so
    that the library is loaded anew. Who stood still in a system call may hear EINTR: nobody makes it again."""
    needs.require(["strace"])
    settings = attached.create(str(tmp_path / "run"), [])
    environment = "".join(f"{name}={value}\0" for name, value in settings.items())
    number, goes_on = 1, True
    while goes_on:
        with busy.running(program, "EINTR") as process:
            for _ in range(10):
                goes_on = killed(process.pid, call, number, environment)
                process.rounds()
                assert "t" not in process.state()
                number += 1 + number // each
                if not goes_on:
                    break
    assert number > 3
    attached.discard(settings)
