"""fathom attach on servers of file systems under load: no request of their clients fails, what each did is seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import attached, gluster, invariants, needs, paths, tables
from harness.attached import fathom, refused, works

from forward.client import Server, server

PRELOAD = paths.BUILD / "libfathom_fwd_preload.so"
LOAD = Path(__file__).parent / "load.py"
FILES, SIZE = 12, 200_000


class Load:
    """Clients that write, read and compare, all the time."""

    def __init__(self, at: object, settings: dict[str, str]) -> None:
        command = [sys.executable, str(LOAD), str(at)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | settings,
        )

    def goes_on(self, rounds: int) -> None:
        assert self.process.stdout
        for _ in range(rounds):
            assert self.process.stdout.readline()

    def end(self) -> None:
        out, _ = self.process.communicate(timeout=300)
        report = json.loads(out.splitlines()[-1])
        assert report["wrong"] == []
        assert min(report["rounds"]) > 0


@contextmanager
def load(at: object, settings: dict[str, str] | None = None) -> Iterator[Load]:
    clients = Load(at, settings or {})
    try:
        yield clients
    finally:
        clients.process.kill()
        clients.process.wait()


#: The counted calls' stream, as a trace would name it.
STREAM = 0x1122334455667788
COUNTED = f"""
    select l.to_seq, c.bytes from links l join calls c on c.id = l.from_call
    where l.to_stream = {STREAM} and c.layer = 'server' and c.op = 'write' order by l.to_seq"""
STORED = f"""
    select distinct l.to_seq from links l join calls c on c.id = l.from_call
    where l.to_stream = {STREAM} and c.op = 'pwritev'"""


class Counted:
    """A client that writes byte behind byte and counts: its calls are numbered from 0."""

    def __init__(self, served: Server) -> None:
        self.client = served.client()
        self.handle = self.client.open("counted")
        self.written, self.is_over = 0, False
        self.more = threading.Condition()
        self.thread = threading.Thread(target=self._write)
        self.thread.start()

    def _write(self) -> None:
        while not self.is_over:
            self.client.write(self.handle, self.written, b"x", call=(STREAM, self.written))
            with self.more:
                self.written += 1
                self.more.notify()

    def goes_on(self, more: int) -> int:
        """How many it has made by then."""
        with self.more:
            until = self.written + more
            assert self.more.wait_for(lambda: self.written >= until, timeout=300)
            return self.written


@contextmanager
def counted(served: Server) -> Iterator[Counted]:
    client = Counted(served)
    try:
        yield client
    finally:
        client.is_over = True
        client.thread.join()


def assert_all_are_there(run: Path, began: tuple[int, int], ended: tuple[int, int]) -> None:
    """Of the client's own count, before and after attaching, before and after detaching."""
    connection = tables.connect(run)
    assert not invariants.broken(connection, finished=False, whole=False)
    rows = tables.ask(connection, COUNTED)
    numbers = [number for number, _ in rows]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert began[0] <= numbers[0] <= began[1] and ended[0] - 1 <= numbers[-1] <= ended[1]
    assert {size for _, size in rows} == {1}
    assert {number for [number] in tables.ask(connection, STORED)} >= set(numbers)


def attached_and_released(place: Path, served: Server, client: Counted, run: str) -> None:
    before = client.written
    works(place, "attach", served.process.pid, "-o", run)
    began = before, client.written
    last = client.goes_on(200)
    works(place, "detach", run)
    after = client.written
    client.goes_on(20)
    assert_all_are_there(place / f"{run}.fathom", began, (last, after))


def test_a_forwarder_under_load_is_attached_and_released_and_no_request_fails(
    tmp_path: Path,
) -> None:
    with server(tmp_path) as served:
        settings = {
            "LD_PRELOAD": str(PRELOAD),
            "FATHOM_FORWARD_PREFIX": "/fwd",
            "FATHOM_FORWARD_SERVERS": served.addresses[0],
        }
        with load("/fwd", settings) as clients, counted(served) as client:
            for run in ("first", "second", "third"):
                clients.goes_on(10)
                attached_and_released(tmp_path, served, client, run)
            clients.goes_on(10)
            clients.end()


@pytest.mark.full
def test_twenty_cycles_of_a_forwarder_leak_nothing(tmp_path: Path) -> None:
    with server(tmp_path) as served, counted(served) as client:
        pid = served.process.pid
        attached_and_released(tmp_path, served, client, "warm")
        before = attached.holds(pid)
        for number in range(20):
            attached_and_released(tmp_path, served, client, f"run{number}")
        after = attached.holds(pid)
    assert after[0] == before[0] and after[2] == before[2]
    assert after[1] <= before[1] + 8  # libc's arenas for threads come and stay


def test_what_a_forwarder_is_not_asked(tmp_path: Path) -> None:
    """It is asked, not traced."""
    without = {**os.environ, "PATH": str(tmp_path), "FATHOM_PYTHON": str(paths.PYTHON)}
    own = tmp_path / "own.fathom"
    with server(tmp_path, "--record", str(own)) as served:
        pid = served.process.pid
        served.client().open("f")
        assert refused(tmp_path, pid, env=without) == (
            f"fathom: process {pid} is recorded already, in {own};"
            " `fathom select` changes what, `fathom detach` ends it"
        )
        done = fathom(tmp_path, "detach", pid, env=without)
        assert done.returncode == 0, done.stderr
        again = fathom(tmp_path, "detach", pid, env=without)
        assert (again.returncode, again.stderr) == (3, f"fathom: process {pid} is not recorded\n")
    opened = "select count(*) from calls where layer = 'server' and op = 'open'"
    assert tables.ask(tables.connect(own), opened) == [[1]]


def test_a_forwarder_without_a_unix_socket(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("correct horse" * 3)
    token.chmod(0o600)
    served = Server(tmp_path / "store", "--tcp", "127.0.0.1:0", "--token", str(token))
    try:
        line = refused(tmp_path, served.process.pid)
    finally:
        served.stop()
    assert line.endswith(
        "is a forwarding server that no Unix socket leads to: start it with --record RUN"
    )


@pytest.mark.full
def test_gluster_bricks_are_attached_and_released_and_no_request_fails(tmp_path: Path) -> None:
    needs.require([*gluster.NEEDS])
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
def test_a_program_past_the_kernel_is_seen_by_the_ready_catalog(tmp_path: Path) -> None:
    needs.require([*gluster.NEEDS, "library:gfapi"])
    catalog = paths.ROOT / "catalog" / "probes" / "servers" / "gluster.toml"
    words = [
        "run",
        "--no-show",
        "--probes",
        catalog,
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
