"""Bricks of GlusterFS and their clients, attached together: which calls each access of a brick was for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness import gluster, needs, tables
from harness.attached import works
from harness.cephfs import until

PWRITE = "18"  # as /proc/PID/syscall has it
BLOCK, BLOCKS = 5000, 40

# Does to one file what its input says, line by line.
CLIENT = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | int(sys.argv[2]))
print(flush=True)
for line in sys.stdin:
    offset, size = map(int, line.split())
    os.pwrite(file, bytes(size), offset)
    print(flush=True)
os.fsync(file)
os.close(file)
"""


class Client:
    def __init__(self, file: Path, flags: int) -> None:
        command = [sys.executable, "-c", CLIENT, file, flags]
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid
        self.answers(1)

    def asked(self, *ranges: tuple[int, int]) -> None:
        assert self.process.stdin
        self.process.stdin.writelines(f"{offset} {size}\n" for offset, size in ranges)
        self.process.stdin.flush()

    def answers(self, count: int) -> None:
        assert self.process.stdout
        for _ in range(count):
            assert self.process.stdout.readline()

    def ends(self) -> None:
        self.process.communicate(timeout=300)
        assert self.process.returncode == 0

    def writes_now(self) -> bool:
        return Path(f"/proc/{self.pid}/syscall").read_text().split()[0] == PWRITE


@contextmanager
def client(file: Path, flags: int) -> Iterator[Client]:
    started = Client(file, flags)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def stored(volume: gluster.Volume, name: str) -> int:
    """The inode that the file has on its brick."""
    [path] = [path for at in volume.directories if (path := at / name).exists()]
    return path.stat().st_ino


def accesses(connection: Any, pids: list[int], inode: int) -> list[tuple[int, int, int]]:
    """Of the bricks to this file of theirs: id, offset, size."""
    rows = tables.ask(
        connection,
        "select c.id, c.file_offset, c.bytes from calls c join processes p using (process)"
        f" join files f using (file) where list_contains({pids}, p.pid) and f.inode = {inode}"
        " and c.op = 'pwrite'",
    )
    assert rows
    return [(row[0], row[1], row[2]) for row in rows]


def links_of(connection: Any, access: int) -> set[tuple[int, int, int]]:
    """To the clients' writes: process, offset, bytes; how sure each is."""
    rows = tables.ask(
        connection,
        "select p.pid, c.file_offset, l.bytes from links l join calls c on c.id = l.to_call"
        f" join processes p on p.process = c.process where l.from_call = {access} and c.kind = 'write'",
    )
    return {(row[0], row[1], row[2]) for row in rows}


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gluster.Volume]:
    needs.require([*gluster.NEEDS])
    with gluster.volume(tmp_path_factory.mktemp("bricks") / "gluster") as mounted:
        yield mounted


@pytest.mark.full
@pytest.mark.parametrize("flags", [os.O_SYNC, 0], ids=["waited", "kept"])
def test_each_access_is_joined_with_the_calls_whose_bytes_it_stored(
    volume: gluster.Volume, tmp_path: Path, flags: int
) -> None:
    """Two clients, a block each in turn: who wrote a byte follows from its place."""
    (volume.mount / "sub").mkdir(exist_ok=True)
    file = volume.mount / "sub" / f"shared{flags}"
    file.touch()
    with client(file, flags) as one, client(file, flags) as other:
        both = [one, other]
        works(tmp_path, "attach", *volume.pids(), one.pid, other.pid, "-o", "run")
        for at, each in enumerate(both):
            each.asked(*((block * BLOCK, BLOCK) for block in range(at, BLOCKS, 2)))
        for each in both:
            each.answers(BLOCKS // 2)
            each.ends()
        assert file.stat().st_size == BLOCK * BLOCKS
        works(tmp_path, "detach", "run")
    connection = tables.connect(tmp_path / "run.fathom")
    taken = 0
    for access, offset, size in accesses(
        connection, volume.pids(), stored(volume, f"sub/shared{flags}")
    ):
        wanted = set()
        for block in range(offset // BLOCK, (offset + size - 1) // BLOCK + 1):
            begin, end = block * BLOCK, (block + 1) * BLOCK
            share = min(end, offset + size) - max(begin, offset)
            wanted.add((both[block % 2].pid, begin, share))
        assert links_of(connection, access) == wanted
        taken += size
    assert taken == BLOCK * BLOCKS
    sure = "select distinct confidence from links l join calls c on c.id = l.to_call"
    percents = {percent for [percent] in tables.ask(connection, f"{sure} where c.kind = 'write'")}
    assert percents == {90} if flags else percents <= {60, 90}


@pytest.mark.full
def test_two_that_write_the_same_at_once_share_the_confidence(
    volume: gluster.Volume, tmp_path: Path
) -> None:
    file = volume.mount / "same"
    file.touch()
    with client(file, os.O_SYNC) as one, client(file, os.O_SYNC) as other:
        works(tmp_path, "attach", *volume.pids(), one.pid, other.pid, "-o", "run")
        for pid in volume.pids():
            os.kill(pid, signal.SIGSTOP)
        try:
            one.asked((0, 4096))
            other.asked((0, 3000))
            until(lambda: one.writes_now() and other.writes_now(), "both to write")
        finally:
            for pid in volume.pids():
                os.kill(pid, signal.SIGCONT)
        one.answers(1)
        other.answers(1)
        works(tmp_path, "detach", "run")
    connection = tables.connect(tmp_path / "run.fathom")
    stored_accesses = accesses(connection, volume.pids(), stored(volume, "same"))
    assert sorted(size for _, _, size in stored_accesses) == [3000, 4096]
    for access, _, _ in stored_accesses:
        assert {pid for pid, _, _ in links_of(connection, access)} == {one.pid, other.pid}
    ids = [access for access, _, _ in stored_accesses]
    sure = tables.ask(
        connection, f"select distinct confidence from links where list_contains({ids}, from_call)"
    )
    assert {percent for [percent] in sure} <= {30, 45}
