"""Servers that were started together: a folder with their addresses, their token and their logs.

The folder is the caller's alone (0700). `servers.json` is written once all of them have said where they listen.
"""

import contextlib
import fcntl
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from fathom.errors import FathomError, RunError, UsageError
from fathom.files import replace_text
from fathom.forward import hosts
from fathom.forward.settings import Server, mounts
from fathom.run import paths

START = 30.0  # seconds that a server may take until it listens
GONE = "it had ended before: what it had accepted and not written is lost"
Process = subprocess.Popen[str]
LOST = "was not told"  # in a server's log: what nobody was told of (engine/forward)


@dataclass(frozen=True)
class Started:
    """A server that runs, or ran."""

    name: str
    address: str
    export: str
    host: str
    log: str
    pid: int  # of the server, on its host
    launcher: int  # of the process here that started it, or of itself
    since: int  # when that one began, by the kernel's clock: a number is used again
    start: list[str]  # words that start a command on its host
    mount: str  # the directory below which programs reach it
    role: str
    munge: str  # FATHOM_FORWARD_MUNGE of its clients; empty: by token
    command: list[str]  # starts it once more, where it listened
    cwd: str  # in which directory: the command's paths may be relative


def _free_port(host: str) -> int:
    """One that nobody listens on, at the moment: servers must know each other's before they start."""
    try:
        with socket.create_server((host, 0)) as listener:
            port: int = listener.getsockname()[1]
            return port
    except OSError as error:
        raise FathomError(f"{host}: {error.strerror}") from error


