"""fathom attach: record programs that run already.

Brings Fathom into live processes, all at once, and records from then on into a run directory, as
`fathom run` does. `fathom detach` ends it; the programs run on.

examples:
  fathom attach 4711 4712
  fathom attach --job 4700 -o slow_job
  fathom attach --job 4700 --select critical
  fathom attach --name 's3d*' --level file --layers mpiio,posix
"""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fathom import control, places, selection
from fathom.attach import attached, hidden, injector, target
from fathom.attach.injector import Answer, Status
from fathom.errors import FathomError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which processes, and what to record of them."""
    parser.add_argument("pids", metavar="PID", nargs="*", type=int, help="processes of this node")
    parser.add_argument("--job", metavar="PID", type=int, help="all ranks below this mpiexec")
    parser.add_argument("--name", metavar="GLOB", help="all of yours whose program is so named")
    parser.add_argument("-o", metavar="NAME", dest="output", help="run directory NAME.fathom")
    parser.add_argument("--level", choices=selection.LEVELS, help="how finely (default: call)")
    parser.add_argument("--layers", metavar="LIST", help="layers, or +LAYER, -LAYER as in run")
    parser.add_argument(
        "--files", metavar="GLOB", action="append", default=[], help="only these; !GLOB: not these"
    )
    parser.add_argument(
        "--select", metavar="FILE", help="selection file (docs/selection.md), or critical"
    )
    parser.add_argument("--budget", metavar="SIZE", help="most bytes of stream per process")
    parser.add_argument("--mmap", choices=["dirty"], help="which pages of mapped files are written")


def run(arguments: argparse.Namespace) -> int:
    """Attaches all of them at once; says for each that could not be why."""
    injector.gdb()
    library = places.library()
    if library is None:
        raise FathomError("no libfathom.so beside this command; build it, or set FATHOM_LIB")
    targets, problems = _targets(_pids(arguments), library)
    settings = attached.create(arguments.output, targets[0].program, _options(arguments))
    directory = Path(settings["FATHOM_RUN"])
    with tempfile.TemporaryDirectory() as scratch:
        done, failed = _attach_all(targets, library, settings, _hidden(targets, Path(scratch)))
    for line in problems + failed:
        print(f"fathom: {line}", file=sys.stderr)
    if not done:
        attached.discard(settings)
        return 3
    attached.note(directory, done)
    control.Node(Path(settings["FATHOM_RING"])).judge(directory, done[0].pid)
    print(f"fathom: {len(done)} of {len(done) + len(problems + failed)} attached", file=sys.stderr)
    print(f"fathom: run directory {directory}", file=sys.stderr)
    return 3 if problems or failed else 0


def _pids(arguments: argparse.Namespace) -> list[int]:
    ways = [bool(arguments.pids), arguments.job is not None, arguments.name is not None]
    if sum(ways) != 1:
        raise UsageError("attach: name processes by PID…, by --job PID or by --name GLOB")
    if arguments.job is not None:
        return target.of_job(arguments.job)
    return target.named(arguments.name) if arguments.name else sorted(set(arguments.pids))


def _targets(pids: Sequence[int], library: Path) -> tuple[list[target.Target], list[str]]:
    """Those that can be; a line for each that cannot."""
    good, problems = [], []
    for pid in pids:
        try:
            one = target.find(pid)
            target.check(one, library)
            good.append(one)
        except FathomError as error:
            problems.append(str(error))
    if not good:
        raise FathomError("\nfathom: ".join(problems))
    return good, problems


def _options(arguments: argparse.Namespace) -> list[str]:
    """As `fathom env` takes them."""
    words = []
    for name in ("level", "layers", "select", "budget", "mmap"):
        value = getattr(arguments, name)
        words += [f"--{name}", value] if value else []
    for glob in arguments.files:
        words += ["--files", glob]
    return words


def _hidden(targets: Sequence[target.Target], scratch: Path) -> dict[int, Path]:
    """By process, what has to be written so that libraries that were linked into its program are seen."""
    by_program: dict[tuple[int, int], list[target.Target]] = {}
    for one in targets:
        with contextlib.suppress(OSError):  # ended meanwhile: to be said when it is attached
            about = Path(f"/proc/{one.pid}/exe").stat()
            by_program.setdefault((about.st_dev, about.st_ino), []).append(one)
    found: dict[int, Path] = {}
    for number, same in enumerate(by_program.values()):
        output = scratch / str(number)
        try:
            linked = hidden.prepare(Path(f"/proc/{same[0].pid}/exe"), output)
        except (OSError, FathomError) as error:
            print(f"fathom: {same[0].program}: {error}", file=sys.stderr)
            continue
        for library, count in linked.items():
            line = f"fathom: {same[0].program}: {count} functions of {library}, which is linked in"
            print(line, file=sys.stderr)
        found |= {one.pid: output for one in same if output.exists()}
    return found


def _attach_all(
    targets: Sequence[target.Target],
    library: Path,
    settings: dict[str, str],
    jumps: dict[int, Path],
) -> tuple[list[target.Target], list[str]]:
    def one(wanted: target.Target) -> str:
        also = {"FATHOM_HIDDEN": str(jumps[wanted.pid])} if wanted.pid in jumps else {}
        words = settings | wanted.variables | also
        given = [f"{name}={value}" for name, value in words.items()]
        try:
            return _refused(wanted.pid, injector.attach(wanted.pid, library, given))
        except FathomError as error:
            return str(error)

    most = min(len(targets), 4 * (os.cpu_count() or 1))
    with ThreadPoolExecutor(max_workers=most) as pool:
        lines = list(pool.map(one, targets))
    done = [wanted for wanted, line in zip(targets, lines, strict=True) if not line]
    return done, [line for line in lines if line]


def _refused(pid: int, answer: Answer) -> str:
    """Empty when it was not."""
    if answer.status is Status.RECORDED_ALREADY:
        return (
            f"process {pid} is recorded already, in {answer.run};"
            " `fathom select` changes what, `fathom detach` ends it"
        )
    if answer.status is Status.LEFT_OUT:
        return f"process {pid} runs a launcher or a shell, which only pass things on"
    if answer.status is Status.REFUSED:
        return f"process {pid} does not take {places.library()}"
    return ""
