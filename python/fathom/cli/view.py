"""fathom view: runs in a web browser: overview, heat map, timeline, calls through all layers, files, servers, SQL.

Serves the page to you alone, on this machine: at a free port of 127.0.0.1 with a link that works once, or at a socket
that only you can open. From another machine, type the ssh line that it prints and open the link there. Ctrl-C ends it.

examples:
  fathom view s3d.1
  fathom view s3d.1 s3d.2
  fathom view s3d.1 --no-browser --port 8080
  fathom view s3d.1 --socket ~/.fathom.sock
  fathom view s3d.1 --prepare          # at the end of a job: the first opening of a large run is as quick as any
  fathom view s3d.1 --prepare --cluster scheduler.json     # pictures made by the workers of a Dask cluster
  fathom view --generate solver.c      # the form of fathom generate: parallel I/O for this program; needs no run
  fathom view --generate solver.c --allow-write
  fathom view vpic.tune                # what fathom tune tried, as pictures; needs no run
  fathom view /lake                    # all jobs of a centre, as fathom collect keeps them; needs no run
"""

import argparse
import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from fathom.cli.arguments import newest_run
from fathom.codegen.generate.command import text_of
from fathom.errors import FathomError, UsageError, printable
from fathom.run import cluster, lake, live
from fathom.run.where import FORMS
from fathom.tune.search.ledger import SUFFIX
from fathom.webapi.answers import ask
from fathom.webapi.answers.centre import OpenLake
from fathom.webapi.answers.generate import Program
from fathom.webapi.answers.now import Follower
from fathom.webapi.answers.session import Gone, Runs, Stop
from fathom.webapi.answers.tile import prepare
from fathom.webapi.report.requests import Request, pictures, whole
from fathom.webapi.serve import listen
from fathom.webapi.serve.application import AGAIN, application
from fathom.webapi.serve.connections import server
from fathom.webapi.serve.guard import Keys
from fathom.webapi.serve.page import NOT_BUILT, page

#: `--generate` without a source.
NO_SOURCE = Path()
#: Of more calls than this no screen is there at once, unless it was worked out before it is asked for.
LARGE = 1_000_000


