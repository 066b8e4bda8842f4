"""What it takes to bring Fathom into programs that run, and how long they stand still meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from fathom.errors import FathomError
from tools import FATHOM, ROOT, BenchError, Row, run, scratch

sys.path.insert(0, str(ROOT / "tests"))
from harness import busy

MOST = 2.0  # seconds for one process
STILL = 10.0  # ms that it stands still, where it has a processor for itself
RANKS = 4
#: Says when it runs, and at the end of its input the longest time in which it did not.
WATCHFUL = """
import select, sys, time
print("ready", flush=True)
last, longest = time.monotonic(), 0.0
while not select.select([sys.stdin], [], [], 0)[0]:
    now = time.monotonic()
    longest, last = max(longest, now - last), now
print(longest)
"""


@contextmanager
def watchful() -> Iterator[subprocess.Popen[str]]:
    """A program that looks at the clock all the time."""
    words = [sys.executable, "-c", WATCHFUL]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout
        if program.stdout.readline() != "ready\n":
            raise BenchError("the program to be attached did not start")
        try:
            yield program
        finally:
            program.kill()


def _still(count: int, meanwhile: Callable[[list[str]], object]) -> tuple[float, float]:
    """Seconds that something takes while so many programs run, and the longest that one of them stood still."""
    with ExitStack() as stack:
        programs = [stack.enter_context(watchful()) for _ in range(count)]
        began = time.monotonic()
        meanwhile([str(program.pid) for program in programs])
        seconds = time.monotonic() - began
        return seconds, max(float(program.communicate("")[0]) for program in programs)


def _attached(count: int) -> tuple[float, float, float]:
    """Seconds of the command, and the longest that a program stood still; of as long a time without it, too."""
    with scratch() as directory:
        seconds, still = _still(
            count, lambda pids: run([FATHOM, "attach", "-o", directory / "run", *pids])
        )
    return seconds, still, _still(count, lambda _: time.sleep(seconds))[1]


def _rounds(count: int) -> Row:
    """Rounds that a busy program takes before it finds something wrong, up to `count`."""
    done, error = 0, None
    with scratch() as directory:
        program = busy.build("busy.cpp", directory)
        try:
            with busy.running(program) as process:
                try:
                    for _ in range(count):
                        busy.attach_once(directory, process.pid)
                        done += 1
                except FathomError as caught:
                    raise AssertionError(f"{caught}; {process.last_words()}") from caught
        except AssertionError as caught:
            error = caught
            print(f"after {done} rounds: {error}", file=sys.stderr)
    what = "rounds of attach and detach, a busy program"
    return Row(what, done, "", target="all", met=error is None)


def rows(quick: bool) -> list[Row]:
    """The median of some times, alone and of all ranks of a node at once."""
    every_row = []
    for count in (1, RANKS):
        times = [_attached(count) for _ in range(3 if quick else 9)]
        seconds, still, bare = (
            sorted(column)[len(times) // 2] for column in zip(*times, strict=True)
        )
        what = "1 process" if count == 1 else f"each of {count} at once"
        each = seconds / count
        every_row.append(
            Row(f"attach {what}", each, "s", target=f"<= {MOST:g} s", met=each <= MOST)
        )
        still_row = Row(
            f"a program stands still, {what}", still * 1e3, "ms", bare * 1e3, still / bare
        )
        if count == 1:
            still_row.target, still_row.met = f"<= {STILL:g} ms", still * 1e3 <= STILL
        every_row.append(still_row)
    every_row.append(_rounds(int(os.environ.get("FATHOM_ATTACH_ROUNDS", "5" if quick else "500"))))
    return every_row
