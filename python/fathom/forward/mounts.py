"""Servers' files as file systems of this machine: who serves each directory, kept beside the servers' own addresses."""

import json
import os
import re
import select
import signal
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from fathom.errors import FathomError, RunError, UsageError
from fathom.files import alone, replace_text
from fathom.forward.group import Group, Started, began, is_alive
from fathom.run import paths

KIND = "fuse.fathom"  # of file system, as the kernel lists it
START = 30.0  # seconds until it is mounted, and until one has ended whose server does not answer
END = 2.0  # seconds until a mount that nobody uses is gone


@dataclass(frozen=True)
class Mount:
    """A directory where a server's files are seen, and the process that asks the server."""

    directory: str
    server: str
    pid: int
    since: int  # when that one began, by the kernel's clock: a number is used again
    log: str


def _file(group: Group) -> Path:
    return group.folder / "mounts.json"


def mounted(group: Group) -> list[Mount]:
    """Those that were made and not undone."""
    try:
        entries = json.loads(_file(group).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise RunError(f"{_file(group)}: {error}") from error
    return [Mount(**entry) for entry in entries]


def change(group: Group, changed: Callable[[list[Mount]], list[Mount]]) -> None:
    """Of all nodes: others that mount or unmount at once wait."""
    with alone(group.file):
        mounts = changed(mounted(group))
        replace_text(_file(group), json.dumps([asdict(one) for one in mounts], indent=1) + "\n")


def _server(group: Group, name: str, node: str) -> Started:
    """The one of that name, else the node's."""
    servers = group.servers()
    if name:
        for server in servers:
            if server.name == name:
                return server
        raise UsageError(
            f"--server {name}: there is {', '.join(server.name for server in servers)}"
        )
    if len({server.mount for server in servers}) > 1:
        raise UsageError("the servers have several directories; say which by --server NAME")
    return servers[zlib.crc32(node.encode()) % len(servers)]


def mount(group: Group, directory: Path, name: str, durability: str) -> Mount:
    """Returns once it is mounted. Errors: UsageError, FathomError with the reason."""
    one = _server(group, name, os.uname().nodename)
    if not directory.is_dir():
        raise UsageError(f"{directory} is no directory: make one to mount on")
    at = directory.resolve()
    log = group.folder.resolve() / f"mount-{zlib.crc32(bytes(at)):08x}.log"
    command = [str(paths.mounter()), "--durability", durability, one.address, str(at)]
    if not one.address.startswith("unix:"):
        command[1:1] = group.proof(one.munge)
    with log.open("a", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output,
            start_new_session=True, cwd="/",
        )  # fmt: skip
    _wait(process, at, log)
    mounted_here = Mount(str(at), one.name, process.pid, began(process.pid) or 0, str(log))
    change(group, lambda mounts: [*mounts, mounted_here])
    return mounted_here


def _wait(process: subprocess.Popen[bytes], at: Path, log: Path) -> None:
    assert process.stdout
    readable, _, _ = select.select([process.stdout], [], [], START)
    ready = bool(readable and process.stdout.readline())
    process.stdout.close()
    if ready:
        return
    process.kill()
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    why = lines[-1] if lines else f"it said nothing within {START:.0f} s"
    raise FathomError(f"{at} was not mounted: {why}")


def _ended(one: Mount, due: float) -> bool:
    while is_alive(one.pid, one.since) and time.monotonic() < due:
        time.sleep(0.02)
    return not is_alive(one.pid, one.since)


def _on_top(directory: str) -> bool:
    """Is it ours that is seen at the directory, and not what it was mounted on, or what was mounted since?"""
    seen = ""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        words = line.split(" ")
        if re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), words[4]) == directory:
            seen = words[words.index("-") + 1]
    return seen == KIND


def _detach(directory: str) -> str:
    """Nobody finds it any more; why not, else ''."""
    if not _on_top(directory):
        return ""
    words = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
    try:
        done = subprocess.run([*words, directory], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return f"{words[0]} is not installed"
    return done.stderr.strip() if done.returncode else ""


def unmount(group: Group, directory: Path) -> str:
    """Takes it away, whatever its server does; '' or, for people, that somebody still uses it."""
    at = Path(os.path.normpath(directory.absolute()))
    place = at.parent.resolve() / at.name  # the directory itself may not answer
    mounts = mounted(group)
    one = next((one for one in mounts if str(place) == one.directory), None)
    if one is None:
        raise UsageError(f"{directory} was not mounted from {group.folder}")
    why = _detach(one.directory)
    if why and is_alive(one.pid, one.since):
        raise FathomError(f"{directory}: {why}")
    change(group, lambda mounts: [other for other in mounts if other != one])
    return (
        ""
        if _ended(one, time.monotonic() + END)
        else "still in use: it is gone with the last who uses it"
    )


def end_all(group: Group) -> Iterator[Mount]:
    """All of the folder are ended, before their servers are; each, once it is."""
    mounts = mounted(group)
    living = [one for one in mounts if is_alive(one.pid, one.since)]
    for one in living:
        os.kill(one.pid, signal.SIGTERM)
    due = time.monotonic() + START
    for one in mounts:
        if one in living and not _ended(one, due):
            os.kill(one.pid, signal.SIGKILL)
        _detach(one.directory)
        yield one
    _file(group).unlink(missing_ok=True)
