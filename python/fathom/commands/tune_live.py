"""fathom tune --live RUN: other hints for the files that a run opens from now on, or gives hints anew."""

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
    read = None if file == NONE else _checked(Path(file))
    text = compiled.text(read) if read else f"{compiled.HEAD}\n"
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
    for said in dict.fromkeys(map(_of_open_files, _all(read)) if read else ()):
        print(f"fathom: tune --live: files that are open: {said}", file=sys.stderr)
    return 0


def _all(read: settings.Settings) -> list[settings.Setting]:
    return [one for rule in read.rules for one in rule.settings]


def _of_open_files(one: settings.Setting) -> str:
    """By which calls they take a hint, by the catalogue."""
    if not one.knob.later:
        return f"{one.knob.name} stays as it is"
    calls = (f"by {calls} on {stack}" for stack, calls in one.knob.later.items())
    return f"{one.knob.name} {'; '.join(calls)}"


def _checked(file: Path) -> settings.Settings:
    """What processes can take while they run."""
    read = settings.read(file)
    if read.launch or read.layouts:
        raise UsageError(f"{file}: a launch or a layout cannot be changed while the run is on")
    for rule in read.rules:
        for one in rule.settings:
            if rule.dataset or one.knob.route != "mpi-info" or one.knob.layer.name == "pnetcdf":
                why = "hints of files for MPI-IO can be changed while a run is on, no other"
                raise UsageError(f"{file}: {one.knob.key}: {why}")
    size = len(compiled.text(read).encode())
    if size > BYTES or len(read.rules) > RULES or len(_all(read)) > SETTINGS:
        most = f"{BYTES} bytes, {RULES} tables, {SETTINGS} settings"
        raise UsageError(f"{file}: more than processes have room for ({most})")
    return read
