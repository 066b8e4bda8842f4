"""A CephFS as a server's store, by libcephfs without a mount: equal files, aligned writes, layouts, names, kills.

Long, but for what needs no cluster: 2 minutes.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import cephfs, needs, paths, runner

from .client import ENGINE, ROOT_HANDLE, Client, Refused, Server
from .test_c_client import DRIVE
from .test_cephfs import (
    PRELOAD,
    PROGRAMS,
    RANKS,
    STRIDED,
    TRANSFERS,
    UNIT,
    directory,
    of_nodes,
    run,
)
from .test_traced import LINKS, called, rows

KIB = 1024
NONBLOCKING = 16
WRITTEN, SYNCED = 2, 3


@contextmanager
def served(ceph: cephfs.CephFS, name: str, *options: str) -> Iterator[Server]:
    """A server of the cluster's directory of that name, made if need be; it ends well, unless the test killed it."""
    if not (ceph.at / "node0" / name).exists():
        directory(ceph, name)
    words = ["--unix", str(ceph.at / f"{name}.socket"), "--ceph-conf", str(ceph.conf), *options]
    started = Server(Path(f"cephfs:/{name}"), *words, log=ceph.at / f"{name}.log")
    try:
        yield started
        if started.process.poll() is None:
            assert started.stop() == 0, started.log.read_text()
    finally:
        if started.process.poll() is None:
            kill(ceph, started)


def kill(ceph: cephfs.CephFS, server: Server) -> None:
    """With all that it holds in its memory."""
    server.stop(signal.SIGKILL)
    ceph.killed(server.process.pid)


def preload_settings(server: Server, **more: str) -> dict[str, str]:
    """What preloaded programs are told."""
    return {
        "LD_PRELOAD": str(PRELOAD),
        "FATHOM_FORWARD_PREFIX": "/fwd",
        "FATHOM_FORWARD_SERVERS": server.addresses[0],
        **more,
    }


@pytest.mark.full
@pytest.mark.parametrize("level", ["written", "accepted"])
@pytest.mark.parametrize("program", PROGRAMS, ids=["s3d", "flash"])
def test_kernels_leave_the_same_files(ceph: cephfs.CephFS, program: list[str], level: str) -> None:
    name = f"{program[0]}.{level}"
    direct = directory(ceph, f"{name}.direct")
    run(program, of_nodes(ceph, direct.name))
    with served(ceph, name) as server:
        run(program, "/fwd", preload_settings(server, FATHOM_FORWARD_DURABILITY=level))
    own = ceph.at / "node0" / name / ".fathom-forward"
    assert not own.exists()  # nothing was appended, so there is no journal
    through = ceph.at / "node0" / name
    assert not runner.unequal(direct, through)
    before, after = (written(ceph, one) for one in (direct, through))
    print(
        f"{name}: OSDs made {summary(before)} of the program itself, {summary(after)} of the server"
    )
    if level == "accepted":
        assert len(after) < len(before)


def written(ceph: cephfs.CephFS, base: Path) -> list[cephfs.Write]:
    """Of all files in a directory."""
    return [write for file in base.iterdir() for write in ceph.writes(file)]


def summary(writes: list[cephfs.Write]) -> str:
    total = sum(write.length for write in writes)
    aligned = sum(write.offset % UNIT == 0 for write in writes)
    return f"{len(writes)} writes, {total // len(writes)} bytes each, {aligned} from a stripe on,"


