"""fathom forward: servers that do a program's I/O on the real file system.

up      start servers, on this machine or on nodes of the allocation; prints the environment of their clients
status  how each does
top     the same while they work, with rates
out     copy what servers have striped into a directory
restart start those that ended once more, at their addresses: programs that wait go on
down    write what was accepted, end them, say what was lost
mount   a server's files at a directory of this machine, for shells and static programs
unmount no more; also where the server is gone
with    all of it around a program: up, the program with its files below DIR forwarded, down

examples:
  eval "$(fathom forward up --export /scratch/out --servers 4)"
  fathom forward up servers.toml                      # as a file says (docs/commands/forward.md)
  fathom forward up --export /scratch/out --forward-nodes 2
  fathom forward status
  fathom forward mount ~/fwd                          # ~/fwd/a is /scratch/out/a
  fathom forward unmount ~/fwd
  fathom forward down
  fathom forward with --export /scratch/out --servers 2 -- mpiexec -n 4 ./s3d 200 200 200
"""

import argparse
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from fathom.cli.arguments import positive
from fathom.errors import FathomError, UsageError
from fathom.forward import around, hosts, mounts, settings
from fathom.forward.group import Group, Started, is_running
from fathom.run import paths
from fathom.run.directory import to_make
from fathom.text.quoting import json_text

FOLDER = "fathom.forward"
#: Words behind `--` are a program's.
PROGRAM = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, with which servers."""
    parser.add_argument(
        "what",
        choices=("up", "status", "top", "mount", "unmount", "out", "restart", "down", "with"),
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE",
        help="up, with: configuration, TOML; mount, unmount: directory; out: the one to copy to",
    )  # fmt: skip
    parser.add_argument(
        "--preload", default="", metavar="LIBRARIES",
        help="with: what the program preloads besides, colon-separated",
    )  # fmt: skip
    parser.add_argument(
        "--beside", action="append", default=[], metavar="WORD",
        help="with: word of a command that runs between up and down; it ends when its stdin is closed",
    )  # fmt: skip
    parser.add_argument(
        "--at", type=Path, default=Path(FOLDER), metavar="FOLDER",
        help=f"of the servers' addresses, token and logs [{FOLDER}]",
    )  # fmt: skip
    start = parser.add_argument_group("up")
    start.add_argument("--export", metavar="DIR", help="without FILE: the directory they serve")
    start.add_argument(
        "--storage", type=Path, metavar="DIR",
        help="here, with --export: each server keeps stripes in a directory of its own below DIR",
    )  # fmt: skip
    start.add_argument("--servers", type=positive, default=1, metavar="N", help="so many, here [1]")
    start.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help=f"of all servers, over what FILE says: {', '.join(settings.SET)}",
    )  # fmt: skip
    start.add_argument(
        "--forward-nodes", type=positive, metavar="K",
        help="one on each of the first K nodes of the Slurm or PBS allocation",
    )  # fmt: skip
    start.add_argument(
        "--start-with", default="", metavar="WORDS",
        help="what starts a command on {host} [srun, pbs_tmrsh or ssh], as 'mpiexec -hosts {host} -n 1'",
    )  # fmt: skip
    start.add_argument("--record", metavar="RUN", help="run that they record themselves into")
    parser.add_argument("--server", default="", metavar="NAME", help="mount: whose [the node's]")
    parser.add_argument(
        "--durability", choices=("accepted", "written", "synced"), default="written",
        help="mount: what a write reaches before it returns [written]",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="status, top: raw numbers")
    parser.add_argument(
        "--interval",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="top: seconds between looks [1]",
    )
    parser.add_argument("--looks", type=positive, metavar="N", help="top: end after so many")
    parser.add_argument(
        "--patience", type=float, default=60.0, metavar="SECONDS",
        help="down, with: how long each may take to write what it accepted [60]",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """0; 1: something was lost, or a server does not answer."""
    group = Group(arguments.at)
    if arguments.what == "with":
        return _with(group, arguments)
    if arguments.program:
        raise UsageError(f"forward {arguments.what}: takes no program; fathom forward with does")
    if arguments.what == "up":
        return _up(group, arguments)
    if arguments.what in ("mount", "unmount"):
        return _mount(group, arguments)
    if arguments.what == "restart":
        return _restart(group)
    if arguments.what == "down":
        return _down(group, arguments.patience)
    if arguments.what == "out":
        if not arguments.file:
            raise UsageError("forward out: where to? fathom forward out DIR")
        return _out(group, group.servers(), arguments.file)
    if arguments.what == "top":
        return _top(group, arguments)
    return _status(group, arguments.json)


def _wanted(arguments: argparse.Namespace) -> list[settings.Server]:
    if arguments.file and (arguments.export or arguments.forward_nodes or arguments.storage):
        raise UsageError(
            "forward up: FILE says which servers; leave --export, --storage, --forward-nodes out"
        )
    if arguments.file:
        return settings.read(arguments.file)
    if not arguments.export:
        raise UsageError("forward up: give --export DIR, or a configuration FILE")
    if arguments.storage:
        if arguments.forward_nodes:
            raise UsageError("forward up: --storage is for this machine; for nodes write a FILE")
        return settings.striped(arguments.storage.resolve(), arguments.export, arguments.servers)
    nodes = hosts.chosen(arguments.forward_nodes) if arguments.forward_nodes else None
    where = nodes or [""] * arguments.servers
    return settings.named([settings.Server(arguments.export, host=host) for host in where])


def _up(group: Group, arguments: argparse.Namespace) -> int:
    for name, value in _environment(group, _start(group, arguments)).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _start(group: Group, arguments: argparse.Namespace) -> list[Started]:
    record = to_make(arguments.record) if arguments.record else None
    values = settings.assigned(arguments.set)
    wanted = [replace(server, **values) for server in _wanted(arguments)]
    return group.up(wanted, record, arguments.start_with)


def _with(group: Group, arguments: argparse.Namespace) -> int:
    """The program's exit status; 1 if it ended well and something was lost."""
    if not arguments.program:
        raise UsageError("forward with: which program? fathom forward with --export DIR -- PROGRAM")
    preload = (os.environ.get("LD_PRELOAD"), arguments.preload, str(paths.preload()))
    try:
        if arguments.storage and any(_files(arguments.storage.glob("fwd*"))):
            raise UsageError(
                f"forward with: {arguments.storage} holds files of servers already; "
                "fathom forward up --storage, then fathom forward out DIR bring them back"
            )
        started = _start(group, arguments)
        environment = _environment(group, started)
    except FathomError as error:
        error.status = 125  # as of env(1): the program did not start
        raise
    environment["LD_PRELOAD"] = ":".join(filter(None, preload))
    not_copied, copied_at = 0, 0
    try:
        with around.beside(arguments.beside, os.environ | environment | {"LD_PRELOAD": ""}):
            status = around.execute(arguments.program, os.environ | environment)
        if arguments.storage:
            copied_at = _moment()
            not_copied = _out(group, started, Path(arguments.export))
    finally:
        lost = _down(group, arguments.patience)
    if arguments.storage and not not_copied + lost:
        not_copied = _remove([Path(server.export) for server in started], copied_at)
    return around.end_as(status) or lost or not_copied


