"""fathom detach: end what `fathom attach` began; the programs run on.

examples:
  fathom detach s3d.1
  fathom detach 4711 4712
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fathom import manifest
from fathom.attach import attached, injector, target
from fathom.attach.injector import Status
from fathom.directory import resolve
from fathom.errors import FathomError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A run, or some of its processes."""
    parser.add_argument("what", metavar="RUN|PID", nargs="+", help="a run, or processes")


def run(arguments: argparse.Namespace) -> int:
    """Ends recording in each process, and closes a run that none is left in."""
    injector.gdb()
    runs, pids = _asked(arguments.what)
    with ThreadPoolExecutor(max_workers=max(1, len(pids))) as pool:
        results = list(pool.map(_detach, pids))
    for _, line in results:
        if line:
            print(f"fathom: {line}", file=sys.stderr)
    left = [(Path(name), pid) for (name, _), pid in zip(results, pids, strict=True) if name]
    for directory in sorted(runs | {run for run, _ in left}):
        attached.detached(directory, [pid for run, pid in left if run == directory])
        print(f"fathom: run directory {directory}", file=sys.stderr)
    return 3 if any(line for _, line in results) else 0


def _asked(words: list[str]) -> tuple[set[Path], list[int]]:
    if all(word.isdigit() for word in words):
        pids = sorted({int(word) for word in words})
        for pid in pids:
            target.find(pid)
        return set(), pids
    if len(words) != 1:
        raise UsageError("detach: name one run, or processes by their numbers")
    directory = resolve(words[0])
    pids = attached.processes(directory)
    if not pids and "end_ns" in manifest.read(directory):
        raise UsageError(f"detach: {directory}: none of its processes runs on this node")
    return {directory}, pids


def _detach(pid: int) -> tuple[str, str]:
    """Its run, and what went wrong."""
    try:
        answer = injector.detach(pid)
    except FathomError as error:
        return "", "" if not target.started(pid) else str(error)
    if answer.status is Status.NOT_RECORDED:
        return "", f"process {pid} is not recorded"
    if answer.status is Status.REFUSED:
        return "", f"process {pid} gives no answer"
    return answer.run, ""
