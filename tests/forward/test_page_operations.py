"""The protocol's page, Operations: by a client that was written from it alone, judged by the exported directory."""

from __future__ import annotations

import errno
import json
import os
import resource
import stat
import struct
import time
from pathlib import Path

import pytest

from .client import Server
from .page_client import (
    ACCEPTED,
    APPEND,
    APPEND_ALIGN,
    APPEND_SHARED,
    CALL,
    CREATE,
    DIRECTORY,
    EXCLUSIVE,
    FOR_READ,
    FOR_WRITE,
    LINK,
    MKDIR,
    MKNOD,
    NOFOLLOW,
    NONBLOCKING,
    OPEN,
    READLINK,
    RECORD,
    RELEASE,
    RENAME,
    RMDIR,
    ROOT,
    SETATTR,
    STATFS,
    STATUS,
    SYMLINK,
    SYNC,
    SYNCED,
    TRUNCATE,
    UNLINK,
    WRITE,
    WRITTEN,
    Attr,
    Client,
    Error,
    attr,
    numbers,
    records,
    text,
)

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def client(served: Server) -> Client:
    return Client(served.addresses[0])


def refusal(error: pytest.ExceptionInfo[Error]) -> int:
    return error.value.status


def same(ours: Attr, place: Path) -> None:
    """What the kernel says of it."""
    true = place.lstat()
    kernel = (true.st_mode, true.st_nlink, true.st_uid, true.st_gid, true.st_blksize, true.st_ino)
    assert (ours.mode, ours.nlink, ours.uid, ours.gid, ours.blksize, ours.ino) == kernel
    assert (ours.rdev, ours.dev, ours.size, ours.blocks) == (
        true.st_rdev, true.st_dev, true.st_size, true.st_blocks,
    )  # fmt: skip
    times = [(ours.atime, ours.atime_ns), (ours.mtime, ours.mtime_ns), (ours.ctime, ours.ctime_ns)]
    true_times = [true.st_atime_ns, true.st_mtime_ns, true.st_ctime_ns]
    assert [seconds * 10**9 + rest for seconds, rest in times] == true_times


def test_names(served: Server, client: Client) -> None:
    export = served.export
    made = client.ask(MKDIR, ROOT + numbers("I", 0o750) + text("d"))
    directory = made.take(32)
    same(attr(made), export / "d")
    made = client.ask(SYMLINK, directory + text("s") + text("../f"))
    link = made.take(32)
    same(attr(made), export / "d/s")
    assert client.ask(READLINK, link).text() == b"../f"
    made = client.ask(MKNOD, directory + numbers("IQ", stat.S_IFIFO | 0o600, 0) + text("p"))
    made.take(32)
    same(attr(made), export / "d/p")
    handle = client.open("f")
    same(attr(client.ask(LINK, handle + directory + text("hard"))), export / "f")
    assert client.lookup("d/hard")[0] == handle
    assert client.lookup("hard", at=directory)[0] == handle
    assert client.lookup("d/s", 1)[0] == link
    with pytest.raises(Error) as error:  # it leads out of what it is relative to
        client.lookup("s", at=directory)
    assert refusal(error) == errno.EXDEV
    assert client.lookup("d/s")[0] == handle
    client.nothing(RENAME, directory + text("hard") + ROOT + text("g") + numbers("I", 1))
    with pytest.raises(Error) as error:
        client.nothing(RENAME, ROOT + text("g") + ROOT + text("f") + numbers("I", 1))
    assert refusal(error) == errno.EEXIST
    client.nothing(RENAME, directory + text("p") + ROOT + text("g") + numbers("I", 2))
    assert (export / "g").is_fifo()
    for name in ("d/s", "d/p", "g"):
        client.nothing(UNLINK, ROOT + text(name))
    client.nothing(RMDIR, ROOT + text("d"))
    assert {path.name for path in export.iterdir()} == {"f", ".fathom-forward"}


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "d/../../x"])
def test_a_path_never_leads_out(client: Client, path: str) -> None:
    client.ask(MKDIR, ROOT + numbers("I", 0o755) + text("d"))
    with pytest.raises(Error) as error:
        client.lookup(path)
    assert refusal(error) == errno.EXDEV
    with pytest.raises(Error) as error:
        client.lookup("x" * 256)
    assert refusal(error) == errno.ENAMETOOLONG


