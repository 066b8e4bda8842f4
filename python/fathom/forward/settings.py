"""What a configuration file says of servers (docs/commands/forward.md)."""

import os
import stat
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from fathom.errors import UsageError, unknown

ROLES = ("forward", "striped")
PROTOCOLS = ("unix", "tcp", "ofi")
STORES = ("posix", "null")
PROOFS = ("token", "munge")
ADDRESSES = ("unix:", "tcp:", "ofi:", "ofi+")  # a path that begins so is another server's address


@dataclass(frozen=True)
class Server:
    """One server; what is empty is chosen when it is started."""

    path: str  # the directory that it exports, or keeps its stripes in
    role: str = "forward"
    name: str = ""
    host: str = ""  # empty: this machine
    protocol: str = ""  # empty: unix on this machine, tcp elsewhere
    provider: str = ""  # libfabric's, of protocol ofi; empty: its choice
    port: int = 0
    log: str = ""
    store: str = "posix"
    throttle: str = ""
    workers: int = 4
    cache: int = 64 << 20  # bytes of blocks that are kept; 0: none
    pool: int = 0  # bytes of buffers for data on its way; 0: the server's default
    stripe: int = 0  # bytes of a stripe; 0: the server's default
    stripe_count: int = 0  # servers that a file is striped over; 0: all
    mount: str = ""  # where programs see files that are striped (empty: the first server's path) or in a CephFS
    auth: str = "token"  # by what it and its clients know each other where no Unix socket does it
    munge_socket: str = ""  # of auth "munge"; empty: munged's usual one
    behind_token: str = ""  # of an address as path: the token file of the server there
    ceph_conf: str = ""  # of cephfs:/PATH; empty: where Ceph looks
    ceph_id: str = ""  # client.ID; empty: admin
    plugins: tuple[str, ...] = ()  # libraries with operations of their own

    def munge(self) -> str:
        """FATHOM_FORWARD_MUNGE of its clients; empty: by token."""
        return (self.munge_socket or "1") if self.auth == "munge" else ""

    @property
    def is_here(self) -> bool:
        """It exports a directory of its machine, not one of a CephFS or of another server."""
        return not self.path.startswith(("cephfs:", *ADDRESSES))

    @property
    def is_before(self) -> bool:
        """It exports what another server does."""
        return self.path.startswith(ADDRESSES)

    @property
    def exported(self) -> str:
        """As the server is told."""
        return str(Path(self.path).resolve()) if self.is_here else self.path

    @property
    def seen(self) -> str:
        """Where programs see its files."""
        if self.is_here:
            return self.exported
        if not self.mount:
            raise UsageError(
                f"server {self.name}: mount is missing: the directory below which programs see {self.path}"
            )
        return self.mount

    def options(self) -> list[str]:
        """Of `fathom-engine forward`, but for where to listen."""
        options = ["--name", self.name, "--workers", str(self.workers), "--store", self.store]
        options += ["--cache", str(self.cache)]
        for name, value in self._numbers():
            options += [name, str(value)] if value else []
        for name in ("behind_token", "ceph_conf", "ceph_id"):
            if value := getattr(self, name):
                options += ["--" + name.replace("_", "-"), value]
        if self.mount and not self.is_here:
            options += ["--mount", self.mount]
        options += [word for plugin in self.plugins for word in ("--plugin", plugin)]
        return options + (["--throttle", self.throttle] if self.throttle else [])

    def _numbers(self) -> list[tuple[str, int]]:
        """What is left to the server where it is 0."""
        return [
            ("--pool", self.pool),
            ("--stripe-size", self.stripe),
            ("--stripe-count", self.stripe_count),
        ]


KEYS = {field.name: field.type for field in fields(Server)}
CHOICES = {"role": ROLES, "protocol": ("", *PROTOCOLS), "store": STORES, "auth": PROOFS}
RANGES = {
    "port": range(65536),
    "workers": range(1, 1025),
    "pool": range(1 << 40),
    "stripe": range(1 << 40),
    "stripe_count": range(1025),
    "cache": range(1 << 40),
}
#: What may be said of all servers in words, beside where they are (`--set`).
SET = ("cache", "pool", "store", "stripe", "stripe_count", "throttle", "workers")