def _files(stores: Iterable[Path]) -> Iterator[Path]:
    """What servers keep, but for the directories that each makes at its start."""
    for store in stores:
        yield from (path for path in store.rglob("*") if path.is_symlink() or not path.is_dir())


def _moment() -> int:
    """Now, as times of change of files tell it: what was done before is earlier, and what is done after is not."""
    time.sleep(2 * CLOCK)
    return time.time_ns() - int(CLOCK * 1e9)


def _remove(stores: list[Path], copied_at: int) -> int:
    """Stores whose files were copied; kept, and 1, if a process that was left behind changed one of them since."""
    late = [path for path in _files(stores) if path.lstat().st_ctime_ns >= copied_at]
    if late:
        print(
            f"fathom: {late[0]} was changed after the program had ended and its files were being copied: "
            "the servers' directories are kept; fathom forward up --storage, then out bring them back",
            file=sys.stderr,
        )
        return 1
    for store in stores:
        shutil.rmtree(store)
    return 0


#: Where the servers' files are for the program that copies them: a path that is nothing else.
STRIPES = "/fathom-striped"
#: Seconds by which a file's time of change may lie behind the clock: it is the kernel's last tick.
CLOCK = 0.02


def _out(group: Group, started: list[Started], to: Path) -> int:
    """Copies what servers have striped into a directory; 1 if not all could be."""
    if not any(server.role == "striped" for server in started):
        raise UsageError("forward out: no server stripes files; they are in what was exported")
    to.mkdir(parents=True, exist_ok=True)
    environment = _environment(group, started) | {"LD_PRELOAD": str(paths.preload())}
    environment["FATHOM_FORWARD_PREFIX"] = STRIPES
    plain = {name: value for name, value in os.environ.items() if name != "FATHOM_RUN"}
    copied = subprocess.run(
        ["cp", "-a", f"{STRIPES}/.", str(to)], env=plain | environment, check=False
    )
    if copied.returncode:
        print(
            f"fathom: not all was copied to {to}; the servers' directories keep it", file=sys.stderr
        )
    return int(copied.returncode != 0)