def test_directories_are_listed_in_parts(served: Server, client: Client) -> None:
    names = {f"n{number}": number for number in range(100)}
    for name in names:
        (served.export / name).touch()
    listed = client.readdir(ROOT, 7)
    of_files = [entry for entry in listed if entry[0] not in (b".", b"..")]
    assert sorted(name for name, *_ in of_files) == sorted(name.encode() for name in names)
    for name, inode, kind in of_files:
        assert inode == (served.export / name.decode()).stat().st_ino
        assert kind in (8, 0)  # DT_REG, or not known


def test_open(served: Server, client: Client) -> None:
    handle = client.open("f", CREATE | EXCLUSIVE | FOR_WRITE)
    assert client.opened[2] == 1
    with pytest.raises(Error) as error:
        client.open("f", CREATE | EXCLUSIVE | FOR_WRITE)
    assert refusal(error) == errno.EEXIST
    client.write(handle, (0, b"content"))
    assert client.open("f", FOR_READ) == handle
    assert (client.opened[1].size, client.opened[2]) == (7, 0)
    same(client.opened[1], served.export / "f")
    body = client.ask(OPEN, handle + numbers("II", FOR_READ, 0) + text(""))
    assert body.take(32) == handle
    client.open("f", TRUNCATE | FOR_WRITE)
    assert client.opened[1].size == 0
    with pytest.raises(Error) as error:
        client.open("f", DIRECTORY | FOR_READ)
    assert refusal(error) == errno.ENOTDIR
    client.ask(SYMLINK, ROOT + text("s") + text("f"))
    with pytest.raises(Error) as error:
        client.open("s", NOFOLLOW | FOR_READ)
    assert refusal(error) == errno.ELOOP
    client.write(handle, (0, b"held"))
    client.nothing(UNLINK, ROOT + text("f"))
    assert client.read(handle, (0, 10)) == [b"held"]
    for _ in range(4):
        client.nothing(RELEASE, handle)
    with pytest.raises(Error) as error:
        client.getattr(bytes([1]) + bytes(31))
    assert refusal(error) == errno.ESTALE


def test_attributes(served: Server, client: Client) -> None:
    handle = client.open("f")
    fields = numbers("IIIIQqIqI", 1 | 8 | 16 | 32, 0o600, 0, 0, 5000, 100, 7, 200, 9)
    same(attr(client.ask(SETATTR, handle + fields)), served.export / "f")
    got = client.getattr(handle)
    assert (got.mode & 0o7777, got.size, got.atime, got.atime_ns) == (0o600, 5000, 100, 7)
    assert (got.mtime, got.mtime_ns) == (200, 9)
    now = attr(client.ask(SETATTR, handle + numbers("IIIIQqIqI", 64 | 128, *[0] * 8)))
    assert abs(now.mtime - time.time()) < 60
    assert abs(now.atime - time.time()) < 60
    body = client.ask(STATFS, ROOT)
    true = os.statvfs(served.export)
    bsize, frsize, blocks, *_, files, _ = body.numbers("QQQQQQQ")
    assert (bsize, frsize, blocks, files) == (
        true.f_bsize,
        true.f_frsize,
        true.f_blocks,
        true.f_files,
    )
    assert body.number("I") == true.f_namemax


def test_reads_and_writes_of_many_extents(served: Server, client: Client) -> None:
    handle = client.open("f")
    parts = [(at * 1000, os.urandom(300)) for at in range(50)]
    assert client.write(handle, *parts)[0] == 15_000
    content = (served.export / "f").read_bytes()
    assert all(content[at : at + 300] == part for at, part in parts)
    extents = [(at * 777, 500) for at in range(100)]
    assert client.read(handle, *extents) == [content[at : at + 500] for at, _ in extents]
    with pytest.raises(Error) as error:
        client.read(handle, (0, client.most_data + 1))
    assert refusal(error) == errno.EMSGSIZE
    assert client.read(handle, *[(0, 1)] * 4096) == [content[:1]] * 4096
    with pytest.raises(Error) as error:
        client.read(handle, *[(0, 1)] * 4097)
    assert refusal(error) == errno.EPROTO
    client = Client(served.addresses[0], like=client)
    large = os.urandom(3 * MIB)
    client.write(handle, (0, large), flags=SYNC)
    assert client.read(handle, (5, 2 * MIB), (0, 10), (3 * MIB - 4, 100)) == [
        large[5 : 5 + 2 * MIB], large[:10], large[-4:],
    ]  # fmt: skip