def _port(word: str) -> int:
    if not (word.isascii() and word.isdigit() and 0 < int(word) < 65536):
        raise argparse.ArgumentTypeError(f"'{word}' is no port from 1 to 65535")
    return int(word)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN…, where to listen."""
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="*",
        help="run directories: NAME or NAME.fathom (default: the newest one here); searches of fathom tune: NAME.tune;"
        " lakes of fathom collect",
    )
    parser.add_argument(
        "--generate", metavar="SOURCE", type=Path, nargs="?", const=NO_SOURCE,
        help="open the form of fathom generate, with this program; RUN may be left out",
    )  # fmt: skip
    parser.add_argument(
        "--allow-write", action="store_true", help="let the form write into SOURCE and beside it"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--port", type=_port, metavar="N", help="port of 127.0.0.1 (default: any free one)"
    )
    where.add_argument(
        "--socket", type=Path, metavar="PATH", help="a socket of your own instead of a port"
    )
    where.add_argument(
        "--prepare", action="store_true", help="only work out what the page begins with, and end"
    )
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help=f"with --prepare: pictures are made by the workers of a Dask cluster: {FORMS}",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="open no browser, print the link only"
    )


def _start_browser(bound: socket.socket, link: str) -> Path | None:
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not has_screen or bound.family != socket.AF_INET:
        return None
    return listen.open_browser(link)


def _program(arguments: argparse.Namespace) -> Program | None:
    """What the form opens; None: no form was asked for. Errors: UsageError."""
    source: Path | None = arguments.generate
    has_source = source is not None and source != NO_SOURCE
    if arguments.allow_write and not has_source:
        raise UsageError("view: --allow-write: beside which program? Add --generate SOURCE")
    if source is None:
        return None
    if not has_source:
        return Program(None, False)
    text_of(source)  # what cannot be read is said here
    return Program(source.resolve(), arguments.allow_write)


class Ahead:
    """Works out what takes long before it is asked for: the first screen; what pictures are drawn from; what the other
    screens of a large run begin with; and last, since it takes longest, what loses time."""

    def __init__(self, runs: Runs, say: Callable[[str], None] = lambda _: None) -> None:
        """`say` is told what is being worked out, and what could not be."""
        self._runs, self._say, self._stop = runs, say, Stop()
        self._thread = threading.Thread(target=self.work, daemon=True)

    def start(self) -> None:
        """Beside everything else."""
        self._thread.start()

    def work(self) -> int:
        """How much could not be worked out."""
        failed = 0
        for name in list(self._runs.all):
            for what, make in self._steps(name):
                self._say(f"{name}: {what}")
                try:
                    make()
                except FathomError as error:
                    failed += 1
                    self._say(f"{name}: {what}: {error}")
        return failed

    def _steps(self, name: str) -> Iterator[tuple[str, Callable[[], object]]]:
        yield self._request(Request("overview", {"run": name}))
        view = self._runs.view(name, self._stop)
        yield "tiles", partial(prepare, view)
        if view.opened.calls > LARGE:
            yield "calls in the order of time", partial(view.opened.sort, self._stop)
            for request in (*whole(name, {}), *pictures(name)):
                yield self._request(request)
        for what in ("account", "findings"):
            yield self._request(Request(what, {"run": name}))

    def _request(self, request: Request) -> tuple[str, Callable[[], object]]:
        return request.name, partial(ask, self._runs, request.name, request.parameters, self._stop)

    def end(self) -> None:
        """A statement that begins in between is not missed."""
        while self._thread.is_alive():
            self._stop.now(Gone("the server ends"))
            self._thread.join(AGAIN)


def _tell(text: str) -> None:
    print(f"fathom: {printable(text)}", file=sys.stderr, flush=True)


def _prepare(runs: Runs, where: str | None) -> int:
    """Works out and keeps what the page begins with, pictures by workers there; the exit status."""
    for opened in runs.all.values():
        tables = opened.run.path / "tables"
        if opened.run.unpacked or not os.access(tables, os.W_OK):
            raise UsageError(
                f"view: {opened.name}: its tables cannot be added to: --prepare needs a run directory of yours"
            )
    if where is None:
        return 1 if Ahead(runs, _tell).work() else 0
    with cluster.workers(where) as workers:
        for opened in runs.all.values():
            opened.run.workers = workers
        failed = Ahead(runs, _tell).work()
        _tell(workers.summary())
    return 1 if failed else 0


def _follow(runs: Runs) -> None:
    """Looks on at runs that still run here."""
    running = set(live.runs_here())
    for name, opened in runs.all.items():
        if opened.run.path in running:
            Follower(runs, name, prepare).start()


def _first(runs: Runs) -> str:
    """The screen that is opened first; none: the page's own choice."""
    if runs.program is not None:
        return "generate"
    if runs.lakes and not runs.all:
        return "centre"
    return "tune" if runs.searches and not runs.all else ""


def run(arguments: argparse.Namespace) -> int:
    """Serves until it is interrupted."""
    program = _program(arguments)
    if program is not None and arguments.prepare and not arguments.runs:
        raise UsageError("view: --prepare of which run? name it")
    if arguments.cluster is not None and not arguments.prepare:
        raise UsageError("view: --cluster goes with --prepare: it makes the pictures, and ends")
    if not arguments.runs and program is None:
        arguments.runs = [newest_run()]
    searches = [path for path in arguments.runs if Path(path).suffix == SUFFIX]
    lakes = [path for path in arguments.runs if lake.is_lake(Path(path))]
    runs = Runs(path for path in arguments.runs if path not in (*searches, *lakes))
    for path in searches:
        runs.add_search(Path(path).absolute())
    for path in lakes:
        runs.lakes[str(Path(path))] = OpenLake(Path(path))
    runs.program = program
    if arguments.prepare:
        return _prepare(runs, arguments.cluster)
    _follow(runs)
    if arguments.socket is not None and not arguments.socket.parent.is_dir():
        raise UsageError(f"view: {arguments.socket.parent} is no directory")
    at_path = arguments.socket
    bound = listen.on_socket(at_path) if at_path else listen.on_port(arguments.port or 0)
    link = partial(listen.link, bound, screen=_first(runs))
    keys = Keys(announce=lambda token: print(link(token), flush=True))
    if page() is None:
        print(f"fathom: {NOT_BUILT}; answers are served all the same", file=sys.stderr)
    print(f"fathom: from another machine: {listen.tunnel(bound)}", file=sys.stderr)
    print("fathom: open this link; each works once. Ctrl-C ends", file=sys.stderr)
    print(link(keys.token), flush=True)
    ahead = Ahead(runs)
    ahead.start()
    behind = [at_path, None if arguments.no_browser else _start_browser(bound, link(keys.token))]
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server(application(runs, keys)).run(sockets=[bound])
    finally:
        ahead.end()
        for left in filter(None, behind):
            left.unlink(missing_ok=True)
    return 0
