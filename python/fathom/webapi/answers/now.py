"""`now`: what a run that still runs does at this moment, as `fathom top` tells it."""

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from fathom.analysis.live import BY, Course
from fathom.analysis.selection import Selection
from fathom.errors import FathomError
from fathom.run import live, manifest
from fathom.webapi.answers import answer
from fathom.webapi.answers.session import Runs, View
from fathom.webapi.answers.table import Table

INTERVAL = "2"  # seconds between two looks
MOST = 20  # groups of a table: those that are busiest
PATIENCE = 5.0  # seconds for `fathom run` to write how the program ended
COLUMNS = (
    ("calls per second", "count"), ("bytes per second", "bytes/s"), ("threads in calls", "count"),
    ("calls", "count"), ("bytes", "bytes"), ("time", "s"), ("errors", "count"),
)  # fmt: skip


class Follower:
    """Looks at one run until it is over, then has it opened again: packed, with all that it did."""

    def __init__(self, runs: Runs, name: str, ready: Callable[[View], None]) -> None:
        """`ready`: what is to be made of a run that was opened anew before others see it."""
        self.runs, self.name, self.ready = runs, name, ready
        self.course = Course()
        self._opening = threading.Lock()

    def start(self) -> None:
        """In a thread that ends with the program."""
        self.runs.followers[self.name] = self
        threading.Thread(target=self._follow, daemon=True).start()

    def again(self) -> None:
        """Opens the run anew: with what has come into its files by now. Errors: `fathom.errors.RunError`."""
        with self._opening:
            if self.name in self.runs.followers:
                self.runs.renew(self.name, self.ready, is_over=False)

    def _follow(self) -> None:
        with contextlib.suppress(FathomError):  # who cannot look sees the run as it was opened
            self._look()
            with self._opening:
                self.runs.followers.pop(self.name)
                self.runs.renew(self.name, self.ready, is_over=True)

    def _look(self) -> None:
        path = self.runs.all[self.name].run.path
        with live.Watch(path, "--interval", INTERVAL) as watch:
            for line in watch.lines():
                assert line is not None
                self.course.add(live.parse(line))
                self.runs.all[self.name].now = figures(self.course)
        until = time.monotonic() + PATIENCE
        while "exit" not in manifest.read(path) and time.monotonic() < until:
            time.sleep(0.1)


def figures(course: Course) -> dict[str, Any]:
    """The last look and the sums of all: docs/view-api.md, `now`."""
    look = course.look
    interval = max(look["interval_seconds"], 1e-9)
    return {
        "time": int(look["time"] * 1e9),
        "processes": look["processes"],
        "calls": course.calls_total(),
        "bytes": course.bytes_total(),
        "calls per second": course.calls_now() / interval,
        "bytes per second": course.bytes_now() / interval,
        "rates": list(course.rates),
        "interval": interval,
        "groups": {by: _table(course, by, interval) for by in BY},
    }


def _table(course: Course, by: str, interval: float) -> Table:
    every = course.busiest(by)
    rows = [
        [
            line.name, line.now.calls / interval, line.now.bytes / interval, round(line.threads, 3),
            line.total.calls, line.total.bytes, line.total.seconds, line.total.errors,
        ]
        for line in every[:MOST]
    ]  # fmt: skip
    return Table([(by, "text"), *COLUMNS], rows, len(every))


@answer("now")
def now(view: View, _: Selection) -> dict[str, Any]:
    """`generation` counts up when what all other answers say has changed; `as of`: when what they say was read; `now`:
    null when the run is over."""
    return {"generation": view.runs.generation, "as of": view.opened.at, "now": view.opened.now}


@answer("again")
def again(view: View, _: Selection) -> dict[str, Any]:
    """Reads a run that still runs again; one that is over was read whole. `took`: seconds."""
    began, name = time.monotonic(), view.opened.name
    if follower := view.runs.followers.get(name):
        follower.again()
    now_open = view.runs.all[name]
    return {
        "generation": view.runs.generation,
        "as of": now_open.at,
        "took": time.monotonic() - began,
    }
