"""Forwarding to a real CephFS: equal files, and fewer, larger, aligned writes, as its storage daemons count them.

Long: 2 minutes. A node is a mount of its own: its client of CephFS caches nothing of a file that other nodes write.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import cephfs, paths, runner

from .client import Server

RANKS = 4
UNIT = 65536  # of striping
KERNELS = paths.BUILD / "kernels"
PRELOAD = paths.BUILD / "libfathom_fwd_preload.so"
# A shared file, written by all ranks in turns: 16 segments of 4 blocks of 16 transfers of 1,000 bytes.
STRIDED = ["ior_posix_mpich", "-m", "independent", "16", "16000", "1000"]
TRANSFERS = 16 * RANKS * 16
PROGRAMS = [
    ["s3d_mpiio_mpich", "-c", "1", "16", "16", "16", "2", "2", "1"],
    ["flash_hdf5_mpich", "-b", "4"],
]

pytestmark = pytest.mark.full


@contextmanager
def forwarders(ceph: cephfs.CephFS, name: str, count: int) -> Iterator[dict[str, str]]:
    """A group of servers, each on a node of its own; what clients are told."""
    addresses = [f"unix:{ceph.at}/{name}{number}.socket" for number in range(count)]
    group = ceph.at / f"{name}.group"
    group.write_text("\n".join(addresses) + "\n")
    started = []
    try:
        for number, address in enumerate(addresses):
            listening = ["--unix", address.removeprefix("unix:"), "--group", str(group)]
            started.append(Server(ceph.mount(f"{name}{number}"), *listening))
        yield {
            "LD_PRELOAD": str(PRELOAD),
            "FATHOM_FORWARD_PREFIX": "/fwd",
            "FATHOM_FORWARD_SERVERS": ";".join(addresses),
        }
    finally:
        for server in started:
            assert server.stop() == 0, server.log.read_text()


def run(program: list[str], where: str, settings: dict[str, str] | None = None) -> None:
    """On all ranks; `where` as a shell of a rank reads it."""
    kernel, *words = program
    command = " ".join(["exec", str(KERNELS / kernel), *words, where])
    subprocess.run(
        ["mpiexec.mpich", "-n", str(RANKS), "sh", "-c", command], env=os.environ | (settings or {}),
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip


def directory(ceph: cephfs.CephFS, name: str) -> Path:
    """A new one, whose files are striped over all OSDs."""
    folder = ceph.at / "node0" / name
    folder.mkdir()
    ceph.stripe(folder, UNIT, cephfs.OSDS)
    return folder


def of_nodes(ceph: cephfs.CephFS, name: str) -> str:
    """The directory as each rank's node has it."""
    return f"{ceph.at}/node$PMI_RANK/{name}"


def test_a_forwarder_makes_fewer_larger_aligned_writes_of_the_same_bytes(
    ceph: cephfs.CephFS,
) -> None:
    direct, served = directory(ceph, "direct"), directory(ceph, "served")
    run(STRIDED, of_nodes(ceph, "direct"))
    with forwarders(ceph, "alone", 1) as settings:
        run(STRIDED, "/fwd/served", settings)
    assert not runner.unequal(direct, served)
    before, after = (ceph.writes(one / "ior.bin") for one in (direct, served))
    total = TRANSFERS * 1000
    assert sum(write.length for write in before) == total
    assert sum(write.length for write in after) == total
    # A rank that opens the file before the others keeps its first writes together; the rest go one by one.
    assert len(before) > TRANSFERS / 2
    assert len(after) <= total // UNIT + 1
    assert all(write.offset % UNIT == 0 for write in after)


def test_forwarders_that_share_a_file_make_no_more_writes_than_the_program(
    ceph: cephfs.CephFS,
) -> None:
    direct, served = directory(ceph, "direct2"), directory(ceph, "served2")
    run(STRIDED, of_nodes(ceph, "direct2"))
    with forwarders(ceph, "pair", 2) as settings:
        run(STRIDED, "/fwd/served2", settings)
    assert not runner.unequal(direct, served)
    crossing = TRANSFERS * 1000 // UNIT  # a write over the end of a stripe is two
    assert len(ceph.writes(served / "ior.bin")) <= TRANSFERS + crossing


@pytest.mark.parametrize("program", PROGRAMS, ids=["s3d", "flash"])
def test_kernels_leave_the_same_files(ceph: cephfs.CephFS, program: list[str]) -> None:
    name = program[0]
    direct, served = directory(ceph, f"{name}.direct"), directory(ceph, f"{name}.served")
    run(program, of_nodes(ceph, f"{name}.direct"))
    with forwarders(ceph, name, 2) as settings:
        run(program, f"/fwd/{name}.served", settings)
    assert not runner.unequal(direct, served)
