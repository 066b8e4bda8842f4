"""run.json: reads it, and adds what only the streams know (docs/run-json.md)."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shlex
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from fathom.errors import RunError, printable
from fathom.files import alone, boot_id, is_there, listed, open_to_append, replace_text
from fathom.run import foreign

if TYPE_CHECKING:
    import pyarrow as pa

Manifest = dict[str, Any]
WORDS: foreign.Form = [str]
ROWS: foreign.Form = [{}]
TEXT = (str, NoneType)
ATTACHED: foreign.Form = [
    {"pid": int, "started": int, "rank": (int, NoneType), "attached_ns": int, "detached_ns": int}
]
#: What readers take for given of run.json (docs/run-json.md).
FORM: foreign.Form = {
    "id": str, "fathom": str, "recorder": str, "launcher": str, "program": str, "command": WORDS, "directory": str,
    "environment": {foreign.ANY: str}, "versions": {foreign.ANY: str}, "start_ns": int, "end_ns": int, "pid": int,
    "configuration": {
        "layers": WORDS, "counted": WORDS, "layers_asked": str, "level": str, "ranks": str, "files": WORDS, "ring": str,
        "library": str, "skip": WORDS, "regions": WORDS, "probes": WORDS,
    },
    "nodes": [{"host": TEXT, "boot_id": TEXT, "kernel": TEXT, "clock": TEXT, "processors": TEXT}],
    "exit": {"status": int, "signal": int}, "mounts": {foreign.ANY: [TEXT]}, "layers_fired": WORDS,
    "selections": ROWS, "attached": ATTACHED, "cut": [{"kind": TEXT, "detail": TEXT, "processes": int, "count": int}],
}  # fmt: skip
#: Of run.json, as this version writes and reads it.
FORMAT = 1
# Tools whose logs are imported, as `recorder` has them, and as they call themselves.
TOOLS = {"darshan": "Darshan", "dftracer": "DFTracer", "recorder": "Recorder", "strace": "strace"}


def read(run: Path) -> Manifest:
    """run.json; empty when a run was cut off before it was written."""
    path = run / "run.json"
    content = foreign.read_json(path, FORM, {})
    if content.get("format", FORMAT) != FORMAT:
        raise RunError(
            f"{path}: its format is {printable(repr(content['format']))}, which this version cannot read; it reads"
            f" format {FORMAT}"
        )
    return content


def imported_by(manifest: Mapping[str, Any]) -> str | None:
    """Whose log the run was imported from; None: it is one of ours."""
    name: str = manifest.get("recorder") or ""
    return TOOLS.get(name, name) or None


def command_line(manifest: Mapping[str, Any], short: bool = False) -> str:
    """What was started, as a shell has it; where nobody said so, why. `short`: paths by their last name, which words
    of more than one are not."""
    imported = imported_by(manifest)
    words = [str(word) for word in manifest.get("command", [])]
    if short:
        words = [word if " " in word else word.rpartition("/")[2] or word for word in words]
    return shlex.join(words) or (f"imported from {imported}" if imported else "batch environment")


def user_name(manifest: Mapping[str, Any]) -> str | None:
    """The batch system's, else this machine's, else the number; a log of another machine has a number of its own."""
    user = manifest.get("user")
    if manifest.get("recorder"):
        return None if user is None else str(user)
    environment = manifest.get("environment", {})
    if name := environment.get("SLURM_JOB_USER"):
        return str(name)
    if user is None:
        return None
    try:
        return pwd.getpwuid(user).pw_name
    except (KeyError, OverflowError):
        return str(user)


def ended(manifest: Mapping[str, Any]) -> str | None:
    """How the launcher or program that was started ended; None: nobody saw it."""
    end = manifest.get("exit", {})
    if "signal" in end:
        return f"killed by signal {end['signal']}"
    return f"exit status {end['status']}" if "status" in end else None


def failure(manifest: Mapping[str, Any]) -> str | None:
    """The same, where it did not end well."""
    ending = ended(manifest)
    return None if ending == "exit status 0" else ending


def nodes(run: Path) -> list[dict[str, Any]]:
    """What each node's `node` file says."""
    described = []
    for path in listed(run / "streams", "*/node"):
        lines = foreign.read_text(path).splitlines()
        pairs = (line.partition("=") for line in lines)
        node: dict[str, Any] = {key: value for key, equals, value in pairs if equals}
        if str(node.get("tsc_hz", "")).isdigit():
            node["tsc_hz"] = int(node["tsc_hz"])
        described.append(node)
    return described


