"""fathom tune --live RUN: other hints for the files that a run opens from now on."""

import socket
import sys
from pathlib import Path

from fathom import control, manifest
from fathom.errors import RunError, UsageError
from fathom.tuning import compiled, settings

#: In place of a file: what the run began with.
NONE = "none"
#: What processes have room for (runtime/tune/live.c).
BYTES, RULES, SETTINGS = 4095, 32, 64


def tune(name: str, file: str) -> int:
    """Puts a file's hints in force, or takes back what came before; the run keeps when and what."""
    directory = control.named(name, "tune --live")
    content = manifest.read(directory)
    text = f"{compiled.HEAD}\n" if file == NONE else _checked(Path(file))
    if not content.get("configuration", {}).get("tunable"):
        line = "was not started for that: fathom run --tunable"
        raise RunError(f"tune --live: {directory}: {line}")
    rings = manifest.ring_directory(content)
    if rings is None or not (rings / "control").is_file():
        ended = "the run has ended" if "exit" in content else "none of its processes is here"
        raise RunError(f"tune --live: {directory}: nothing to change on this node: {ended}")
    number = control.Node(rings).tune(text)
    manifest.keep_change(directory, "tuned.jsonl", number, settings=text)
    here = socket.gethostname()
    line = f"holds for files that a first rank on {here} opens from now on, together with others"
    print(f"fathom: tune --live: {file} {line}", file=sys.stderr)
    return 0


def _checked(file: Path) -> str:
    """As processes read it."""
    read = settings.read(file)
    if read.launch or read.layouts:
        raise UsageError(f"{file}: a launch or a layout cannot be changed while the run is on")
    for rule in read.rules:
        for one in rule.settings:
            if rule.dataset or one.knob.route != "mpi-info" or one.knob.layer.name == "pnetcdf":
                why = "hints of files for MPI-IO can be changed while a run is on, no other"
                raise UsageError(f"{file}: {one.knob.key}: {why}")
    text = compiled.text(read)
    count = sum(len(rule.settings) for rule in read.rules)
    if len(text.encode()) > BYTES or len(read.rules) > RULES or count > SETTINGS:
        most = f"{BYTES} bytes, {RULES} tables, {SETTINGS} settings"
        raise UsageError(f"{file}: more than processes have room for ({most})")
    return text