@pytest.mark.full
def test_a_forwarder_makes_fewer_writes_than_the_program(ceph: cephfs.CephFS) -> None:
    direct = directory(ceph, "strided.direct")
    run(STRIDED, of_nodes(ceph, direct.name))
    before = ceph.writes(direct / "ior.bin")
    total = TRANSFERS * 1000
    assert sum(write.length for write in before) == total
    assert len(before) > TRANSFERS / 2
    crossing = total // UNIT  # a write over the end of a stripe is two
    # Accepted data is sent when a rank closes the file: each rank has 16 blocks, of which that cuts one in two.
    most = {"written": TRANSFERS + crossing, "accepted": 16 * RANKS + crossing + RANKS * RANKS}
    for level, bound in most.items():
        with served(ceph, f"strided.{level}") as server:
            run(STRIDED, "/fwd", preload_settings(server, FATHOM_FORWARD_DURABILITY=level))
        through = ceph.at / "node0" / f"strided.{level}"
        assert not runner.unequal(direct, through)
        after = ceph.writes(through / "ior.bin")
        print(f"strided, {level}: {summary(before)} and {summary(after)}")
        assert sum(write.length for write in after) >= total
        assert len(after) <= bound, level


@pytest.mark.full
def test_what_many_accepted_writes_leave_is_whole_stripes(ceph: cephfs.CephFS) -> None:
    pieces = 16 * RANKS * 16
    with served(ceph, "whole") as server:
        clients = [server.client() for _ in range(RANKS)]
        handle = clients[0].open("f")
        for piece in range(pieces):
            client = clients[piece % RANKS]
            client.write(handle, piece * 1000, bytes([piece % 251]) * 1000, flags=NONBLOCKING)
        for client in clients:
            assert client.commit(handle, WRITTEN) == []
        after = ceph.writes(ceph.at / "node0/whole/f")
    print(f"whole: {summary(after)}")
    assert sum(write.length for write in after) == pieces * 1000
    assert len(after) <= pieces * 1000 // UNIT + 1
    assert all(write.offset % UNIT == 0 for write in after)


@pytest.mark.full
def test_random_operations_equal_a_local_file(ceph: cephfs.CephFS, tmp_path: Path) -> None:
    with served(ceph, "fsx") as server:
        words = [DRIVE, "fsx", server.addresses[0], tmp_path / "local", "1500", "4"]
        subprocess.run(words, check=True, timeout=300)
    assert (ceph.at / "node0/fsx/fsx").read_bytes() == (tmp_path / "local").read_bytes()


def listed(client: Client, most: int) -> set[str]:
    """Names in the root, asked for in small steps: each goes on where the last ended."""
    names: list[str] = []
    cookie = 0
    while True:
        (entries,) = client.ask("readdir", ROOT_HANDLE, cookie, most)
        if not entries:
            assert len(names) == len(set(names))
            return set(names)
        names += [name.decode() for *_, name in entries]
        cookie = entries[-1][0]


@pytest.mark.full
def test_names_are_those_of_the_file_system(ceph: cephfs.CephFS) -> None:
    with served(ceph, "names") as server:
        client = server.client()
        names = {f"f{n}" for n in range(40)}
        for name in names:
            client.open(name)
        client.ask("mkdir", ROOT_HANDLE, 0o750, b"d")
        client.ask("mkdir", ROOT_HANDLE, 0o750, b"gone")
        client.ask("symlink", ROOT_HANDLE, b"d/up", b"../f1")
        client.ask("symlink", ROOT_HANDLE, b"out", b"../names/f1")
        client.ask("symlink", ROOT_HANDLE, b"loop", b"loop")
        client.ask("rename", ROOT_HANDLE, b"f2", ROOT_HANDLE, b"d/moved", 0)
        client.ask("unlink", ROOT_HANDLE, b"f3")
        client.ask("rmdir", ROOT_HANDLE, b"gone")
        handle = client.open("f1")
        client.ask("link", handle, ROOT_HANDLE, b"twin")
        assert client.ask("lookup", ROOT_HANDLE, 0, b"d/up")[0] == handle
        wrong = {
            b"out": 18, b"../names": 18, b"/f1": 18, b"d/../..": 18,  # EXDEV: out of the root
            b"d/none": 2, b"f1/": 20, b"f1/x": 20, b"loop": 40, b"n" * 256: 36,
        }  # fmt: skip
        for path, status in wrong.items():
            with pytest.raises(Refused) as refused:
                client.ask("lookup", ROOT_HANDLE, 0, path)
            assert refused.value.status == status, path
        for op, name, status in [("rmdir", b"d", 39), ("unlink", b"d", 21), ("rmdir", b"f1", 20)]:
            with pytest.raises(Refused) as refused:
                client.ask(op, ROOT_HANDLE, name)
            assert refused.value.status == status, op
        for flags in (1, 2):
            with pytest.raises(Refused, match="CephFS renames by replacing only"):
                client.ask("rename", ROOT_HANDLE, b"f1", ROOT_HANDLE, b"f4", flags)
        wanted = (names - {"f2", "f3"}) | {"d", "out", "loop", "twin"}
        assert listed(client, 7) - {".", ".."} == wanted
        assert client.ask("getattr", handle)[1] == 2
    base = ceph.at / "node0/names"
    assert {path.name for path in base.iterdir()} == wanted
    assert (base / "d").stat().st_mode & 0o777 == 0o750
    assert str((base / "d/up").readlink()) == "../f1"
    assert (base / "d/moved").is_file()