class Group:
    """The servers of a folder."""

    def __init__(self, folder: Path) -> None:
        """The folder need not be there yet."""
        self.folder = folder
        self.file = folder / "servers.json"
        self.token = folder / "token"

    def servers(self) -> list[Started]:
        """Those that were started."""
        return self._read()[1]

    def _read(self) -> tuple[str, list[Started]]:
        """The folder of their sockets, and the servers."""
        try:
            state = json.loads(self.file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageError(
                f"{self.folder}: no servers were started there; fathom forward up"
            ) from None
        except (OSError, ValueError) as error:
            raise RunError(f"{self.file}: {error}") from error
        return state["sockets"], [Started(**one) for one in state["servers"]]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[TextIO]:
        """Nobody else starts servers there meanwhile; the file is the token's."""
        with open(self.token, "a", encoding="ascii", opener=_private) as token:
            try:
                fcntl.flock(token, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{self.folder}: servers are being started there") from None
            yield token

    def up(self, wanted: list[Server], record: Path | None, start: str) -> list[Started]:
        """Starts them; all listen, or none is left."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        with self._changing() as token:
            if self.file.exists():
                raise UsageError(
                    f"{self.folder}: servers were started there; fathom forward down first, "
                    "or restart for those that ended"
                )
            token.truncate(0)
            token.write(secrets.token_hex(32) + "\n")
            token.flush()
            return self._up(wanted, record, start)

    def _up(self, wanted: list[Server], record: Path | None, start: str) -> list[Started]:
        sockets = Path(tempfile.mkdtemp(prefix="fathom-fwd."))
        starting: list[tuple[Started, Process]] = []
        try:
            mount = mounts(wanted)
            listen = {one.name: self._address(one, sockets, start) for one in wanted}
            for one in wanted:
                options = [*self._listen(one, wanted, listen), *one.options()]
                planned = self._planned(one, options, record, start, mount[one.name])
                starting.append((planned, self._begin(planned)))
            started = [self._ready(*each) for each in starting]
        except BaseException:
            _end_all(starting)
            shutil.rmtree(sockets, ignore_errors=True)
            raise
        self._write(str(sockets), started)
        return started

    def restart(self) -> list[Started]:
        """Starts those that ended once more, where they listened: their clients go on. All of them, or none is left."""
        self.servers()  # says where there are none
        with self._changing():
            sockets, servers = self._read()  # another restart may just have ended
            starting: list[tuple[Started, Process]] = []
            try:
                for one in servers:
                    if not is_running(one):
                        starting.append((one, self._begin(one)))
                started = {one.name: self._ready(one, process) for one, process in starting}
            except BaseException:
                _end_all(starting)
                raise
            self._write(sockets, [started.get(one.name, one) for one in servers])
        return list(started.values())

    def _write(self, sockets: str, servers: list[Started]) -> None:
        state = {"sockets": sockets, "servers": [asdict(one) for one in servers]}
        replace_text(self.file, json.dumps(state, indent=1) + "\n")

    def _planned(
        self, server: Server, options: list[str], record: Path | None, start: str, mount: str
    ) -> Started:
        """What is known of it before it runs."""
        if server.is_here and not Path(server.path).is_dir() and hosts.is_local(server.host):
            raise UsageError(f"server {server.name}: {server.path} is no directory")
        before = hosts.starter(server.host, start)
        command = [*before, str(paths.engine()), "forward", server.exported, *options]
        if record:
            command += ["--record", str(record.resolve())]
        log = str(Path(server.log or self.folder / f"{server.name}.log").absolute())
        return Started(
            server.name, "", server.exported, server.host, log, 0, 0, 0, before, mount,
            server.role, server.munge(), command, str(Path.cwd()),
        )  # fmt: skip

    def _begin(self, server: Started) -> Process:
        with open(server.log, "a", encoding="utf-8") as log:
            try:
                return subprocess.Popen(
                    server.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                    text=True, start_new_session=True, env=_environment(), cwd=server.cwd,
                )  # fmt: skip
            except OSError as error:
                raise FathomError(
                    f"server {server.name}: {error.filename}: {error.strerror}"
                ) from error

    def _address(self, server: Server, sockets: Path, start: str) -> str:
        """Where it is told to listen."""
        elsewhere = bool(hosts.starter(server.host, start))
        if server.protocol == "unix" and elsewhere:
            raise UsageError(
                f"server {server.name}: a Unix socket serves this machine only; use tcp"
            )
        protocol = server.protocol or ("tcp" if elsewhere else "unix")
        if protocol == "unix":
            return f"unix:{sockets / server.name}"
        host = server.host or "127.0.0.1"
        place = f"{host}:{server.port or (0 if elsewhere else _free_port(host))}"
        return f"ofi+{server.provider}:{place}" if server.provider else f"{protocol}:{place}"

    def _listen(
        self, server: Server, all_of_them: list[Server], listen: dict[str, str]
    ) -> list[str]:
        """Those of one directory share the ends of its files, where all addresses are known before they listen; those
        that stripe must know them."""
        kind, _, place = listen[server.name].partition(":")
        kind, plus, provider = kind.partition("+")
        options = [f"--{kind}", f"+{provider}:{place}" if plus else place]
        if kind != "unix":
            options += self.proof(server.munge())
        is_striped = server.role == "striped"
        fellows = [
            other for other in all_of_them
            if other.role == server.role and (is_striped or other.path == server.path)
        ]  # fmt: skip
        group = [listen[other.name] for other in fellows]
        shares = len(group) > 1 and not server.is_before  # what is behind knows the ends
        if (is_striped or shares) and any(address.endswith(":0") for address in group):
            what = "striped servers" if is_striped else f"servers of {server.path}"
            raise UsageError(f"server {server.name}: {what} on other machines need a port each")
        if is_striped or shares:
            file = self.folder.resolve() / f"{server.name}.group"
            file.write_text("\n".join(group) + "\n", encoding="utf-8")
            options += ["--stripe" if is_striped else "--group", str(file)]
        if is_striped:
            options += ["--mount", mounts(all_of_them)[server.name]]
        return options

    def _ready(self, server: Started, process: Process) -> Started:
        """It has said where it listens, and which process it is."""
        assert process.stdout
        readable, _, _ = select.select([process.stdout], [], [], START)
        address = process.stdout.readline().strip() if readable else ""
        process.stdout.close()
        if not address:
            raise FathomError(f"server {server.name} did not start: {_last_line(server)}")
        state = self.ask([address], server.munge)[0]
        if "error" in state:
            raise FathomError(f"server {server.name}, {address}: {state['error']}")
        return replace(
            server, address=address, pid=state["pid"], launcher=process.pid,
            since=began(process.pid) or 0, command=_at_port(server.command, address),
        )  # fmt: skip

    def proof(self, munge: str) -> list[str]:
        """Options by which a server and its clients know each other where no Unix socket does it."""
        if munge:
            return ["--munge" if munge == "1" else f"--munge={munge}"]
        return ["--token", str(self.token.resolve())]

    def ask(self, addresses: list[str], munge: str) -> list[dict[str, Any]]:
        """What each server says of itself: its counters, or `error`."""
        if not addresses:
            return []
        command = [str(paths.engine()), "forward-status", *addresses]
        if self.token.exists():
            command += self.proof("")
        if munge:
            command += self.proof(munge)
        status = subprocess.run(command, capture_output=True, text=True, check=False)
        if status.returncode:
            raise FathomError(status.stderr.strip())
        return [json.loads(line) for line in status.stdout.splitlines()]

    def down(self, patience: float) -> Iterator[tuple[Started, str]]:
        """Asks each to end, waits until what it had accepted is written, says how each ended; '' is well."""
        sockets, servers = self._read()
        exited = [server.name for server in servers if not is_running(server)]
        for server in servers:
            _signal(server, signal.SIGTERM)
        due = time.monotonic() + patience
        for server in servers:
            while is_running(server) and time.monotonic() < due:
                time.sleep(0.02)
            yield server, GONE if server.name in exited else self._end(server, patience)
        shutil.rmtree(sockets, ignore_errors=True)
        self.file.unlink()
        self.token.unlink(missing_ok=True)

    def _end(self, server: Started, patience: float) -> str:
        lines = [line for line in _text(Path(server.log)).splitlines() if LOST in line]
        if is_running(server):
            _signal(server, signal.SIGKILL)
            lines.append(
                f"killed after {patience:g} s: what it had accepted and not written is lost"
            )
        return "; ".join(line.removeprefix("fathom-engine: ") for line in lines)


def _last_line(server: Started) -> str:
    lines = _text(Path(server.log)).splitlines()
    return lines[-1] if lines else f"it said nothing within {START:.0f} s"


def _at_port(command: list[str], address: str) -> list[str]:
    """Where it was told to take any free port: the one that it took."""
    kind, _, place = address.partition(":")
    at = command.index("--" + kind.partition("+")[0]) + 1
    if not command[at].endswith(":0"):
        return command
    port = place.rpartition(":")[2]
    return [*command[:at], command[at].removesuffix("0") + port, *command[at + 1 :]]


def _end_all(starting: list[tuple[Started, Process]]) -> None:
    for _, process in starting:
        with contextlib.suppress(OSError):
            process.terminate()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _environment() -> dict[str, str]:
    """A server outlives the agent that ships streams: its own are files of the run."""
    return {name: value for name, value in os.environ.items() if name != "FATHOM_STREAMS"}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def began(pid: int) -> int | None:
    """When a process of this machine began; None: it is gone, or waits to be buried."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] == "Z" else int(words[19])


def is_alive(pid: int, since: int) -> bool:
    """Is it the process that began then? A child of ours that has ended is buried."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return began(pid) == since


def is_running(server: Started) -> bool:
    """Is what started it there?"""
    return is_alive(server.launcher, server.since)


def _signal(server: Started, how: signal.Signals) -> None:
    if not is_running(server):
        return
    if not server.start:
        os.kill(server.launcher, how)
        return
    command = [*server.start, "kill", f"-{how.name.removeprefix('SIG')}", str(server.pid)]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