def _mount(group: Group, arguments: argparse.Namespace) -> int:
    directory = arguments.file
    if not directory:
        raise UsageError(f"forward {arguments.what}: which directory?")
    if arguments.what == "mount":
        mounted = mounts.mount(group, directory, arguments.server, arguments.durability)
        print(f"fathom: {mounted.directory}: files of {mounted.server}", file=sys.stderr)
    else:
        reason = mounts.unmount(group, directory)
        print(f"fathom: {directory}: {reason or 'unmounted'}", file=sys.stderr)
    return 0


def _environment(group: Group, started: list[Started]) -> dict[str, str]:
    """What clients are told (docs/environment.md)."""
    environment = {
        "FATHOM_FORWARD_SERVERS": ";".join(server.address for server in started),
        "FATHOM_FORWARD_PREFIX": ":".join(dict.fromkeys(server.mount for server in started)),
    }
    proved = [server for server in started if not server.address.startswith("unix:")]
    if any(not server.munge for server in proved):
        environment["FATHOM_FORWARD_TOKEN"] = str(group.token.resolve())
    if munge := _munge(proved):
        environment["FATHOM_FORWARD_MUNGE"] = munge
    return environment


def _munge(servers: list[Started]) -> str:
    """FATHOM_FORWARD_MUNGE of who speaks to all of them."""
    return next((server.munge for server in servers if server.munge), "")


def _states(group: Group) -> list[dict[str, Any]]:
    """Of each server what it is, and what it says of itself or why it does not."""
    servers = group.servers()
    states = []
    running = [server.address for server in servers if is_running(server)]
    answers = dict(zip(running, group.ask(running, _munge(servers)), strict=True))
    for server in servers:
        state = answers.get(server.address, {"error": "has ended; fathom forward restart"})
        about = {key: getattr(server, key) for key in ("name", "host", "address", "export", "log")}
        if "pool_bytes" in state:
            about["buffered_bytes"] = state["pool_bytes"] - state["pool_free_bytes"]
            about["others"] = state["connections"] - 1  # but for this question's
        states.append(state | about)
    return states


def _table(states: list[dict[str, Any]]) -> None:
    from fathom.pages.servers import show_servers  # tables take longer to load than servers to ask

    show_servers(states)


def _status(group: Group, as_json: bool) -> int:
    states = _states(group)
    if as_json:
        print(json_text(states))
    else:
        _table(states)
    return int(any("error" in state for state in states))


RATES = ("requests", "writes", "store_writes", "written_bytes", "read_bytes")


def _top(group: Group, arguments: argparse.Namespace) -> int:
    """Rates since the look before."""
    before, when = _states(group), time.monotonic()
    for look in itertools.count(1):
        time.sleep(arguments.interval)
        states, now = _states(group), time.monotonic()
        rates = [
            state | _rates(old, state, now - when)
            for old, state in zip(before, states, strict=True)
        ]
        if arguments.json:
            print(json.dumps(rates))
        else:
            print("a second:")
            _table(rates)
        sys.stdout.flush()
        if look == arguments.looks:
            return 0
        before, when = states, now
    return 0


def _rates(old: dict[str, Any], new: dict[str, Any], seconds: float) -> dict[str, float]:
    both = [key for key in RATES if key in old and key in new]
    return {key: (new[key] - old[key]) / seconds for key in both}


def _restart(group: Group) -> int:
    started = group.restart()
    for server in started:
        print(
            f"fathom: {server.name}: started again; programs hear what it had accepted and not written",
            file=sys.stderr,
        )
    if not started:
        print("fathom: none of the servers has ended", file=sys.stderr)
    return 0


def _down(group: Group, patience: float) -> int:
    lost = False
    for mount in mounts.end_all(group):
        print(f"fathom: {mount.directory}: unmounted", file=sys.stderr)
    for server, unwritten in group.down(patience):
        lost |= bool(unwritten)
        print(f"fathom: {server.name}: {unwritten or 'all written'}", file=sys.stderr)
    return int(lost)