@pytest.mark.full
def test_data_sizes_and_attributes(ceph: cephfs.CephFS) -> None:
    whole = bytearray(300_000)
    numbers = random.Random(5)
    with served(ceph, "data") as server:
        client = server.client()
        handle = client.open("f")
        for turn in range(60):
            at, length = numbers.randrange(250_000), numbers.randrange(1, 50_000)
            piece = numbers.randbytes(length)
            client.write(handle, at, piece, flags=NONBLOCKING * (turn % 2))
            whole[at : at + length] = piece
            assert client.read(handle, (at, length)) == [piece]
        client.ask("setattr", handle, 8, 0, 0, 0, 200_000, 0, 0, 0, 0)
        client.ask("setattr", handle, 1 | 32, 0o600, 0, 0, 0, 0, 0, 1_600_000_000, 7)
        attr = client.ask("getattr", handle)
        assert (attr[0] & 0o777, attr[4], attr[8]) == (0o600, UNIT, 200_000)
        assert client.commit(handle, SYNCED) == []
        file = ceph.at / "node0/data/f"
        assert file.stat().st_mtime_ns == 1_600_000_000 * 10**9 + 7
        kill(ceph, server)
    assert file.read_bytes() == bytes(whole[:200_000])


@pytest.mark.full
def test_what_is_said_to_be_written_outlives_a_killed_server(ceph: cephfs.CephFS) -> None:
    with served(ceph, "levels") as server:
        client = server.client()
        written, committed = client.open("written"), client.open("committed")
        assert client.write(written, 0, b"w" * 1000) == WRITTEN
        assert client.write(committed, 0, b"c" * 1000, flags=NONBLOCKING) == 1
        assert client.commit(committed, WRITTEN) == []
        kill(ceph, server)
    base = ceph.at / "node0/levels"
    assert (base / "written").read_bytes() == b"w" * 1000
    assert (base / "committed").read_bytes() == b"c" * 1000


@pytest.mark.full
def test_appends_outlive_a_killed_server(ceph: cephfs.CephFS) -> None:
    # Not striped: of a striped file that a killed client was writing, CephFS 16 may say a size that is too large.
    (ceph.at / "node0/appends").mkdir()
    records = [bytes([n]) * (100 + n) for n in range(30)]
    for part in (records[:20], records[20:]):
        with served(ceph, "appends") as server:
            client = server.client()
            handle = client.open("log")
            for record in part:
                client.append(handle, record)
            kill(ceph, server)
    assert (ceph.at / "node0/appends/log").read_bytes() == b"".join(records)


