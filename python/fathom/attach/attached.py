"""The run directory of attached processes: made, told of each process, closed when the last is gone."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from fathom import control, manifest, places
from fathom.attach import target
from fathom.errors import FathomError

KEY = "attached"  # in run.json
OWN = ("control", "select.lock")


def _name(program: str) -> str:
    """The first that is free here, as `fathom run` does."""
    return next(name for n in count(1) if not Path(f"{(name := f'{program}.{n}')}.fathom").exists())


def create(name: str | None, program: str, options: Sequence[str]) -> dict[str, str]:
    """Makes the run as `fathom env` does; returns what a process must be told."""
    words = ["env", "--shell", "json", "-o", name or _name(program), *options]
    environment = {key: value for key, value in os.environ.items() if key != "FATHOM_RUN"}
    done = subprocess.run(
        [places.native_command(), *words],
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
    """Of a run that nobody is in."""
    shutil.rmtree(settings["FATHOM_RUN"], ignore_errors=True)
    shutil.rmtree(settings["FATHOM_RING"], ignore_errors=True)


def note(run: Path, targets: Sequence[target.Target]) -> None:
    """Says in run.json which processes they are."""
    first = targets[0]
    processes = [
        {"pid": one.pid, "started": one.started, "rank": one.rank, "attached_ns": time.time_ns()}
        for one in targets
    ]
    said: manifest.Manifest = {
        "program": first.program,
        "command": list(first.command),
        "directory": first.directory,
        KEY: processes,
    }
    manifest.add(run, said)


def processes(run: Path) -> list[int]:
    """Those of the run that are recorded now: as attached, and what they forked since."""
    content = manifest.read(run)
    noted: list[dict[str, Any]] = content.get(KEY, [])
    pids = {
        one["pid"]
        for one in noted
        if "detached_ns" not in one and target.started(one["pid"]) == one["started"]
    }
    rings = manifest.ring_directory(content)
    if rings is not None:
        pids |= set(control.Node(rings).processes())
    return sorted(pids)


def detached(run: Path, pids: Sequence[int]) -> None:
    """Says in run.json that these are not recorded any more; closes the run when none is."""
    noted: list[dict[str, Any]] = manifest.read(run).get(KEY, [])
    for one in noted:
        if one["pid"] in pids:
            one.setdefault("detached_ns", time.time_ns())
    manifest.add(run, {KEY: noted})
    if not processes(run):
        close(run)


def close(run: Path) -> None:
    """No process is left in it: the time of its end, and no page that nobody reads."""
    content = manifest.read(run)
    manifest.add(run, {"end_ns": time.time_ns()})
    rings = manifest.ring_directory(content)
    if rings is None or not rings.is_dir():
        return
    names = {path.name for path in rings.iterdir()}
    if all(name in OWN or name.startswith("selection.") for name in names):
        for name in names:
            (rings / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            rings.rmdir()
