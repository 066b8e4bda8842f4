"""The server, spoken to by a client that was written from the document."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import resource
import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

from .client import (
    CREATE,
    ENGINE,
    EXCLUSIVE,
    READ,
    ROOT_HANDLE,
    TRUNCATE,
    WRITE,
    Client,
    Refused,
    Server,
    server,
)
from .golden import zstd_run
from .wire import NUMBERS, OPS, ROOT, Frame, crc32c, pack, request

FORWARD = ROOT / "build/bench/forward"
FLAG, HINT, STATUS = NUMBERS["flag"], NUMBERS["hint"], NUMBERS["status"]
NONBLOCKING, RETRY, PULL = FLAG["nonblocking"], FLAG["retry"], FLAG["pull"]
WRITTEN = NUMBERS["level"]["written"]


def errno_of(what: object) -> str:
    assert isinstance(what, Refused)
    return os.strerror(what.status)


def test_a_file_is_opened_by_its_handle_alone(served: Server) -> None:
    client = served.client()
    handle = client.open("f")
    client.ask("unlink", ROOT_HANDLE, b"f")
    assert client.ask("open", handle, READ | WRITE, 0, b"")[0] == handle
    client.ask("release", handle)
    client.write(handle, 0, b"still there")
    assert client.read(handle, (0, 99)) == [b"still there"]


def test_names_are_those_of_the_directory(served: Server) -> None:
    client = served.client()
    folder = client.ask("mkdir", ROOT_HANDLE, 0o755, b"d")[0]
    handle = client.ask("open", folder, CREATE | WRITE, 0o600, b"f")[0]
    client.write(handle, 0, b"hello")
    about = (served.export / "d/f").stat()
    attr = client.ask("getattr", handle)
    assert (attr[0], attr[7], attr[8]) == (about.st_mode, about.st_ino, 5)
    client.ask("link", handle, ROOT_HANDLE, b"again")
    client.ask("symlink", ROOT_HANDLE, b"soft", b"d/f")
    soft = client.ask("lookup", ROOT_HANDLE, 1, b"soft")[0]
    assert client.ask("readlink", soft) == [b"d/f"]
    assert client.ask("lookup", ROOT_HANDLE, 0, b"soft")[0] == handle
    fifo = client.ask("mknod", ROOT_HANDLE, stat.S_IFIFO | 0o640, 0, b"pipe")[1]
    assert fifo == (served.export / "pipe").stat().st_mode == stat.S_IFIFO | 0o640
    client.ask("unlink", ROOT_HANDLE, b"pipe")
    for kind in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        with pytest.raises(Refused, match=r"mknod no on server .*Invalid argument"):
            client.ask("mknod", ROOT_HANDLE, kind | 0o640, 0, b"no")
    client.ask("rename", folder, b"f", ROOT_HANDLE, b"g", 0)
    left = sorted(path.name for path in served.export.iterdir() if path.name[0] != ".")
    assert left == ["again", "d", "g", "soft"]
    assert (served.export / "again").read_text() == "hello"
    names, cookie, more = set(), 0, True
    while more:
        seq = client.send("readdir", request("readdir", [ROOT_HANDLE, cookie, 2]))
        frame, (entries,), _ = client.reply(seq)
        more, cookie = bool(frame.flags & FLAG["more"]), entries[-1][0]
        names |= {entry[3] for entry in entries}
    assert names == {b".", b"..", b"again", b"d", b"g", b"soft"}
    client.ask("setattr", handle, 1 | 8 | 32, 0o640, 0, 0, 3, 0, 0, 1234, 5)
    about = (served.export / "g").stat()
    assert (about.st_mode & 0o777, about.st_size, about.st_mtime_ns) == (0o640, 3, 1234 * 10**9 + 5)
    client.ask("unlink", ROOT_HANDLE, b"g")
    client.ask("rmdir", ROOT_HANDLE, b"d")
    assert client.read(handle, (0, 10)) == [b"hel"]  # held, so it lives on
    client.ask("unlink", ROOT_HANDLE, b"again")
    assert client.read(handle, (0, 10)) == [b"hel"]
    assert client.ask("statfs", ROOT_HANDLE)[7] == os.statvfs(served.export).f_namemax


def test_the_space_of_a_removed_file_is_given_back_when_nobody_holds_it(served: Server) -> None:
    def removed(names: set[str]) -> None:
        """Of files without a name the server has these open, in a while."""
        end = time.monotonic() + 60
        while True:
            there = set()
            for fd in Path(f"/proc/{served.process.pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    there.add(fd.readlink().name)
            deleted = {name for name in there if name.endswith(" (deleted)")}
            if deleted == {f"{name} (deleted)" for name in names}:
                return
            assert time.monotonic() < end, deleted
            time.sleep(0.01)

    client = served.client()
    handles = {name: client.open(name) for name in ("held", "replaced", "new", "released")}
    for name, handle in handles.items():
        client.write(handle, 0, bytes(4096))
        if name != "held":
            client.ask("release", handle)
    client.ask("unlink", ROOT_HANDLE, b"held")
    client.ask("unlink", ROOT_HANDLE, b"released")
    client.ask("rename", ROOT_HANDLE, b"new", ROOT_HANDLE, b"replaced", 0)
    removed({"held"})
    assert client.read(handles["held"], (0, 9999)) == [bytes(4096)]
    client.ask("release", handles["held"])
    removed(set())
    with pytest.raises(Refused, match="Stale file handle"):
        client.size(handles["held"])
    directory = client.ask("mkdir", ROOT_HANDLE, 0o755, b"d")[0]
    client.ask("rmdir", ROOT_HANDLE, b"d")
    assert stat.S_ISDIR(client.ask("getattr", directory)[0])  # it may be a working directory


def test_errors_name_what_where_and_why(served: Server) -> None:
    client = served.client()
    with pytest.raises(Refused, match="open no/file on server server: No such file") as refused:
        client.ask("open", ROOT_HANDLE, READ, 0, b"no/file")
    assert errno_of(refused.value) == "No such file or directory"
    client.open("f")
    with pytest.raises(Refused, match="File exists"):
        client.open("f", CREATE | EXCLUSIVE | WRITE)
    with pytest.raises(Refused, match="Stale file handle"):
        client.read(bytes(31) + b"x", (0, 1))


@pytest.mark.parametrize(
    "path", [b"../out", b"/etc/passwd", b"a/../../out", b"link/passwd", b"a/up"]
)
def test_no_path_leads_out_of_the_export(served: Server, path: bytes) -> None:
    (served.export.parent / "out").write_text("secret")
    (served.export / "a").mkdir()
    (served.export / "link").symlink_to("/etc")
    (served.export / "a/up").symlink_to("../../out")
    client = served.client()
    asked = re.escape(path.decode())
    with pytest.raises(Refused, match=f"open {asked} on server server: .*cross-device link"):
        client.ask("open", ROOT_HANDLE, READ, 0, path)
    with pytest.raises(Refused):
        client.ask("mkdir", ROOT_HANDLE, 0o755, b"../made")
    assert not (served.export.parent / "made").exists()


def test_large_writes_are_pulled_and_large_reads_come_in_parts(served: Server) -> None:
    client = served.client()
    handle = client.open("big")
    data = random.Random(1).randbytes(5 << 20)
    client.write(handle, 100, data)
    assert (served.export / "big").read_bytes() == bytes(100) + data
    assert client.read(handle, (100, 5 << 20)) == [data]
    got = client.read(handle, (100, 3 << 20), (0, 100), (1 << 40, 10), (4 << 20, 9 << 20))
    whole = bytes(100) + data
    assert got == [data[: 3 << 20], bytes(100), b"", whole[4 << 20 :]]


def test_random_operations_equal_a_local_file(served: Server, tmp_path: Path) -> None:
    chance, client = random.Random(7), served.client()
    handle = client.open("x")
    with (tmp_path / "local").open("w+b") as local:
        for step in range(3000):
            offset, length = chance.randrange(1 << 18), chance.choice([1, 100, 5000, 40000])
            match chance.randrange(8):
                case 0 | 1 | 2:
                    data = chance.randbytes(length)
                    client.write(handle, offset, data, flags=chance.choice([0, NONBLOCKING]))
                    os.pwrite(local.fileno(), data, offset)
                case 3 | 4 | 5:
                    assert client.read(handle, (offset, length)) == [
                        os.pread(local.fileno(), length, offset)
                    ], step
                case 6:
                    extents = [(chance.randrange(1 << 18), 300) for _ in range(20)]
                    data = chance.randbytes(300 * 20)
                    client.ask("write", handle, extents, data=data, flags=NONBLOCKING)
                    for i, (at, size) in enumerate(extents):
                        os.pwrite(local.fileno(), data[i * size : (i + 1) * size], at)
                case _ if chance.random() < 0.2:
                    client.ask("setattr", handle, 8, 0, 0, 0, offset, 0, 0, 0, 0)
                    os.ftruncate(local.fileno(), offset)
                case _:
                    assert client.size(handle) == os.fstat(local.fileno()).st_size
    assert client.commit(handle) == []
    assert (served.export / "x").read_bytes() == (tmp_path / "local").read_bytes()


@pytest.mark.parametrize("pool", [4096, 1 << 20, 256 << 20])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_pool_of_one_buffer_gives_the_same_files(tmp_path: Path, pool: int, workers: int) -> None:
    with server(tmp_path, "--pool", str(pool), "--workers", str(workers)) as served:
        written = random.Random(3).randbytes(300_000)

        def one(number: int) -> None:
            client = served.client()
            handle = client.open(f"f{number}")
            for at in range(0, len(written), 30_000):
                client.write(handle, at, written[at : at + 30_000], flags=NONBLOCKING)
            assert client.commit(handle) == []
            assert client.read(handle, (0, 1 << 20)) == [written]

        run_together(one, 4)
        assert {path.read_bytes() for path in served.export.iterdir()} == {written}
        assert served.client().status()["pool_free_bytes"] == pool


def run_together(work: object, count: int) -> None:
    """Threads that must all succeed."""
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)  # type: ignore[operator]
        except BaseException as error:  # handed on below
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=[i]) for i in range(count)]
    [thread.start() for thread in threads]
    [thread.join(120) for thread in threads]
    assert not any(thread.is_alive() for thread in threads), "a client hangs"
    if failures:
        raise failures[0]


def test_appends_of_many_clients_tile_the_file(served: Server) -> None:
    (served.export / "log").write_bytes(b"before")  # content that is not ours
    laid: list[tuple[int, int, int, int]] = []

    def one(number: int) -> None:
        chance, client = random.Random(number), served.client()
        handle = client.open("log")
        for step in range(60):
            length = chance.choice([16, 700, 30_000])
            record = bytes([number + 1]) * length
            flags = chance.choice([0, NONBLOCKING])
            laid.append((client.append(handle, record, flags=flags), length, number, step))
        assert client.commit(handle) == []

    run_together(one, 4)
    content, end = (served.export / "log").read_bytes(), 6
    assert content[:6] == b"before"
    for offset, length, number, _ in sorted(laid):
        assert offset == end
        end += length
        assert content[offset:end] == bytes([number + 1]) * length
    assert end == len(content)
    for number in range(4):
        mine = [(step, offset) for offset, _, who, step in laid if who == number]
        assert sorted(mine) == sorted(mine, key=lambda pair: pair[1])


def test_a_repeated_append_is_not_appended_twice(served: Server) -> None:
    client = served.client()
    handle = client.open("log")
    body = request("append", [handle, 5]) + b"hello"
    seq = client.send("append", body)
    client.close()  # the answer is lost
    again = served.client(like=client)
    again.send("append", body, seq=seq, flags=RETRY)
    assert again.reply(seq)[1][0] == 0
    again.send("append", body, seq=seq, flags=RETRY)
    assert again.reply(seq)[1][0] == 0
    assert again.append(handle, b"world") == 5
    assert (served.export / "log").read_bytes() == b"helloworld"
    assert again.status()["repeated"] == 2


def test_a_write_goes_on_after_the_connection_was_lost_in_its_middle(served: Server) -> None:
    client = served.client()
    handle = client.open("f")
    data = random.Random(5).randbytes(3 << 20)
    body = request("append", [handle, len(data)])
    seq = client.send("append", body, flags=PULL)
    pull = client.frame()
    assert pull.kind == NUMBERS["kind"]["pull"]
    part = Frame(4, OPS["append"], client.id, seq, body=pack("Q", [0]) + data[: client.piece])
    client.socket.sendall(part.encode())
    client.frame()  # the second pull: never answered
    client.close()
    again = served.client(like=client)
    again.send("append", body, seq=seq, flags=PULL | RETRY)
    assert again.reply(seq, data)[1][0] == 0
    assert (served.export / "f").read_bytes() == data


def test_data_that_never_comes_is_a_gap(tmp_path: Path) -> None:
    with server(tmp_path, "--lease", "1") as served:
        client, other = served.client(), served.client()
        handle = client.open("log")
        client.append(handle, b"first")
        seq = client.send("append", request("append", [handle, 100_000]), flags=PULL, deadline=300)
        assert other.append(other.open("log"), b"last") == 5 + 100_000
        with pytest.raises(Refused, match="timed out") as refused:
            client.reply(seq, b"")
        assert (refused.value.offset, refused.value.length) == (5, 100_000)
        seq = client.send("append", request("append", [handle, 10_000]), flags=PULL)
        client.frame()
        client.close()  # and now the client dies
        assert other.append(handle, b"end") == 5 + 100_000 + 4 + 10_000
        deadline = time.time() + 20
        while len(gaps := other.ask("gaps", handle, 0)[0]) < 2 and time.time() < deadline:
            time.sleep(0.2)
        gap_rows = [(offset, length, client_id) for offset, length, client_id, _, _ in gaps]
        assert gap_rows == [(5, 100_000, client.id), (5 + 100_004, 10_000, client.id)]
        while (clients := other.status()["clients"]) > 1 and time.time() < deadline:
            time.sleep(0.2)
        assert clients == 1


def test_mixed_use_of_an_appended_file_is_refused_without_the_hint(served: Server) -> None:
    client, shared = served.client(), {HINT["append_shared"]: b""}
    handle = client.open("log")
    client.append(handle, b"0123456789")
    client.write(handle, 4, b"xx")
    with pytest.raises(Refused, match="busy"):
        client.write(handle, 8, b"xxxx")
    with pytest.raises(Refused, match="busy"):
        client.open("log", WRITE | TRUNCATE)
    client.write(handle, 8, b"yyyy", hints=shared)
    assert client.append(handle, b"!", hints=shared) == 12
    client.ask("setattr", handle, 8, 0, 0, 0, 3, 0, 0, 0, 0, hints=shared)
    assert client.append(handle, b"end") == 3
    aligned = {HINT["append_align"]: (4096).to_bytes(4, "little")}
    assert client.append(handle, b"block", hints=aligned) == 4096
    assert client.ask("gaps", handle, 0)[0] == [(6, 4090, 0, 0, 0)]
    assert (served.export / "log").read_bytes() == b"012end" + bytes(4090) + b"block"


@pytest.mark.parametrize("flags", [0, NONBLOCKING])
def test_failed_ranges_are_named_to_who_wrote_them_and_to_nobody_else(
    tmp_path: Path, flags: int
) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limit[1]))  # the server inherits it
    try:
        served = Server(tmp_path / "store", "--unix", str(tmp_path / "s"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    client, other = served.client(), served.client()
    handle = client.open("f")
    extents, data = [(0, 4), (2 << 20, 5), (8, 4)], b"good-bad-good"
    if flags:
        client.ask("write", handle, extents, data=data, flags=flags)
        other.write(handle, 100, b"fine", flags=flags)
        assert other.commit(handle) == []
        failed = client.commit(handle)
        assert [f[2:] for f in failed] == [(2 << 20, 5, 27)]  # EFBIG
        assert client.commit(handle) == []  # told once
        client.write(handle, 3 << 20, b"lost", flags=flags)
        client.commit(other.open("g"))
    else:
        with pytest.raises(Refused, match="write f on server server: File too large") as refused:
            client.ask("write", handle, extents, data=data)
        assert (refused.value.offset, refused.value.length) == (2 << 20, 5)
    content = (served.export / "f").read_bytes()
    assert (content[:4], content[8:12]) == (b"good", b"good")
    assert served.stop() == 0
    assert ("was not told: bytes 3145728 to 3145732" in served.log.read_text()) == bool(flags)


def test_strided_writes_of_four_ranks_become_few_accesses_of_a_slow_store(tmp_path: Path) -> None:
    with server(tmp_path, "--throttle", "latency=0.5") as served:
        clients = [served.client() for _ in range(4)]
        handles = [client.open("f") for client in clients]
        served.process.send_signal(signal.SIGSTOP)  # it finds all at once, however slow this is
        busy = request("write", [handles[0], [(1 << 20, 17)]]) + b"the store is busy"
        seqs = [clients[0].send("write", busy, flags=NONBLOCKING)]
        for rank, (client, handle) in enumerate(zip(clients, handles, strict=True)):
            extents = [((step * 4 + rank) * 25, 25) for step in range(250)]
            body = request("write", [handle, extents]) + bytes([rank + 1]) * 6250
            seqs.append(client.send("write", body, flags=NONBLOCKING))
        served.process.send_signal(signal.SIGCONT)
        for client, seq in zip([clients[0], *clients], seqs, strict=True):
            assert client.reply(seq)[1][1] == NUMBERS["level"]["accepted"]
        assert [c.commit(h, 2) for c, h in zip(clients, handles, strict=True)] == [[]] * 4
        assert clients[0].status()["store_writes"] == 2
        expected = b"".join(bytes([rank + 1]) * 25 for rank in range(4)) * 250
        assert (served.export / "f").read_bytes()[: len(expected)] == expected


def test_a_slow_store_gets_an_answer_at_the_deadline_and_the_outcome_later(tmp_path: Path) -> None:
    with server(tmp_path, "--throttle", "latency=1") as served:
        client = served.client()
        handle = client.open("f")
        body = request("append", [handle, 4]) + b"late"
        seq = client.send("append", body, deadline=200)
        with pytest.raises(Refused, match="no answer in time"):
            client.reply(seq)
        client.send("append", body, seq=seq, flags=RETRY)
        assert client.reply(seq)[1][0] == 0
        assert (served.export / "f").read_bytes() == b"late"


def test_an_error_is_told_by_the_commit_that_is_heard_not_by_one_that_was_late(
    tmp_path: Path,
) -> None:
    with server(tmp_path, "--throttle", "latency=1") as served:
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        client = served.client()
        handle = client.open("f")
        assert client.write(handle, 2 << 20, b"lost", flags=NONBLOCKING) == 1
        late = client.send("commit", request("commit", [handle, 2]), deadline=200)
        with pytest.raises(Refused, match="no answer in time"):
            client.reply(late)
        assert [failed[2:] for failed in client.commit(handle)] == [(2 << 20, 4, errno.EFBIG)]
        client.send("commit", request("commit", [handle, 2]), seq=late, flags=RETRY)
        assert client.reply(late)[1] == [[]]


def test_sigterm_writes_what_was_accepted(tmp_path: Path) -> None:
    with server(tmp_path, "--throttle", "latency=0.3") as served:
        client = served.client()
        handle = client.open("f")
        for step in range(5):
            assert client.write(handle, step * 10, b"x" * 5, flags=NONBLOCKING) == 1
        assert served.stop() == 0
        assert (served.export / "f").read_bytes() == (b"xxxxx" + bytes(5)) * 4 + b"xxxxx"
        served.process = Server(served.export, "--unix", str(tmp_path / "s")).process


def test_after_sigkill_what_was_written_is_there_and_appends_go_on_behind_it(
    tmp_path: Path,
) -> None:
    socket_path, store = str(tmp_path / "s"), tmp_path / "store"
    served = Server(store, "--unix", socket_path)
    client = served.client()
    handle = client.open("log")
    offsets = [client.append(handle, b"0123456789") for _ in range(20)]
    served.stop(signal.SIGKILL)
    with pytest.raises((ConnectionError, BrokenPipeError)):
        client.append(handle, b"nobody is there")
    with server(tmp_path) as again:  # on the same socket, which the dead one left behind
        other = again.client()
        assert other.epoch != client.epoch
        with pytest.raises(Refused, match="Stale"):
            other.append(handle, b"?")
        handle = other.open("log", WRITE)
        assert [other.append(handle, b"next"), other.append(handle, b"last")] == [200, 204]
    assert offsets == list(range(0, 200, 10))
    assert (store / "log").read_bytes() == b"0123456789" * 20 + b"nextlast"


ZSTD = {HINT["compress"]: b"\x01"}


@pytest.mark.parametrize(
    ("asked", "length", "written"),
    [(ZSTD, 20_000, True), (ZSTD, 19_999, False), (ZSTD, 1 << 31, False), ({}, 20_000, False)],
)
def test_compressed_data_is_what_was_agreed_on_and_as_long_as_it_says(
    served: Server, asked: dict[int, bytes], length: int, written: bool
) -> None:
    client = Client(served.addresses[0], hints=asked)
    assert (HINT["compress"] in client.agreed) == bool(asked)
    handle = client.open("f")
    seq = client.send("write", request("write", [handle, [(0, 20_000)]]), flags=PULL)
    assert client.frame().kind == NUMBERS["kind"]["pull"]
    body = pack("QI", [0, length]) + zstd_run(b"x", 20_000)
    part = Frame(4, OPS["write"], client.id, seq, FLAG["compressed"], body=body)
    client.socket.sendall(part.encode())
    if written:
        assert client.reply(seq)[1][0] == 20_000
        assert (served.export / "f").read_bytes() == b"x" * 20_000
        return
    with pytest.raises(Refused, match="compressed"):
        client.reply(seq)
    with pytest.raises(ConnectionError):
        client.frame()


def test_tcp_asks_for_the_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef" * 4 + "\n")
    token.chmod(0o600)
    served = Server(tmp_path / "store", "--tcp", "127.0.0.1:0", "--token", str(token))
    good = served.client(token=token.read_bytes().strip())
    assert good.append(good.open("f"), b"hello") == 0
    with pytest.raises(Refused, match="not the server's token"):
        served.client(token=b"wrong")
    with pytest.raises(Refused, match="another key"):
        thief = Client.__new__(Client)
        thief.id, thief.key, thief.seqs = good.id, bytes(16), good.seqs
        Client.__init__(
            good_address := thief, served.addresses[0], token=token.read_bytes().strip(), like=thief
        )
        del good_address
    raw = socket.create_connection(("127.0.0.1", int(served.addresses[0].rsplit(":", 1)[1])))
    raw.sendall(Frame(1, OPS["ping"], 5, 1, body=request("ping", [])).encode())
    refusal = raw.recv(65536)
    assert int.from_bytes(refusal[36:40], "little") == STATUS["auth"]
    assert raw.recv(100) == b""
    assert served.stop() == 0


@pytest.mark.parametrize(
    "bad",
    [
        b"GET / HTTP/1.1\r\n\r\n" + bytes(100),
        bytes(64),
        Frame(1, OPS["read"], 1, 1, body=bytes(32) + b"\xff" * 4).encode(),
        Frame(1, OPS["ping"], 1, 1, body=b"\0\0surplus").encode(),
        Frame(1, 999, 1, 1, body=bytes(2)).encode(),
        Frame(4, OPS["write"], 1, 1, body=bytes(1 << 20)).encode(),
        Frame(2, OPS["write"], 1, 1, body=bytes(16)).encode(),
    ],
)
def test_what_is_no_request_ends_its_connection_and_harms_nobody(
    served: Server, bad: bytes
) -> None:
    client, other = served.client(), served.client()
    mine = bad.replace((1).to_bytes(8, "little"), client.id.to_bytes(8, "little"), 1)
    if len(bad) > 64 and bad[:4] == b"FFWD":
        header = mine[:60]
        mine = header + crc32c(header).to_bytes(4, "little") + mine[64:]
    client.socket.settimeout(10)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # closed before all was read
        client.socket.sendall(mine)
        while client.socket.recv(65536):
            pass
    assert other.write(other.open("f"), 0, b"fine") == 2


def test_random_damage_never_stops_the_server(served: Server) -> None:
    chance = random.Random(11)
    good = [
        Frame(
            1, OPS["hello"], 77, 0, body=request("hello", [1, 1, bytes(16), bytes(32), b"x"])
        ).encode(),
        Frame(1, OPS["lookup"], 77, 1, body=request("lookup", [ROOT_HANDLE, 0, b"f"])).encode(),
        Frame(
            1, OPS["append"], 77, 2, body=request("append", [ROOT_HANDLE, 5]) + b"12345"
        ).encode(),
    ]
    for _ in range(300):
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(served.addresses[0].partition(":")[2])
        data = bytearray(b"".join(good))
        for _ in range(chance.randrange(3)):
            at = chance.randrange(64, len(data))
            data[at] = chance.randrange(256)
        with contextlib.suppress(BrokenPipeError):
            raw.sendall(data[: chance.randrange(1, len(data) + 1)])
        raw.close()
    assert served.client().ask("ping") == []


def test_only_a_socket_gives_way(tmp_path: Path) -> None:
    """A file of the user's that --unix names by a slip stays; what a dead server left does not."""
    (tmp_path / "export").mkdir()
    place = tmp_path / "s"
    place.write_text("precious")
    words = [str(ENGINE), "forward", str(tmp_path / "export"), "--unix", str(place)]
    for what in ("file", "link"):
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode != 0, what
        assert done.stderr == f"fathom-engine: --unix {place}: there is a file that is no socket\n"
        assert place.read_text() == "precious"
        if what == "file":
            place.rename(tmp_path / "precious")
            place.symlink_to(tmp_path / "precious")
    place.unlink()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place))
    with server(tmp_path) as served:
        served.client().open("f")


def test_two_commits_at_once_both_wait(tmp_path: Path) -> None:
    with server(tmp_path, "--throttle", "latency=0.3", "--workers", "1") as served:
        client, other = served.client(), served.client()
        handle = client.open("f")
        client.write(handle, 0, b"data", flags=NONBLOCKING)
        other.write(handle, 10, b"data", flags=NONBLOCKING)
        run_together(lambda n: [client, other][n].commit(handle), 2)
        assert (served.export / "f").read_bytes() == b"data" + bytes(6) + b"data"


def test_a_key_of_zeros_is_a_key(served: Server) -> None:
    client = served.client(key=bytes(16))
    with pytest.raises(Refused) as refused:
        served.client(like=client, key=b"B" * 16)
    assert refused.value.status == STATUS["refused"]
    served.client(like=client, key=bytes(16)).ask("ping")


def test_what_is_no_link_is_not_read_as_one(served: Server) -> None:
    client = served.client()
    with pytest.raises(Refused, match="Invalid argument"):
        client.ask("readlink", client.open("f"))