@pytest.mark.full
def test_an_unlinked_file_lives_as_long_as_it_is_held(ceph: cephfs.CephFS) -> None:
    with served(ceph, "held") as server:
        client = server.client()
        handle = client.open("f")
        client.write(handle, 0, b"data")
        client.ask("unlink", ROOT_HANDLE, b"f")
        assert client.read(handle, (0, 10)) == [b"data"]
        client.ask("release", handle)
        with pytest.raises(Refused) as refused:
            client.read(handle, (0, 10))
        assert refused.value.status == 116  # ESTALE


@pytest.mark.full
def test_files_are_laid_out_as_wished(ceph: cephfs.CephFS, tmp_path: Path) -> None:
    usual = {"stripe_unit": UNIT, "stripe_count": cephfs.OSDS, "object_size": 16 * UNIT}
    wishes = {
        "": usual,
        "size=128k,servers=2": usual | {"stripe_unit": 128 * KIB, "stripe_count": 2},
        "size=100000": usual | {"stripe_unit": 128 * KIB},  # CephFS knows multiples of 64 KiB
        "size=4m": usual | {"stripe_unit": 4096 * KIB, "object_size": 4096 * KIB},
        "servers=1000,first=3": usual,  # all that there are
    }
    with served(ceph, "layouts") as server:
        for number, wish in enumerate(wishes):
            env = preload_settings(server) | ({"FATHOM_FORWARD_STRIPING": wish} if wish else {})
            subprocess.run(
                ["cp", paths.BUILD / "kernels/s3d_mpiio_mpich", f"/fwd/{number}"],
                env=os.environ | env, check=True, timeout=300,
            )  # fmt: skip
        kernel = paths.BUILD / "kernels/synthetic_mpiio_mpich"
        hints = ["-H", "striping_unit=262144", "-H", "striping_factor=2"]
        subprocess.run(
            [paths.FATHOM, "run", "--no-show", "-o", tmp_path / "r", "--", "mpiexec.mpich", "-n", "4",
             kernel, "-c", "1", *hints, "row", "64", "64", "/fwd"],
            env=os.environ | preload_settings(server), check=True, timeout=300,
        )  # fmt: skip
    base = ceph.at / "node0/layouts"
    pool = ceph.layout(base / "0")["pool"]
    for number, (wish, wanted) in enumerate(wishes.items()):
        layout_words = {key: str(value) for key, value in wanted.items()} | {"pool": pool}
        assert ceph.layout(base / str(number)) == layout_words, wish
    synthetic = ceph.layout(base / "synthetic.0.bin")
    assert (synthetic["stripe_unit"], synthetic["stripe_count"]) == ("262144", "2")


@pytest.mark.full
def test_accesses_are_rows_with_the_clients_calls(ceph: cephfs.CephFS, tmp_path: Path) -> None:
    record = tmp_path / "r.fathom"
    with served(ceph, "traced", "--record", str(record), "--mount", "/seen") as server:
        client = server.client()
        handle = client.open("f")
        client.write(handle, 100, b"x" * 50, **called(7))
        client.ask("read", handle, [(100, 50)], **called(8))
        client.ask("commit", handle, SYNCED, **called(9))
    accesses = rows(
        record,
        "select layer, op, size, file_offset, bytes, f.path from calls c left join files f"
        " using (file) where op in ('write', 'read', 'pwritev', 'pread') order by start",
    )
    assert {tuple(row.values()) for row in accesses} == {
        ("server", "write", 50, 100, 50, "/seen/f"),
        ("disk", "pwritev", 50, 100, 50, "/seen/f"),
        ("server", "read", 50, 100, 50, "/seen/f"),
        ("disk", "pread", 50, 100, 50, "/seen/f"),
    }
    assert [tuple(row.values()) for row in rows(record, LINKS)] == [
        ("disk", "fsync", "serves", 7, 0),  # level written
        ("disk", "fsync", "serves", 9, 0),
        ("disk", "pread", "serves", 8, 50),
        ("disk", "pwritev", "carries", 7, 50),
        ("server", "commit", "serves", 9, 0),
        ("server", "read", "serves", 8, 50),
        ("server", "write", "serves", 7, 50),
    ]


