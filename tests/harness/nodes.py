"""Two nodes on one machine: namespaces with a host name, a boot id, a /dev/shm and a local disk of their own;
and Slurm's daemons in them."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from harness import munge, needs, paths

#: Inside a node's namespaces, before its command: mounts that nobody else sees.
ENTER = """
set -e
hostname "$HOST"
mount -t tmpfs -o size=512m shm /dev/shm
mount -t tmpfs -o size=64m tmp /mnt
mount --bind "$BOOT" /proc/sys/kernel/random/boot_id
mount --bind "$HOSTS" /etc/hosts
mount --bind "$DISK" "$LOCAL"
exec "$@"
"""


class Node:
    """A node: `enter` runs a command in it; `disk` is what its programs see as `local`."""

    def __init__(self, at: Path, name: str, host: str, local: Path) -> None:
        self.name, self.host, self.local = name, host, local
        self.boot_id = str(uuid.uuid4())
        self.disk = at / f"{name}.disk"
        self.disk.mkdir()
        self.boot = at / f"{name}.boot_id"
        self.boot.write_text(self.boot_id + "\n")
        self.hosts = at / f"{name}.hosts"
        self.hosts.write_text(f"127.0.0.1 localhost {host} {os.uname().nodename}\n")

    def command(self, *words: object) -> list[str]:
        own = {"HOST": self.host, "BOOT": self.boot, "HOSTS": self.hosts}
        own |= {"DISK": self.disk, "LOCAL": self.local}
        settings = [f"{key}={value}" for key, value in own.items()]
        inside = ["env", *settings, "sh", "-c", ENTER, "sh", *map(str, words)]
        return ["unshare", "--mount", "--uts", "--propagation", "private", *inside]


def make(at: Path, names: list[str], hosts: list[str]) -> list[Node]:
    local = at / "local"
    local.mkdir(parents=True)
    return [Node(at, name, host, local) for name, host in zip(names, hosts, strict=True)]


CONF = """
ClusterName=t
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthInfo=socket={at}/munge.sock
CommunicationParameters=NoAddrCache,NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={at}/state
TmpFS=/mnt
SlurmdSpoolDir={at}/spool.%n
SlurmdPidFile={at}/slurmd.%n.pid
SlurmdLogFile={at}/slurmd.%n.log
SlurmctldPidFile={at}/slurmctld.pid
SlurmctldLogFile={at}/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
PropagateResourceLimits=NONE
"""

#: So that ranks of MPICH on several nodes end.
ENDS = {"LD_PRELOAD": str(paths.BUILD / "tests" / "tools" / "ends_unflushed.so")}


def free_ports(count: int) -> list[int]:
    """Of this machine, that nobody listens on."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]


class Slurm:
    """A cluster of emulated nodes; `run` is srun on all of them."""

    def __init__(self, at: Path, nodes: list[Node], settings: str = "") -> None:
        self.at, self.nodes = at, nodes
        self.started: list[subprocess.Popen[bytes]] = []
        self.conf = at / "slurm.conf"
        port, *ports = free_ports(1 + len(nodes))
        lines = [CONF.format(at=at, host=os.uname().nodename, port=port), settings + "\n"]
        for node, own in zip(nodes, ports, strict=True):
            lines.append(
                f"NodeName={node.name} NodeHostname={os.uname().nodename} NodeAddr=127.0.0.1 "
                f"Port={own} CPUs=8 RealMemory=1000\n"
            )
        lines.append("PartitionName=all Nodes=ALL Default=YES State=UP\n")
        self.conf.write_text("".join(lines))

    def _start(self, *command: object) -> None:
        words = [str(word) for word in command]
        log = (self.at / f"{len(self.started)}.out").open("wb")
        self.started.append(subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True))

    def start(self) -> None:
        (self.at / "state").mkdir()
        self._start(*munge.command(self.at))
        self._until((self.at / "munge.sock").exists)
        self._start("slurmctld", "-D", "-f", self.conf)
        for node in self.nodes:
            self._start(*node.command("slurmd", "-D", "-N", node.name, "-f", self.conf))
        self._until(self._idle)

    def _idle(self) -> bool:
        done = self._ask("sinfo", "-h", "-N", "-o", "%t")
        return done.stdout.split() == ["idle"] * len(self.nodes)

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, env=self.environment(), capture_output=True, text=True, check=False, timeout=300
        )

    def environment(self) -> dict[str, str]:
        own = {"SLURM_CONF": str(self.conf), "OMPI_MCA_mpi_yield_when_idle": "1"}
        return {**os.environ, **own, **ENDS}

    def _until(self, holds: object) -> None:
        assert callable(holds)
        end = time.monotonic() + 30
        while not holds():
            if time.monotonic() > end:
                logs = "\n".join(log.read_text() for log in self.at.glob("*.log"))
                pytest.fail(f"Slurm does not do as it is told:\n{logs[-3000:]}")
            time.sleep(0.05)

    def run(self, line: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """srun with these words."""
        words = ["srun", "-N", str(len(self.nodes)), *shlex.split(line)]
        return subprocess.run(
            words,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def stop(self) -> None:
        """A test that failed may have left a job: its processes would outlive the daemons."""
        try:
            self._ask("scancel", "--signal=KILL", "--user=root")
            self._ask("scancel", "--user=root")
            self._until(lambda: not self._ask("squeue", "-h").stdout.strip())
        finally:
            self._end()

    def _end(self) -> None:
        for process in reversed(self.started):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=100)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def slurm(at: Path, hosts: list[str], settings: str = "") -> Iterator[Slurm]:
    """Slurm on one emulated node per host name; `settings`: more lines of slurm.conf."""
    needs.require(["namespaces", "slurmctld", "slurmd", "srun", "munged"])
    at = at.resolve()
    nodes = make(at, [f"n{i}" for i in range(1, len(hosts) + 1)], hosts)
    cluster = Slurm(at, nodes, settings)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def contents(part: Path) -> dict[str, bytes]:
    """What nodes send to a collector, but for run.json, which is the run's."""
    files = (
        path for path in part.glob("streams/*/*") if path.name not in ("collected", "run.json")
    )
    return {str(path.relative_to(part)): path.read_bytes() for path in files}
