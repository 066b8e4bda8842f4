"""fathom tune --live RUN: other hints for the files that a run opens from now on, or gives hints anew."""

import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fathom.errors import RunError, UsageError
from fathom.run import control, manifest
from fathom.run.live import Watch, parse
from fathom.run.rings import own_rings
from fathom.tune.settings import compiled, settings
from fathom.tune.settings.file import read as read_file
from fathom.tune.settings.steering import Steering

#: In place of a file: what the run began with; what its critical process speaks for.
NONE, AUTO = "none", "auto"
#: Seconds between two looks.
INTERVAL = "0.5"
#: What processes have room for (runtime/tune/live.c).
BYTES, RULES, SETTINGS = 4095, 32, 64


def tune(name: str, file: str) -> int:
    """Puts a file's hints in force, or takes back what came before; the run keeps when and what."""
    if file == AUTO:
        return _auto(name)
    directory = control.named(name, "tune --live")
    read = None if file == NONE else _checked(Path(file))
    text = compiled.text(read) if read else f"{compiled.HEAD}\n"
    number = _node(directory).tune(text)
    manifest.keep_change(directory, "tuned.jsonl", number, settings=text)
    hostname = socket.gethostname()
    line = (
        f"holds for files that a first rank on {hostname} opens from now on, together with others"
    )
    print(f"fathom: tune --live: {file} {line}", file=sys.stderr)
    for remark in dict.fromkeys(map(_of_open_files, _all(read)) if read else ()):
        print(f"fathom: tune --live: files that are open: {remark}", file=sys.stderr)
    return 0


def _node(directory: Path) -> control.Node:
    """Where the run's processes look."""
    content = manifest.read(directory)
    if not content.get("configuration", {}).get("tunable"):
        raise RunError(f"tune --live: {directory}: {_refusal(directory)}")
    rings = own_rings(directory)
    if rings is None or not (rings / "control").is_file():
        ended = "the run has ended" if "exit" in content else "none of its processes is here"
        raise RunError(f"tune --live: {directory}: nothing to change on this node: {ended}")
    return control.Node(rings)


def _refusal(directory: Path) -> str:
    if "attached" in manifest.attached(directory):
        why = "ranks that were attached one after the other cannot agree on hints without a hang"
        return f"{why}: start the program with fathom run --tunable, or give it these with fathom run --tuned"
    return "was not started for that: fathom run --tunable"


def _auto(name: str) -> int:
    """Watches the run's collective calls, and changes what a rule of the catalog speaks to."""
    directory = control.named(name, "tune --live")
    node = _node(directory)

    def put(text: str, change: Mapping[str, str]) -> None:
        if len(text.encode()) > BYTES:
            raise RunError(
                f"tune --live: {directory}: more than processes have room for ({BYTES} bytes)"
            )
        number = node.tune(text) if text else node.tuned()[0]
        settings = {"settings": text} if text else {}
        manifest.keep_change(directory, "tuned.jsonl", number, **settings, **change)

    steering = Steering(node.tuned()[1], put)
    with Watch(directory, "--interval", INTERVAL) as watch, suppress(FileNotFoundError):
        for line in watch.lines():  # until no process is left, or none has a control page
            change_out = steering.take(parse(line), node.critical()) if line else None
            if change_out:
                print(change_out, flush=True)
            if steering.over:
                return 0
    print(steering.ended())
    return 0


def _all(read: settings.Settings) -> list[settings.Setting]:
    return [setting for rule in read.rules for setting in rule.settings]


def _of_open_files(setting: settings.Setting) -> str:
    """By which calls they take a hint, by the catalog."""
    if not setting.knob.later:
        return f"{setting.knob.name} stays as it is"
    calls = (f"by {calls} on {stack}" for stack, calls in setting.knob.later.items())
    return f"{setting.knob.name} {'; '.join(calls)}"


def _checked(file: Path) -> settings.Settings:
    """What processes can take while they run."""
    read = read_file(file)
    if read.launch or read.layouts:
        raise UsageError(f"{file}: a launch or a layout cannot be changed while the run is on")
    for rule in read.rules:
        for setting in rule.settings:
            if (
                rule.dataset
                or setting.knob.route != "mpi-info"
                or setting.knob.layer.name == "pnetcdf"
            ):
                why = "hints of files for MPI-IO can be changed while a run is on, no other"
                raise UsageError(f"{file}: {setting.knob.key}: {why}")
    size = len(compiled.text(read).encode())
    if size > BYTES or len(read.rules) > RULES or len(_all(read)) > SETTINGS:
        most = f"{BYTES} bytes, {RULES} tables, {SETTINGS} settings"
        raise UsageError(f"{file}: more than processes have room for ({most})")
    return read