@pytest.mark.full
def test_a_traced_run_goes_from_the_program_to_the_storage(
    ceph: cephfs.CephFS, tmp_path: Path
) -> None:
    """By a configuration file, with each of the program's bytes carried by an access to the store."""
    directory(ceph, "up")
    where, record = tmp_path / "servers", tmp_path / "r.fathom"
    file = tmp_path / "forward.toml"
    file.write_text(f'path = "cephfs:/up"\nceph_conf = "{ceph.conf}"\nmount = "/fwd"\n[[server]]\n')
    (tmp_path / "in").write_bytes(random.Random(1).randbytes(3_000_000))
    steps = f"""
        eval "$({paths.FATHOM} env -o {record})"
        eval "$(env -u LD_PRELOAD {paths.FATHOM} forward up {file} --at {where} --record {record})"
        LD_PRELOAD=$LD_PRELOAD:{PRELOAD} cp {tmp_path}/in /fwd/out
        env -u LD_PRELOAD {paths.FATHOM} forward down --at {where}"""
    done = subprocess.run(
        ["bash", "-ec", steps], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (ceph.at / "node0/up/out").read_bytes() == (tmp_path / "in").read_bytes()
    (carried,) = rows(
        record,
        "select sum(l.bytes) as bytes from links l join calls c on c.id = l.from_call"
        " where c.layer = 'disk' and l.kind = 'carries'",
    )
    assert carried["bytes"] == 3_000_000


@pytest.mark.full
def test_a_cluster_that_does_not_answer_is_one_line(ceph: cephfs.CephFS, tmp_path: Path) -> None:
    # of no monitor, of no metadata server that answers, of no such directory, of nobody known there
    dead = tmp_path / "dead.conf"
    monitor = next(line for line in ceph.conf.read_text().splitlines() if "mon host" in line)
    dead.write_text(ceph.conf.read_text().replace(monitor, "mon host = v2:127.0.0.1:1/0"))
    metadata = ceph.daemons[-1]
    metadata.send_signal(signal.SIGSTOP)
    try:
        for conf, why in (dead, "Connection timed out"), (ceph.conf, "the cluster does not answer"):
            words = ["cephfs:/", "--ceph-conf", str(conf), "--patience", "2"]
            assert why in refused(words, tmp_path)
    finally:
        metadata.send_signal(signal.SIGCONT)
    assert "cephfs:/none: " in refused(["cephfs:/none", "--ceph-conf", str(ceph.conf)], tmp_path)


def refused(words: list[str], tmp_path: Path, **env: str) -> str:
    """The one line of a server that does not start."""
    done = subprocess.run(
        [ENGINE, "forward", *words, "--unix", tmp_path / "s"], capture_output=True, text=True,
        env=os.environ | env, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    return str(line)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cephfs:relative"], "cephfs:relative: give cephfs:/PATH"),
        (["cephfs:/", "--stripe", "list"], "cephfs:/: CephFS stripes by itself"),
        (["cephfs:/", "--plugin", "p.so"], "cephfs:/: a plug-in needs a directory of this machine"),
        (["cephfs:/", "--store", "null"], "cephfs:/: --store null goes with a directory"),
        (["cephfs:/"], "libcephfs is not to be had, install it (Debian: libcephfs2): "),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    needs.require(["cc"])
    empty = tmp_path / "libcephfs.so.2"  # without the functions that are needed
    (tmp_path / "empty.c").write_text("int nothing;\n")
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "empty.c", "-o", empty], check=True)
    assert message in refused(words, tmp_path, LD_LIBRARY_PATH=str(tmp_path))


def test_where_programs_see_a_cephfs_must_be_said(tmp_path: Path) -> None:
    done = subprocess.run(
        [paths.FATHOM, "forward", "up", "--export", "cephfs:/x", "--at", tmp_path / "at"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "server fwd0: mount is missing: the directory below which programs see cephfs:/x" in (
        done.stderr
    )
