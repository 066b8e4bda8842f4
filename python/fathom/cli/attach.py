"""fathom attach: record programs that run already.

Brings Fathom into live processes, all at once, and records from then on into a run directory, as
`fathom run` does. `fathom select` changes what, while they run; `fathom detach` ends it, and they
run on.

examples:
  fathom attach 4711 4712
  fathom attach --job 4700 -o slow_job
  fathom attach --job 4700 --select critical
  fathom attach --slurm 81234 -o slow_job
  fathom attach --name 's3d*' --level file --layers mpiio,posix
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fathom.attach import attached, forwarder, hidden, injector, kernel, nodes, target
from fathom.attach.injector import Answer, Status
from fathom.cli.arguments import add_what_is_recorded
from fathom.errors import FathomError, UsageError, printable
from fathom.run import control, manifest, paths
from fathom.run.directory import to_make
from fathom.run.filter import CRITICAL, asks_who_is_critical

#: Where Ceph's daemons have their admin sockets.
SOCKETS = "/var/run/ceph"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which processes, and what to record of them."""
    which = parser.add_argument_group("which programs, and into which run")
    which.add_argument("pids", metavar="PID", nargs="*", type=int, help="processes of this node")
    which.add_argument("--job", metavar="PID", type=int, help="all ranks below this mpiexec")
    which.add_argument("--name", metavar="GLOB", help="all of yours whose program is so named")
    which.add_argument(
        "--slurm",
        metavar="JOB",
        nargs="?",
        const="",
        help="all ranks of a job of Slurm (or JOB.STEP) on all of its nodes; without JOB: of the one we are in",
    )
    which.add_argument(
        "--here", action="store_true", help="this node's part: a launcher starts one on each"
    )
    which.add_argument("-o", "--output", metavar="NAME", help="run directory NAME.fathom")
    what = add_what_is_recorded(parser)
    what.add_argument(
        "--select", metavar="FILE", help="selection file (docs/selection.md), or critical"
    )
    what.add_argument("--budget", metavar="SIZE", help="most bytes of stream per process")
    beside = parser.add_argument_group("beside calls")
    beside.add_argument(
        "--ceph",
        metavar="DIR",
        nargs="?",
        const=SOCKETS,
        help="ask Ceph's storage daemons on this node what they do, by their admin sockets in DIR",
    )
    beside.add_argument(
        "--kernel",
        metavar="calls",
        nargs="?",
        const="",
        help="where the data of each call were: page cache or device (docs/kernel.md); =calls: static programs, too",
    )
    beside.add_argument("--mmap", choices=["dirty"], help="which pages of mapped files are written")


def run(arguments: argparse.Namespace) -> int:
    """Attaches all of them at once; says for each that could not be why."""
    if arguments.here and not arguments.output:
        raise UsageError("attach: --here: name the run that all nodes share by -o NAME")
    if arguments.slurm is not None:
        arguments.slurm = nodes.job_of(arguments.slurm)
    if arguments.ceph is not None:
        _take_ceph(arguments)
    if arguments.kernel is not None:
        _take_kernel(arguments)
    if arguments.kernel is not None and (arguments.here or arguments.slurm is not None):
        raise UsageError(
            "attach: --kernel stays beside the processes, and the launcher would end it: attach on their node by PID"
        )
    pids = _pids(arguments)
    return _on_this_node(arguments, pids) if pids else _everywhere(arguments)


def _unless_pid(arguments: argparse.Namespace, given: str, otherwise: str) -> str:
    """What an option has; a number behind it is a process: `--kernel PID`."""
    if not given.isdigit():
        return given
    arguments.pids.append(int(given))
    return otherwise


def _take_kernel(arguments: argparse.Namespace) -> None:
    arguments.kernel = _unless_pid(arguments, arguments.kernel, "")
    if arguments.kernel not in ("", "calls"):
        raise UsageError(f"attach: --kernel: no '{arguments.kernel}'; there is calls")


def _take_ceph(arguments: argparse.Namespace) -> None:
    if arguments.here or arguments.slurm is not None:
        raise UsageError(
            "attach: --ceph needs an agent, and the launcher would end it: attach on the node of the daemons by PID"
        )
    arguments.ceph = Path(_unless_pid(arguments, arguments.ceph, SOCKETS)).resolve()
    if not any(any(arguments.ceph.glob(name)) for name in ("*osd.*.asok", "*/*osd.*.asok")):
        raise UsageError(
            f"attach: --ceph: {arguments.ceph}: no admin socket of an OSD is there (osd.N.asok);"
            " on which node do the OSDs run?"
        )


