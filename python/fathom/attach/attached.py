"""The run directory of attached processes: made, told of each process, closed when the last is gone."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from fathom.attach import kernel, target
from fathom.errors import FathomError
from fathom.files import is_file, listed
from fathom.run import control, manifest, paths
from fathom.run.rings import are_done, own_rings, remove


def free(program: str) -> str:
    """The first that is free here, as `fathom run` does."""
    return next(name for n in count(1) if not Path(f"{(name := f'{program}.{n}')}.fathom").exists())


def create(name: str, options: Sequence[str]) -> dict[str, str]:
    """Makes the run as `fathom env` does; returns what a process must be told."""
    words = ["env", "--shell", "json", "-o", name, *options]
    environment = {key: value for key, value in os.environ.items() if key != "FATHOM_RUN"}
    done = subprocess.run(
        [paths.native_command(), *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise FathomError(done.stderr.strip().removeprefix("fathom: ").replace("env:", "attach:"))
    settings: dict[str, str | None] = json.loads(done.stdout)
    return {key: value for key, value in settings.items() if value and key != "LD_PRELOAD"}


def discard(settings: dict[str, str]) -> None:
    """Of a run that nobody of this node is in; all of it, unless other nodes may be."""
    run, rings = Path(settings["FATHOM_RUN"]), Path(settings["FATHOM_RING"])
    with _agent_ends(rings):
        shutil.rmtree(rings, ignore_errors=True)
    shutil.rmtree(manifest.own_node(run) if manifest.read(run).get("launcher") else run, True)


def note(
    run: Path, targets: Sequence[target.Target], by_kernel: Sequence[target.Target] = ()
) -> None:
    """Says in run.json which processes they are, and in this node's own file, which no other node writes.
    `by_kernel`: those whose calls the kernel tells."""
    first = [*targets, *by_kernel][0]
    processes = [
        {
            "pid": one.pid,
            "started": one.started,
            "rank": one.rank,
            "attached_ns": time.time_ns(),
            **({"kernel": True} if one in by_kernel else {}),
        }
        for one in [*targets, *by_kernel]
    ]
    job: manifest.Manifest = {
        "program": first.program,
        "command": list(first.command),
        "directory": first.directory,
    }
    with manifest.changing(run) as content:
        manifest.write(_file(run), {"processes": _noted(run) + processes})
        content.update(job | manifest.attached(run))


def _file(run: Path) -> Path:
    return manifest.own_node(run) / "attached.json"


def _own(run: Path) -> dict[str, Any]:
    """What this node's file says; empty: none of its processes was attached."""
    return manifest.read_attached(_file(run)) if is_here(run) else {}


def _noted(run: Path) -> list[dict[str, Any]]:
    noted: list[dict[str, Any]] = _own(run).get("processes", [])
    return noted


def is_here(run: Path) -> bool:
    """Were processes of this node attached?"""
    return is_file(_file(run))


def elsewhere(run: Path) -> list[str]:
    """Other nodes, by their host names, on which processes are attached that were not let go."""
    open_ = [
        path.parent.name
        for path in listed(run / "streams", "*/attached.json")
        if path != _file(run) and "closed_ns" not in manifest.read_attached(path)
    ]
    hosts = {node.get("boot_id"): node.get("host") for node in manifest.nodes(run)}
    return [hosts.get(name[:36]) or name for name in open_]  # a boot id has 36 characters


def processes(run: Path) -> list[int]:
    """Those of the run that are recorded now on this node: as attached, and what they forked since."""
    return _living(run, _noted(run))


def by_kernel(run: Path) -> list[int]:
    """Those of them whose calls the kernel tells: nothing is in them that could be let go."""
    return [one["pid"] for one in _noted(run) if one.get("kernel")]


def _living(run: Path, noted: Sequence[dict[str, Any]]) -> list[int]:
    pids = {
        one["pid"]
        for one in noted
        if "detached_ns" not in one and target.started(one["pid"]) == one["started"]
    }
    rings = own_rings(run)
    if rings is not None:
        pids |= set(control.Node(rings).processes())
    return sorted(pids)


def is_closed(run: Path) -> bool:
    """Its end was said, on this node or as a whole."""
    return "closed_ns" in _own(run) or "end_ns" in manifest.read(run)


def detached(run: Path, pids: Sequence[int]) -> None:
    """Says that these are not recorded any more; closes the run on this node when none is."""
    with manifest.changing(run) as content:
        noted = _noted(run)
        for one in noted:
            if one["pid"] in pids:
                one.setdefault("detached_ns", time.time_ns())
        over = not _living(run, noted)
        now = time.time_ns()
        if is_here(run):
            closed = {"closed_ns": now} if over else {}
            manifest.write(_file(run), {"processes": noted, **closed})
            content.update(manifest.attached(run))
        elif over:
            content["end_ns"] = now
    if over:
        _clear(run)


def _clear(run: Path) -> None:
    """No page is left that nobody reads."""
    rings = own_rings(run)
    if rings is None or not are_done(rings):
        return
    with _agent_ends(rings), contextlib.suppress(OSError):
        remove(rings)
    kernel.await_end(run)


@contextlib.contextmanager
def _agent_ends(rings: Path) -> Iterator[None]:
    """The node's agent holds a lock on the folder, and ends when that is removed meanwhile: until it has, it writes."""
    folder = os.open(rings, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield
        until = time.monotonic() + control.PATIENCE
        while not rings.exists() and _is_locked(folder):
            if time.monotonic() > until:
                line = f"fathom: the agent goes on: it has not ended in {control.PATIENCE} s"
                print(line, file=sys.stderr)
                break
            time.sleep(0.02)
    finally:
        os.close(folder)


def _is_locked(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
