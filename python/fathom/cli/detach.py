"""fathom detach: end what `fathom attach` began; the programs run on.

The run is closed once none is left in it. To record less, and go on: `fathom select RUN --level off`.

examples:
  fathom detach s3d.1
  fathom detach 4711 4712
  fathom detach --slurm 81234 /local/slow_job
"""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fathom.attach import attached, forwarder, injector, nodes, target
from fathom.attach.injector import Status
from fathom.errors import FathomError, UsageError, printable
from fathom.run import manifest
from fathom.run.directory import resolve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A run, or some of its processes."""
    parser.add_argument("what", metavar="RUN|PID", nargs="+", help="a run, or processes")
    nodes_ = parser.add_argument_group("of a job on several nodes")
    nodes_.add_argument(
        "--slurm", metavar="JOB", help="a run that each node of this job has on a disk of its own"
    )
    nodes_.add_argument("--here", action="store_true", help="on this node only")


def run(arguments: argparse.Namespace) -> int:
    """Ends recording in each process, and closes a run that none is left in."""
    if arguments.slurm:
        return _each(nodes.job_of(arguments.slurm), _one(arguments.what))
    if not all(word.isdigit() for word in arguments.what):
        directory = resolve(_one(arguments.what))
        others = [] if arguments.here else attached.elsewhere(directory)
        content = manifest.read(directory)
        if others and content.get("launcher") == "slurm":
            return _everywhere(directory, content["job"])
        if arguments.here and not attached.is_here(directory):
            return 0  # a node of the job that none of its ranks is on
        if others and not attached.is_here(directory):
            raise UsageError(f"detach: {directory}: {_elsewhere(others)}")
        if others:
            print(f"fathom: {_elsewhere(others)}", file=sys.stderr)
    return _on_this_node(arguments.what, f" on {os.uname().nodename}" if arguments.here else "")


def _elsewhere(others: list[str]) -> str:
    return f"attached on {', '.join(others)} as well: give the command there, by the launcher"


def _each(job: str, run: str) -> int:
    return 3 if nodes.each(job, ["detach", "--here", run]) else 0


def _everywhere(directory: Path, step: str) -> int:
    status = _each(step.partition(".")[0], str(directory))
    manifest.add(directory, manifest.attached(directory))  # they may have said it at one moment
    print(f"fathom: run directory {printable(directory)}", file=sys.stderr)
    return status


def _one(words: list[str]) -> str:
    if len(words) != 1:
        raise UsageError("detach: name one run, or processes by their numbers")
    return words[0]


def _on_this_node(what: list[str], where: str) -> int:
    """`where`: which node's part of a run this is; empty: it is all."""
    runs, pids = _chosen(what)
    with ThreadPoolExecutor(max_workers=max(1, len(pids))) as pool:
        results = list(pool.map(_detach, pids))
    for _, line in results:
        if line:
            print(f"fathom: {line}", file=sys.stderr)
    left = [(Path(name), pid) for (name, _), pid in zip(results, pids, strict=True) if name]
    left += [(run, pid) for run in runs for pid in attached.by_kernel(run)]
    for directory in sorted(runs | {run for run, _ in left}):
        attached.detached(directory, [pid for run, pid in left if run == directory])
        if not where:
            print(f"fathom: run directory {printable(directory)}", file=sys.stderr)
    if where:
        print(f"fathom: {len(left)} detached{where}", file=sys.stderr)
    return 3 if any(line for _, line in results) else 0


def _chosen(words: list[str]) -> tuple[set[Path], list[int]]:
    if all(word.isdigit() for word in words):
        pids = sorted({int(word) for word in words})
        for pid in pids:
            target.find(pid)
        return set(), pids
    directory = resolve(_one(words))
    recorded = attached.processes(directory)
    by_kernel = attached.by_kernel(directory)
    pids = [pid for pid in recorded if pid not in by_kernel]
    if not recorded and attached.is_closed(directory):
        raise UsageError(f"detach: {directory}: none of its processes runs on this node")
    return {directory}, pids


def _detach(pid: int) -> tuple[str, str]:
    """Its run, and what went wrong."""
    try:
        process = target.find(pid)
        answer = forwarder.detach(process) if forwarder.is_one(process) else injector.detach(pid)
    except FathomError as error:
        return "", "" if not target.started(pid) else str(error)
    if answer.status is Status.NOT_RECORDED:
        return "", f"process {pid} is not recorded"
    if answer.status is Status.REFUSED:
        return "", f"process {pid} gives no answer"
    return answer.run, ""
