"""A GlusterFS of one machine: its manager, two servers (bricks), and a FUSE mount, on a loopback address of its own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .cephfs import ended, until

BRICKS = 2
# Of Debian's glusterfs-server and glusterfs-client. Only a long test needs them, so packaging/debian-packages.txt does
# not name them.
NEEDS = ["root", "fuse", "glusterd", "gluster", "glusterfs"]

VOLUME = """
volume management
    type mgmt/glusterd
    option working-directory {at}/work
    option run-directory {at}/run
    option glusterd-sockfile {at}/run/glusterd.socket
    option transport-type socket
    option transport.address-family inet
    option transport.socket.bind-address {host}
    option transport.socket.listen-port 24007
end-volume
"""


class Volume:
    """A distributed volume: each file is whole on one of the bricks."""

    def __init__(self, at: Path) -> None:
        self.at, self.mount = at, at / "mount"
        # GlusterFS takes any loopback address but the first; clients know its port alone.
        self.host = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.2"
        self.started: list[subprocess.Popen[bytes]] = []
        for part in ("work", "run", "mount"):
            (at / part).mkdir(parents=True)
        self.directories = [at / f"brick{number}" for number in range(BRICKS)]
        for directory in self.directories:
            directory.mkdir()

    def gluster(self, *words: object) -> str:
        command = ["gluster", "--mode=script", f"--glusterd-sock={self.at}/run/glusterd.socket"]
        done = subprocess.run(
            [*command, *map(str, words)], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def _daemon(self, *words: object) -> None:
        self.started.append(subprocess.Popen([*map(str, words), "-N"], start_new_session=True))

    def start(self) -> None:
        (self.at / "glusterd.vol").write_text(VOLUME.format(at=self.at, host=self.host))
        self._daemon(
            "glusterd",
            "-f",
            self.at / "glusterd.vol",
            "-p",
            self.at / "glusterd.pid",
            "-l",
            self.at / "log",
        )
        until((self.at / "run" / "glusterd.socket").exists, "glusterd")
        bricks = [f"{self.host}:{directory}" for directory in self.directories]
        self.gluster("volume", "create", "vol", "transport", "tcp", *bricks, "force")
        self.gluster("volume", "start", "vol")
        self._daemon(
            "glusterfs",
            "-s",
            self.host,
            "--volfile-id",
            "vol",
            "-l",
            self.at / "mount.log",
            self.mount,
        )
        until(self.mount.is_mount, f"the mount {self.mount}")

    def pids(self) -> list[int]:
        """Of the bricks' processes, in their order."""
        running = []
        for directory in self.directories:
            status = self.gluster("volume", "status", "vol", f"{self.host}:{directory}", "detail")
            number = re.search(r"^Pid\s*:\s*(\d+)", status, re.MULTILINE)
            assert number, status
            running.append(int(number[1]))
        return running

    def stop(self) -> None:
        subprocess.run(["umount", self.mount], capture_output=True, timeout=300, check=False)
        if (self.at / "run" / "glusterd.socket").exists():
            self.gluster("volume", "stop", "vol", "force")
        for process in reversed(self.started):
            process.terminate()
            ended(process)


@contextmanager
def volume(at: Path) -> Iterator[Volume]:
    volume_ = Volume(at)
    try:
        volume_.start()
        yield volume_
    finally:
        volume_.stop()
