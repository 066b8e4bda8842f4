"""File systems that say when a write would wait (RWF_NOWAIT), each on an image that is mounted: a server's own thread
writes there what it need not wait for. About 10 s."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import needs
from harness.disks import IMAGE, disk

from .client import Refused, Server
from .test_c_client import DRIVE
from .wire import NUMBERS

WRITES, SIZE = 200, 4096


@pytest.mark.parametrize("disk_of", [["xfs"], ["btrfs", "nodatacow"], ["btrfs"]])
def test_small_writes_do_not_wait_where_the_file_system_says_so(
    tmp_path: Path, disk_of: list[str]
) -> None:
    """btrfs says it of files that it does not copy on write: for others it is seldom asked."""
    needs.require(["strace"])
    log = tmp_path / "strace"
    strace = ["strace", "-D", "-f", "-qq", "-o", str(log), "-e", "trace=pwritev,pwritev2"]
    kind, *options = disk_of
    with disk(kind, tmp_path, *options) as at:
        served = Server(at, "--unix", str(tmp_path / "s"), under=strace)
        client = served.client()
        handle = client.open("f")
        for step in range(WRITES):
            client.write(handle, step % 16 * SIZE, bytes([step]) * SIZE)
        assert served.stop() == 0
        last = range(WRITES - 16, WRITES)
        content = {step % 16: bytes([step]) * SIZE for step in last}
        assert (at / "f").read_bytes() == b"".join(content[block] for block in range(16))
    tried = re.findall(r"pwritev2\(.*RWF_NOWAIT\) += +(-?\d+)", log.read_text())
    others = re.findall(r"pwritev\(.*\) += +(-?\d+)", log.read_text())
    granted = tried.count(str(SIZE))
    assert granted > WRITES / 2 or disk_of == ["btrfs"]  # a new block may have to wait
    assert granted > WRITES / 2 or len(tried) < WRITES / 4
    assert tried.count(str(SIZE)) + others.count(str(SIZE)) == WRITES


@pytest.mark.parametrize("kind", ["xfs", "btrfs"])
def test_what_is_written_without_waiting_is_there(tmp_path: Path, kind: str) -> None:
    """Random operations, many at once, and a disk that is full."""
    if not DRIVE.exists():
        pytest.skip("no build/: make build")
    with disk(kind, tmp_path) as at:
        served = Server(at, "--unix", str(tmp_path / "s"))
        address, local = served.addresses[0], tmp_path / "local"
        subprocess.run([DRIVE, "fsx", address, local, "300", "5"], check=True, timeout=300)
        subprocess.run([DRIVE, "pipeline", address, "1000", "6"], check=True, timeout=300)
        assert (at / "fsx").read_bytes() == local.read_bytes()
        fill(at / "filler")
        client = served.client()
        handle = client.open("g")
        with pytest.raises(Refused) as refused:
            for step in range(IMAGE // SIZE):
                client.write(handle, step * SIZE, os.urandom(SIZE))
        assert refused.value.status == errno.ENOSPC
        flags = NUMBERS["flag"]["nonblocking"]
        client.write(handle, IMAGE, os.urandom(16 * SIZE), flags=flags)
        assert [failed[4] for failed in client.commit(handle, 2)] == [errno.ENOSPC]
        assert served.stop() == 0


def fill(path: Path) -> None:
    """All space that is left but some."""
    left = os.statvfs(path.parent)
    with path.open("wb") as file:
        bytes_left = left.f_bavail * left.f_frsize
        os.posix_fallocate(file.fileno(), 0, max(bytes_left - (8 << 20), 1))
