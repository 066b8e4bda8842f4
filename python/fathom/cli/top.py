"""fathom top: what a run does right now, while it runs.

A number is a process, whose run is meant, also an attached one. Without RUN: the run that runs on this node, or a list
when there are several.
On a terminal keys switch: l layer, o function, f file, r rank, s line, TAB the next, q quit.

examples:
  fathom top s3d.1
  fathom top s3d.1 --by file --interval 5
  fathom top 4711
  fathom top s3d.1 --once --by line
  fathom top s3d.1 --json | jq .in_flight
"""

import argparse
import contextlib
import os
import sys
import termios
import time
import tty
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.live import Live

from fathom.analysis.live import BY
from fathom.cli.arguments import positive
from fathom.errors import NotARun, RunError, UsageError
from fathom.pages.live import Frame
from fathom.run import control, live
from fathom.run.directory import resolve
from fathom.text.tables import on_terminal, printable

PIPE_WIDTH = 160  # of a table that goes into a file


def _interval(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"'{word}' is no number of seconds from 0.05 to 86400")
    return seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, how often to look, and what to show."""
    parser.add_argument(
        "run", metavar="RUN|PID", nargs="?", help="run directory, NAME or NAME.fathom, or a process"
    )
    parser.add_argument(
        "--by", choices=BY, default="layer", help="what calls are grouped by [layer]"
    )
    parser.add_argument(
        "--interval",
        type=_interval,
        default=1.0,
        metavar="SECONDS",
        help="seconds between looks [1]",
    )
    parser.add_argument("--top", type=positive, metavar="N", help="most rows of the table")
    parser.add_argument("--once", action="store_true", help="one look at all so far, then the end")
    parser.add_argument(
        "--wait", action="store_true", help="the run need not be there yet: wait for it"
    )
    parser.add_argument("--json", action="store_true", help="one object per look, raw numbers")


def run(arguments: argparse.Namespace) -> int:
    """Looks until the run is over."""
    directory = _the_run(arguments.run, arguments.wait)
    options = ["--interval", str(arguments.interval)] + (["--once"] if arguments.once else [])
    with live.Watch(directory, *options) as watch:
        if arguments.json:
            _print_lines(watch)
        elif on_terminal(sys.stdout) and not arguments.once:
            _on_screen(watch, Frame(directory.stem, arguments.by, arguments.top, keys=True))
        else:
            _print_frames(watch, Frame(directory.stem, arguments.by, arguments.top or 20))
    return 0


def _the_run(name: str | None, wait: bool) -> Path:
    while name is None:
        runs = live.runs_here()
        if len(runs) == 1:
            return runs[0]
        if runs:
            names = "\n".join(f"  {printable(str(path))}" for path in runs)
            raise UsageError(f"top: several runs run here; name one:\n{names}")
        if not wait:
            raise RunError("top: no run of yours runs on this node; name one, or add --wait")
        time.sleep(0.2)
    while wait:
        with contextlib.suppress(NotARun):
            return resolve(name)
        time.sleep(0.2)
    return control.named(name, "top")


def _print_lines(watch: live.Watch) -> None:
    for line in watch.lines():
        assert line is not None
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


def _console() -> Console:
    width = None if on_terminal(sys.stdout) else PIPE_WIDTH
    return Console(no_color=bool(os.environ.get("NO_COLOR")), highlight=False, width=width)


def _print_frames(watch: live.Watch, frame: Frame) -> None:
    console = _console()
    for line in watch.lines():
        assert line is not None
        frame.course.add(live.parse(line))
        console.print(frame)
        if not frame.course.look["last"]:
            console.print()
        sys.stdout.flush()


@contextlib.contextmanager
def _keys() -> Iterator[int | None]:
    """The terminal's descriptor, keys coming at once; None: standard input is none."""
    if not sys.stdin.isatty():
        yield None
        return
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard)
        yield keyboard
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _on_screen(watch: live.Watch, frame: Frame) -> None:
    console = _console()
    with (
        _keys() as keyboard,
        Live(frame, console=console, screen=True, auto_refresh=False) as screen,
    ):
        screen.refresh()
        for line in watch.lines(keyboard):
            if line is not None:
                frame.course.add(live.parse(line))
            elif keyboard is not None and not all(
                frame.press(key) for key in os.read(keyboard, 64).decode(errors="replace")
            ):
                break
            screen.refresh()
    frame.keys = False
    frame.rows = frame.rows or 20
    console.print(frame)