def selections(run: Path) -> list[dict[str, Any]]:
    """What `fathom select` changed while the run ran, in order."""
    path = run / "selections.jsonl"
    lines = foreign.read_text(path).splitlines() if is_there(path) else []
    return [foreign.checked(path, line, {}) for line in lines]


def keep_change(run: Path, file: str, number: int, **what: str) -> None:
    """What was changed while the run ran, and when: a line of `selections.jsonl` or `tuned.jsonl`."""
    change = {"time_ns": time.time_ns(), "host": socket.gethostname(), "number": number, **what}
    try:
        with os.fdopen(open_to_append(run / file), "a", encoding="utf-8") as log:
            log.write(json.dumps(change, ensure_ascii=False) + "\n")
    except OSError as error:
        raise RunError(f"{run / file}: {error.strerror}") from error


def own_node(run: Path) -> Path:
    """Where this node's part of the run lies."""
    return run / "streams" / f"{boot_id()}-{socket.gethostname()}"


def attached(run: Path) -> Manifest:
    """What each node's `attached.json` says, as run.json has it; empty when none was attached."""
    parts = [read_attached(path) for path in listed(run / "streams", "*/attached.json")]
    if not parts:
        return {}
    content: Manifest = {"attached": [one for part in parts for one in part["processes"]]}
    if all("closed_ns" in part for part in parts):
        content["end_ns"] = max(part["closed_ns"] for part in parts)
    return content


def read_attached(path: Path) -> Manifest:
    """What one node's file says, if it is there."""
    form: foreign.Form = {"processes": ATTACHED, "closed_ns": int}
    return foreign.read_json(path, form, {"processes": []})


def complete(run: Path, sql: Callable[[str], pa.Table]) -> None:
    """Adds layers that fired, what was cut, and all nodes. A read-only directory stays as it is."""
    content = read(run)
    if not content:
        return
    fired = sql("select distinct layer from counters where calls > 0 order by layer")
    cut = sql(
        "select kind, detail, count(distinct process) as processes, count(*) as count"
        " from marks where kind <> 'selection' group by kind, detail order by kind, detail"
    )
    described = nodes(run)
    known = {node.get("boot_id") for node in described}
    in_tables = sql("select host, boot_id, kernel from nodes order by node").to_pylist()
    described += [
        node for node in in_tables if node["boot_id"] not in known
    ]  # their files are shared ones
    added: Manifest = {
        "layers_fired": fired["layer"].to_pylist(),
        "cut": cut.slice(0, 1000).to_pylist(),
        "nodes": described if len(described) >= len(content.get("nodes", [])) else content["nodes"],
    }
    added |= attached(run)
    if changes := selections(run):
        added["selections"] = changes
    if all(content.get(key) == value for key, value in added.items()):
        return
    with contextlib.suppress(OSError):
        add(run, added)


def add(run: Path, values: Manifest) -> None:
    """Puts these keys into run.json."""
    with changing(run) as content:
        content.update(values)


@contextlib.contextmanager
def changing(run: Path) -> Iterator[Manifest]:
    """run.json, to be changed in the block; others that change it wait."""
    path = run / "run.json"
    with alone(path):
        content = read(run)
        yield content
        write(path, content)


def skip(run: Path, names: list[str]) -> None:
    """Says whose lines are not the user's own, as `fathom run --skip` does; it counts when the run is packed."""
    _configure(run, "skip", names)


def keep_calls(run: Path, reasons: str) -> None:
    """Says for which reasons calls are kept, as `fathom run --keep-calls-if` does."""
    _configure(run, "keep_calls_if", reasons)


def _configure(run: Path, key: str, value: Any) -> None:
    with changing(run) as content:
        content["configuration"] = content.get("configuration", {}) | {key: value}


def write(path: Path, content: Manifest) -> None:
    """The file as a whole, or not at all."""
    replace_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