def _is_a(kind: Any, value: Any) -> bool:
    if kind in (int, str):
        return isinstance(value, kind) and not isinstance(value, bool)
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _checked(where: str, keys: dict[str, Any]) -> dict[str, Any]:
    for key, value in keys.items():
        if key not in KEYS:
            raise UsageError(unknown(f"{where}: no key", key, KEYS))
        if not _is_a(KEYS[key], value):
            kind = "int" if KEYS[key] is int else "str" if KEYS[key] is str else "a list of str"
            raise UsageError(f"{where}: {key} = {value!r}: {kind} is expected")
        if key in CHOICES and value not in CHOICES[key]:
            can = ", ".join(word for word in CHOICES[key] if word)
            raise UsageError(f"{where}: {key} = {value!r}: this version has {can}")
        if key in RANGES and value not in RANGES[key]:
            most = RANGES[key][-1]
            raise UsageError(f"{where}: {key} = {value}: {RANGES[key][0]} to {most} is expected")
    return keys


def assigned(words: Sequence[str]) -> dict[str, Any]:
    """`KEY=VALUE` of each word, for all servers."""
    values: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in SET:
            raise UsageError(f"--set {word}: write KEY=VALUE; there are {', '.join(SET)}")
        values[key] = int(value) if KEYS[key] is int and value.isdecimal() else value
        _checked(f"--set {word}", {key: values[key]})
    return values


def read(file: Path) -> list[Server]:
    """Servers of a configuration file: each `[[server]]`, over what stands above them for all."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: {error}") from error
    each = table.pop("server", [])
    if not isinstance(each, list) or not all(isinstance(one, dict) for one in each) or not each:
        raise UsageError(f"{file}: it names no server; begin each with a line [[server]]")
    of_all = _checked(str(file), table)
    servers = []
    for number, one in enumerate(each):
        where = f"{file}: server {number + 1}"
        whole = of_all | _checked(where, one)
        if not whole.get("path"):
            raise UsageError(f"{where}: path is missing: the directory that it exports")
        server = Server(**whole)
        if server.provider and server.protocol != "ofi":
            raise UsageError(f"{where}: provider is of protocol = 'ofi'")
        servers.append(server)
    return named(servers)


def named(servers: list[Server]) -> list[Server]:
    """Those without a name get fwd0, fwd1, …; names are not used twice."""
    whole = [
        server if server.name else replace(server, name=f"fwd{number}")
        for number, server in enumerate(servers)
    ]
    names = [one.name for one in whole]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two servers are called {name}; give each another name")
    return whole


def striped(storage: Path, mount: str, count: int) -> list[Server]:
    """So many servers on this machine that stripe files over directories of their own, made in `storage`."""
    servers = named([Server(str(storage), role="striped", mount=mount)] * count)
    servers = [replace(server, path=str(storage / server.name)) for server in servers]
    for server in servers:
        Path(server.path).mkdir(parents=True, exist_ok=True)
        _like(Path(mount), Path(server.path))
    return servers


def _like(directory: Path, store: Path) -> None:
    """Programs see the store as that directory, and what they see is copied back: mode, owner and group."""
    try:
        attributes = directory.stat()
    except OSError as error:
        raise UsageError(f"{directory}: {error.strerror}") from error
    for owner, group in ((-1, attributes.st_gid), (attributes.st_uid, -1)):
        with suppress(PermissionError):
            os.chown(store, owner, group)
    store.chmod(stat.S_IMODE(attributes.st_mode))


def mounts(servers: list[Server]) -> dict[str, str]:
    """By their names, the directories below which programs reach the servers; those that stripe have one together."""
    stripes = [server for server in servers if server.role == "striped"]
    mount_points = [stripe.mount for stripe in stripes if stripe.mount]
    together = (mount_points or [stripe.path for stripe in stripes] or [""])[0]
    return {
        server.name: str(Path(together).resolve()) if server in stripes else server.seen
        for server in servers
    }
