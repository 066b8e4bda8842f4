"""A CephFS of one machine: monitor, manager, object storage daemons (OSDs), metadata server, FUSE mounts.

All of it lies in one directory and listens on loopback only; it ends with the test. What each OSD was asked is read
from the OSD itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

OSDS = 4
HISTORY = 20000  # operations that an OSD remembers
PATIENCE = 300.0  # seconds for a daemon or a mount, on a busy machine too
# Packages of the same names, ceph-common, and libcephfs2, which they bring; 65 MB. Only long tests need them, so
# packaging/debian-packages.txt does not name them.
NEEDS = ["root", "fuse", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-fuse", "ceph"]

# These intervals of the monitor make a start three times as fast. OSDs keep their last operations to be asked for.
CONF = """
[global]
fsid = {fsid}
mon host = v2:127.0.0.1:{port}/0
public network = 127.0.0.0/8
cluster network = 127.0.0.0/8
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
ms bind msgr1 = false
auth cluster required = none
auth service required = none
auth client required = none
keyring = {at}/keyring
run dir = {at}/run
admin socket = {at}/run/$name.asok
pid file = {at}/run/$name.pid
log file = {at}/log/$name.log
mon data = {at}/mon
mgr data = {at}/mgr
mds data = {at}/mds
osd data = {at}/osd.$id
bluestore block size = 4294967296
bluestore block create = true
bluestore cache autotune = false
bluestore cache size = 67108864
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
osd pool default pg autoscale mode = off
osd class update on start = false
osd heartbeat grace = 600
mds beacon grace = 600
osd op history size = {history}
osd op history duration = 600
paxos propose interval = 0.05
paxos min wait = 0.01
mon allow pool size one = true
mon data avail warn = 2
mon data avail crit = 1
mgr initial modules =
[client]
admin socket = {at}/run/client.$pid.asok
fuse disable pagecache = true
client oc max dirty age = 600
"""


@dataclass(frozen=True)
class Write:
    """One write that an OSD was asked for: place in its object, bytes."""

    osd: int
    object: str
    offset: int
    length: int


class CephFS:
    """The file system; `mount` gives one more client of it."""

    def __init__(self, at: Path) -> None:
        self.at = at
        self.conf = at / "ceph.conf"
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.mounts: dict[Path, subprocess.Popen[bytes]] = {}
        for part in ("run", "log", "mon", "mgr", "mds"):
            (at / part).mkdir(parents=True)

    def _run(self, *words: object) -> str:
        command = [str(word) for word in words]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def ceph(self, *words: object) -> str:
        """A command of the cluster's own tool."""
        return self._run("ceph", "-c", self.conf, *words)

    def _daemon(self, *words: object) -> subprocess.Popen[bytes]:
        """A process of the file system, in the foreground, so that it can be waited for."""
        command = [str(word) for word in words]
        with (self.at / "log" / "out").open("ab") as out:
            return subprocess.Popen(
                [*command, "-c", str(self.conf), "-f"],
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def start(self) -> None:
        fsid = str(uuid.uuid4())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.conf.write_text(CONF.format(at=self.at, fsid=fsid, port=port, history=HISTORY))
        self._monitor(fsid, port)
        # After a minute it would move data to other OSDs than those that the test asked for.
        self.ceph("config", "set", "--force", "mgr", "mgr/balancer/active", "false")
        self.daemons.append(self._daemon("ceph-mgr", "-i", "x"))
        for osd in range(OSDS):
            self._osd(osd)
        for pool, groups in (("meta", 8), ("data", 64)):
            self.ceph("osd", "pool", "create", pool, groups)
        self.ceph("fs", "new", "cephfs", "meta", "data")
        self.daemons.append(self._daemon("ceph-mds", "-i", "a"))
        until(lambda: "up:active" in self.ceph("mds", "stat"), "the metadata server")

    def _monitor(self, fsid: str, port: int) -> None:
        keyring, map_ = self.at / "keyring", self.at / "monmap"
        new_key = ("ceph-authtool", keyring, "--gen-key", "-n")
        every = [word for who in ("mon", "osd", "mds", "mgr") for word in ("--cap", who, "allow *")]
        self._run(*new_key, "mon.", "--create-keyring", "--cap", "mon", "allow *")
        self._run(*new_key, "client.admin", *every)
        address = f"[v2:127.0.0.1:{port}/0]"
        self._run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", address, map_)
        options = ("--mkfs", "-i", "a", "--monmap", map_, "--keyring", keyring)
        self._run("ceph-mon", "-c", self.conf, *options)
        self.daemons.append(self._daemon("ceph-mon", "-i", "a"))

    def _osd(self, number: int) -> None:
        which = str(uuid.uuid4())
        (self.at / f"osd.{number}").mkdir()
        self.ceph("osd", "new", which)
        self._run("ceph-osd", "-c", self.conf, "-i", number, "--mkfs", "--osd-uuid", which)
        self.daemons.append(self._daemon("ceph-osd", "-i", number))
        self.ceph("osd", "crush", "add", f"osd.{number}", "1.0", "root=default", "host=h0")

    def mount(self, name: str) -> Path:
        """The directory of a new client, as a node of its own has it."""
        place = self.at / name
        place.mkdir()
        self.mounts[place] = self._daemon("ceph-fuse", place)
        until(place.is_mount, f"the mount {place}")
        return place

    def stripe(self, directory: Path, unit: int, count: int) -> None:
        """New files below the directory are striped so."""
        layout = f"stripe_unit={unit} stripe_count={count} object_size={16 * unit}"
        os.setxattr(directory, "ceph.dir.layout", layout.encode())

    def layout(self, file: Path) -> dict[str, str]:
        """How a file is striped: stripe_unit, stripe_count, object_size, pool."""
        attribute = os.getxattr(file, "ceph.file.layout").decode().split()
        return {key: value for key, _, value in (word.partition("=") for word in attribute)}

    @contextmanager
    def slow(self, osd: int, seconds: float) -> Iterator[None]:
        """Each operation of this OSD waits before it is begun with."""
        setting = ["--admin-daemon", self.at / "run" / f"osd.{osd}.asok", "config", "set"]
        self.ceph(*setting, "osd_debug_inject_dispatch_delay_duration", seconds)
        self.ceph(*setting, "osd_debug_inject_dispatch_delay_probability", 1)
        try:
            yield
        finally:
            self.ceph(*setting, "osd_debug_inject_dispatch_delay_probability", 0)

    def pool_without(self, osd: int, name: str) -> None:
        """A further pool of data on all OSDs but one; metadata go there as well."""
        others = [f"osd.{one}" for one in range(OSDS) if one != osd]
        self.ceph("osd", "crush", "set-device-class", name, *others)
        self.ceph("osd", "crush", "rule", "create-replicated", name, "default", "osd", name)
        self.ceph("osd", "pool", "create", name, 32, 32, "replicated", name)
        self.ceph("osd", "pool", "set", "meta", "crush_rule", name)
        self.ceph("fs", "add_data_pool", "cephfs", name)

    def written(self) -> list[int]:
        """Bytes that each OSD was asked to write since it began, by its own counter."""
        sockets = (self.at / "run" / f"osd.{osd}.asok" for osd in range(OSDS))
        counters = (self.ceph("--admin-daemon", one, "perf", "dump", "osd") for one in sockets)
        return [int(json.loads(one)["osd"]["op_w_in_bytes"]) for one in counters]

    def killed(self, client: int) -> None:
        """A client's process was killed: others need not wait until the file system finds that out by itself."""
        known = json.loads(self.ceph("tell", "mds.a", "client", "ls"))
        of_it = [one["id"] for one in known if one["client_metadata"]["pid"] == str(client)]
        for session in of_it:
            self.ceph("tell", "mds.a", "client", "evict", f"id={session}")

    def forget(self) -> None:
        """OSDs need not remember what they were asked for: it takes long to tell."""
        setting = ("config", "set", "osd_op_history_size")
        self.ceph("tell", "osd.*", *setting, 0)
        self.ceph("tell", "osd.*", "dump_historic_ops")  # drops what is too much
        self.ceph("tell", "osd.*", *setting, HISTORY)

    def writes(self, file: Path) -> list[Write]:
        """Writes of the file's data that OSDs were asked for and still remember."""
        objects = f"{file.stat().st_ino:x}."
        return [
            write
            for osd in range(OSDS)
            for write in self._writes(osd)
            if write.object.startswith(objects)
        ]

    def _writes(self, osd: int) -> Iterator[Write]:
        asok = self.at / "run" / f"osd.{osd}.asok"
        dump = json.loads(self._run("ceph", "--admin-daemon", asok, "dump_historic_ops"))
        for op in dump["ops"]:
            yield from writes_of(osd, op["description"])

    def stop(self) -> None:
        """Mounts first: a client whose servers have gone hangs."""
        for place, client in self.mounts.items():
            subprocess.run(["umount", place], capture_output=True, timeout=PATIENCE, check=False)
            ended(client)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            ended(daemon)
        shutil.rmtree(self.at, ignore_errors=True)


def writes_of(osd: int, description: str) -> Iterator[Write]:
    """From the line that an OSD keeps of an operation: `… POOL:HASH:::INODE.OBJECT:head [write 0~4096 …]`."""
    of_file = re.search(r":::([0-9a-f]+\.[0-9a-f]{8}):head \[([^\]]*)\]", description)
    if of_file is None:
        return
    for offset, length in re.findall(r"(?:write|writefull) (\d+)~(\d+)", of_file[2]):
        yield Write(osd, of_file[1], int(offset), int(length))


def until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"{what} did not come up in {PATIENCE:g} s"
        time.sleep(0.1)


def ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def cluster(at: Path) -> Iterator[CephFS]:
    file_system = CephFS(at)
    try:
        file_system.start()
        yield file_system
    finally:
        file_system.stop()