def _everywhere(arguments: argparse.Namespace) -> int:
    """By a task on each node of the job. They agree on the run by their step of Slurm."""
    job = arguments.slurm
    name = arguments.output or attached.free(f"slurm{job}")
    directory = to_make(Path(name).absolute())
    if directory.exists():
        raise FathomError(f"{directory} exists; name another with -o, or remove it")
    words = ["attach", "--slurm", job, "--here", "-o", str(directory), *_options(arguments)]
    status = nodes.each(job, words)
    if not directory.exists():
        if status == 0:
            line = f"run directory {directory} on each node; `fathom pack` joins them"
            print(f"fathom: {line}", file=sys.stderr)
        if status == 0 and arguments.select == CRITICAL:
            line = "nobody says who is critical: name a run directory that all nodes see"
            print(f"fathom: {line}", file=sys.stderr)
            return 3
        return 3 if status else 0
    processes = manifest.attached(directory)
    if not processes:
        shutil.rmtree(directory, ignore_errors=True)
        return 3
    manifest.add(directory, processes)  # the nodes may have said it at the same moment
    if asks_who_is_critical(directory / "selection"):
        words = [*paths.module("fathom.attach.judge"), str(directory)]
        nodes.stay(job, words, directory / "judge.log")
    print(f"fathom: run directory {printable(directory)}", file=sys.stderr)
    return 3 if status else 0


def _on_this_node(arguments: argparse.Namespace, pids: Sequence[int]) -> int:
    if arguments.here:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))  # a launcher gives its tasks one
    library = paths.library()
    if library is None:
        raise FathomError("no libfathom.so beside this command; build it, or set FATHOM_LIB")
    targets, static, problems = _targets(pids, library, arguments.kernel == "calls")
    recorder = None
    if arguments.kernel is not None:
        recorder = kernel.Recorder([one.pid for one in targets], [one.pid for one in static])
    first = [*targets, *static][0]
    name = arguments.output or attached.free(first.program)
    join = ["--join"] if arguments.here else []
    settings = attached.create(name, [*join, *_options(arguments)])
    directory, node = Path(settings["FATHOM_RUN"]), control.Node(Path(settings["FATHOM_RING"]))
    if recorder:
        try:
            recorder.follow(directory, node.rings, library)
        except FathomError:
            attached.discard(settings)
            raise
    if (
        arguments.slurm is None
    ):  # else it would end with srun's step: _everywhere starts one that stays
        node.start_agent(directory, first.pid, arguments.ceph)
    with tempfile.TemporaryDirectory() as scratch:
        done, failed = _attach_all(targets, library, settings, _hidden(targets, Path(scratch)))
    for line in problems + failed:
        print(f"fathom: {line}", file=sys.stderr)
    if not done and not static:
        attached.discard(settings)
        return 3
    attached.note(directory, done, static)
    where = f" on {os.uname().nodename}" if arguments.here else ""
    count = len(done) + len(static)
    line = f"{count} of {count + len(problems + failed)} attached{where}"
    print(f"fathom: {line}", file=sys.stderr)
    if not arguments.here:
        print(f"fathom: run directory {printable(directory)}", file=sys.stderr)
    return 3 if problems or failed else 0


def _pids(arguments: argparse.Namespace) -> list[int]:
    """Of this node; none: they are on several."""
    named = (arguments.job, arguments.name, arguments.slurm)
    if bool(arguments.pids) + sum(way is not None for way in named) != 1:
        raise UsageError(
            "attach: name processes by PID…, by --job PID, by --name GLOB or by --slurm JOB"
        )
    if arguments.slurm is not None:
        return target.of_slurm(arguments.slurm) if arguments.here else []
    if arguments.job is not None:
        return target.of_job(arguments.job)
    return target.named(arguments.name) if arguments.name else sorted(set(arguments.pids))


def _targets(
    pids: Sequence[int], library: Path, by_kernel: bool
) -> tuple[list[target.Target], list[target.Target], list[str]]:
    """Those that can be; static ones, where the kernel tells of their calls; a line for each that cannot."""
    good, static, problems = [], [], []
    for pid in pids:
        try:
            process = target.find(pid)
            if forwarder.is_one(process):
                forwarder.socket(process)
            else:
                target.check(process, library)
            good.append(process)
        except target.StaticError as error:
            if by_kernel:
                static.append(process)
            else:
                problems.append(str(error))
        except FathomError as error:
            problems.append(str(error))
    if not good and not static:
        raise FathomError("\nfathom: ".join(problems))
    return good, static, problems


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
    for process in targets:
        if forwarder.is_one(process):
            continue
        with contextlib.suppress(OSError):  # ended meanwhile: to be said when it is attached
            about = Path(f"/proc/{process.pid}/exe").stat()
            by_program.setdefault((about.st_dev, about.st_ino), []).append(process)
    prepared: dict[int, Path] = {}
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
        prepared |= {process.pid: output for process in same if output.exists()}
    return prepared


def _attach_all(
    targets: Sequence[target.Target],
    library: Path,
    settings: dict[str, str],
    jumps: dict[int, Path],
) -> tuple[list[target.Target], list[str]]:
    def answer(wanted: target.Target) -> Answer:
        if forwarder.is_one(wanted):
            return forwarder.attach(wanted, [f"{name}={value}" for name, value in settings.items()])
        also = {"FATHOM_HIDDEN": str(jumps[wanted.pid])} if wanted.pid in jumps else {}
        words = settings | wanted.variables | also
        given = [f"{name}={value}" for name, value in words.items()]
        return injector.attach(wanted.pid, library, given)

    def one(wanted: target.Target) -> str:
        try:
            return _refused(wanted.pid, answer(wanted))
        except FathomError as error:
            return str(error)

    most = max(1, min(len(targets), 4 * (os.cpu_count() or 1)))
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
        return f"process {pid} does not take {paths.library()}"
    return ""
