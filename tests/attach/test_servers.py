"""fathom attach on servers of file systems under load: no request of their clients fails, what each did is seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import gluster, needs, paths, tables
from harness.attached import fathom, works

PRELOAD = paths.BUILD / "libfathom_fwd_preload.so"
ENGINE = paths.ROOT / "engine/target/release/fathom-engine"
LOAD = Path(__file__).parent / "load.py"
FILES, SIZE = 12, 200_000


@pytest.fixture(autouse=True)
def gdb() -> None:
    needs.require(["gdb"])


class Load:
    """Clients that write, read and compare, all the time."""

    def __init__(self, at: object, told: dict[str, str]) -> None:
        command = [sys.executable, str(LOAD), str(at)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | told
        )

    def goes_on(self, rounds: int) -> None:
        assert self.process.stdout
        for _ in range(rounds):
            assert self.process.stdout.readline()

    def end(self) -> None:
        out, _ = self.process.communicate(timeout=60)
        said = json.loads(out.splitlines()[-1])
        assert said["wrong"] == []
        assert min(said["rounds"]) > 0


@contextmanager
def load(at: object, told: dict[str, str] | None = None) -> Iterator[Load]:
    clients = Load(at, told or {})
    try:
        yield clients
    finally:
        clients.process.kill()
        clients.process.wait()


def test_a_forwarding_server_is_let_alone_since_it_records_itself(tmp_path: Path) -> None:
    store, address = tmp_path / "store", tmp_path / "s"
    store.mkdir()
    command = [ENGINE, "forward", store, "--unix", address]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            told = {
                "LD_PRELOAD": str(PRELOAD),
                "FATHOM_FORWARD_PREFIX": "/fwd",
                "FATHOM_FORWARD_SERVERS": server.stdout.readline().strip(),
            }
            with load("/fwd", told) as clients:
                clients.goes_on(10)
                done = fathom(tmp_path, "attach", server.pid, "-o", "run")
                clients.goes_on(10)
                clients.end()
        finally:
            server.terminate()
    assert done.returncode == 3
    [line] = done.stderr.splitlines()
    assert line.endswith("is a forwarding server, which records itself: start it with --record RUN")
    assert not (tmp_path / "run.fathom").exists()


@pytest.mark.full
def test_gluster_bricks_are_attached_and_released_and_no_request_fails(tmp_path: Path) -> None:
    needs.require(gluster.NEEDS)
    with gluster.volume(tmp_path / "gluster") as volume, load(volume.mount) as clients:
        pids = volume.pids()
        clients.goes_on(10)
        works(tmp_path, "attach", *pids, "-o", "run")
        for number in range(FILES):
            (volume.mount / f"ours.{number}").write_bytes(os.urandom(SIZE))
        clients.goes_on(20)
        works(tmp_path, "detach", "run")
        clients.goes_on(10)
        clients.end()
        stored = [
            {file.stat().st_ino: file.stat().st_size for file in directory.glob("ours.*")}
            for directory in volume.directories
        ]
    connection = tables.connect(tmp_path / "run.fathom")
    assert sum(len(of_brick) for of_brick in stored) == FILES
    for pid, of_brick in zip(pids, stored, strict=True):
        written = tables.ask(
            connection,
            "select f.inode, sum(c.bytes)::bigint"
            " from calls c join processes p using (process) join files f on f.file = c.file"
            f" where p.pid = {pid} and c.op = 'pwrite' and c.error = 0 group by f.inode",
        )
        seen = dict(map(tuple, written))
        assert {inode: seen.get(inode) for inode in of_brick} == of_brick


# libgfapi by ctypes: needs no header. Ends at once, since the library's end takes long.
GFAPI = """
import ctypes, os, sys
api = ctypes.CDLL("libgfapi.so.0")
pointer, size, offset = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long
api.glfs_new.restype = api.glfs_creat.restype = pointer
volume = pointer(api.glfs_new(b"vol"))
assert api.glfs_set_volfile_server(volume, b"tcp", sys.argv[1].encode(), 24007) == 0
assert api.glfs_init(volume) == 0
file = pointer(api.glfs_creat(volume, b"/past", os.O_RDWR, 0o644))
assert api.glfs_pwrite(file, b"x" * 1000, size(1000), offset(4096), 0, None, None) == 1000
assert api.glfs_fsync(file, None, None) == 0
assert api.glfs_pread(file, ctypes.create_string_buffer(500), size(500), offset(4600), 0, None) == 496
assert api.glfs_close(file) == 0
os._exit(0)
"""


@pytest.mark.full
def test_a_program_past_the_kernel_is_seen_by_the_ready_catalogue(tmp_path: Path) -> None:
    needs.require([*gluster.NEEDS, "library:gfapi"])
    catalogue = paths.ROOT / "catalog" / "probes" / "servers" / "gluster.toml"
    words = [
        "run",
        "--no-show",
        "--probes",
        catalogue,
        "-o",
        "run",
        "--",
        sys.executable,
        "-c",
        GFAPI,
    ]
    with gluster.volume(tmp_path / "gluster") as volume:
        works(tmp_path, *words, volume.host)
    connection = tables.connect(tmp_path / "run.fathom")
    calls = """
        select c.op, o.name, c.file_offset, c.bytes from calls c left join objects o using (object)
        where c.layer = 'gfapi' order by c.start"""
    assert tables.ask(connection, calls) == [
        ["glfs_creat", "/past", None, None],
        ["glfs_pwrite", "/past", 4096, 1000],
        ["glfs_fsync", "/past", None, None],
        ["glfs_pread", "/past", 4600, 496],
        ["glfs_close", "/past", None, None],
    ]