def test_levels_and_what_failed(served: Server, client: Client) -> None:
    handle = client.open("f")
    assert client.write(handle, (0, b"x"))[1] == WRITTEN
    assert client.write(handle, (0, b"x"), flags=SYNC)[1] == SYNCED
    assert client.write(handle, (0, bytes(100)), flags=NONBLOCKING)[1] == ACCEPTED
    assert client.commit(handle, WRITTEN) == []
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    with pytest.raises(Error) as error:
        client.write(handle, (0, bytes(10)), (8000, bytes(50)))
    assert (refusal(error), error.value.offset, error.value.length) == (errno.EFBIG, 8000, 50)
    seq = client.seq + 1
    assert client.write(handle, (9000, bytes(60)), flags=NONBLOCKING)[1] == ACCEPTED
    assert client.commit() == [(handle, seq, 9000, 60, errno.EFBIG)]
    assert client.commit(handle) == []


def test_appends_and_gaps(served: Server, client: Client) -> None:
    handle = client.open("log")
    client.write(handle, (0, b"before"))
    assert client.append(handle, b"one") == 6
    assert client.append(handle, bytes(100_000)) == 9
    align = {APPEND_ALIGN: numbers("I", 1 << 17)}
    assert client.append(handle, b"aligned", hints=align) == 1 << 17
    assert client.gaps(handle) == [(100_009, (1 << 17) - 100_009, 0, 0, 0)]
    assert client.gaps(handle, 1 << 17) == []
    beyond = handle + records("QQ", [(1 << 18, 1)])
    with pytest.raises(Error) as error:
        client.ask(WRITE, beyond, b"x")
    assert refusal(error) == errno.EBUSY
    cut = handle + numbers("IIIIQqIqI", 8, 0, 0, 0, 3, *[0] * 4)
    with pytest.raises(Error) as error:
        client.ask(SETATTR, cut)
    assert refusal(error) == errno.EBUSY
    client.ask(WRITE, beyond, b"x", hints={APPEND_SHARED: b""})
    assert client.append(handle, b"end") == (1 << 18) + 1
    client.ask(SETATTR, cut, hints={APPEND_SHARED: b""})
    assert client.append(handle, b"new") == 3
    assert (client.gaps(handle), (served.export / "log").read_bytes()) == ([], b"befnew")
    body = client.ask(APPEND, handle + numbers("Q", 2), b"ok", flags=NONBLOCKING)
    assert body.numbers("QB") == (6, ACCEPTED)


def test_an_append_without_its_data_is_a_gap(served: Server, client: Client) -> None:
    handle = client.open("log")
    seq = client.send(APPEND, handle + numbers("Q", 50_000), bytes(50_000), deadline=200)
    client.frame()  # it is pulled
    with pytest.raises(Error) as error:
        while True:
            frame = client.frame()
            if frame.seq == seq and frame.status:
                raise Error(frame)
    assert refusal(error) == errno.ETIMEDOUT
    reader = Client(served.addresses[0])
    assert reader.append(handle, b"behind") == 50_000


def test_status_and_calls_and_recording(client: Client) -> None:
    body, _, _ = client.reply(client.send(STATUS))
    body.hints()
    assert json.loads(body.data)["requests"] >= 1
    with pytest.raises(Error) as error:
        client.ask(CALL, ROOT + text("nobody knows it") + numbers("I", 10))
    assert refusal(error) == errno.ENOSYS
    body = client.ask(RECORD, b"\x01", b"A=B\0\0")
    assert body.number("B") == 2  # no run is named
    body = client.ask(RECORD, b"\x00")
    assert body.number("B") in (0, 2, 3)
    with pytest.raises(Error) as error:
        client.ask(RECORD, b"\x01", b"A=" + bytes(client.inline))
    assert refusal(error) == errno.EMSGSIZE
    assert struct.calcsize("<IIIIIQQQQQqIqIqIqI") == 108  # attr, as the page counts it
