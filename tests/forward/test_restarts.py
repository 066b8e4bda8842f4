"""What was done is done once and told right, when the server is killed or ended and started again in between."""

from __future__ import annotations

import errno
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness import needs

from .client import CREATE, EXCLUSIVE, ROOT_HANDLE, WRITE, Client, Refused, Server
from .test_c_client import Server as PlainServer
from .test_fuse import MOUNTER, Mounted
from .test_preload import PRELOAD, by
from .wire import NUMBERS, Frame, pack, request, unpack

FLAG, HINT = NUMBERS["flag"], NUMBERS["hint"]
RETRY, NONBLOCKING = FLAG["retry"], FLAG["nonblocking"]
ACCEPTED = NUMBERS["level"]["accepted"]
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="no strace")


def repeat(client: Client, op: str, body: bytes, seq: int) -> list[Any]:
    """Once more, by a client that had no answer."""
    client.send(op, body, seq=seq, flags=RETRY)
    return client.reply(seq)[1]


def found_at(handle: bytes, path: bytes) -> dict[int, bytes]:
    return {HINT["found_at"]: handle + path}


def test_an_append_that_was_done_is_told_its_offset_by_a_server_that_knows_no_handle(
    restarts: Callable[..., Server],
) -> None:
    client = restarts().client()
    handle = client.open("log")
    assert client.append(handle, b"first") == 0
    body = request("append", [handle, 6]) + b"second"
    seq = client.send("append", body)
    assert client.reply(seq)[1][0] == 5
    served = restarts()
    assert repeat(served.client(like=client), "append", body, seq)[0] == 5
    with pytest.raises(Refused) as refused:  # never asked before
        served.client().append(handle, b"third")
    assert refused.value.status == errno.ESTALE
    assert (served.export / "log").read_bytes() == b"firstsecond"


def test_a_retry_that_names_the_path_of_its_file_is_done_once(
    restarts: Callable[..., Server],
) -> None:
    client = restarts().client()
    handle = client.open("log")
    client.append(handle, b"first")
    like = restarts().client(like=client)
    hints = found_at(handle, b"log")
    body = request("append", [handle, 6]) + b"second"
    seq = like.send("append", body)
    with pytest.raises(Refused) as refused:
        like.reply(seq)
    assert refused.value.status == errno.ESTALE
    named = request("append", [handle, 6], hints) + b"second"
    assert repeat(like, "append", named, seq)[0] == 5
    again = restarts().client(like=like)
    assert repeat(again, "append", named, seq)[0] == 5
    assert again.append(handle, b"third") == 11  # it is held again


def test_a_path_that_is_another_file_by_now_is_not_taken(restarts: Callable[..., Server]) -> None:
    client = restarts().client()
    handle = client.open("f")
    served = restarts()
    (served.export / "f").rename(served.export / "g")
    (served.export / "f").write_bytes(b"another")
    like = served.client(like=client)
    body = request("write", [handle, [(0, 4)]], found_at(handle, b"f")) + b"gone"
    with pytest.raises(Refused) as refused:
        repeat(like, "write", body, next(like.seqs))
    assert refused.value.status == errno.ESTALE
    moved = request("write", [handle, [(0, 4)]], found_at(handle, b"g")) + b"here"
    repeat(like, "write", moved, next(like.seqs))
    assert (served.export / "f").read_bytes() == b"another"
    assert (served.export / "g").read_bytes() == b"here"


CHANGES: dict[str, tuple[str, Callable[[bytes], list[Any]], int]] = {
    "open": ("open", lambda _: [ROOT_HANDLE, CREATE | EXCLUSIVE | WRITE, 0o644, b"new"], errno.EEXIST),
    "mkdir": ("mkdir", lambda _: [ROOT_HANDLE, 0o755, b"new"], errno.EEXIST),
    "mknod": ("mknod", lambda _: [ROOT_HANDLE, 0o010644, 0, b"new"], errno.EEXIST),
    "symlink": ("symlink", lambda _: [ROOT_HANDLE, b"new", b"there"], errno.EEXIST),
    "link": ("link", lambda f: [f, ROOT_HANDLE, b"new"], errno.EEXIST),
    "rename": ("rename", lambda _: [ROOT_HANDLE, b"f", ROOT_HANDLE, b"new", 0], errno.ENOENT),
    "unlink": ("unlink", lambda _: [ROOT_HANDLE, b"f"], errno.ENOENT),
    "rmdir": ("rmdir", lambda _: [ROOT_HANDLE, b"d"], errno.ENOENT),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_names_that_was_done_before_a_kill_is_not_called_failed(
    restarts: Callable[..., Server], change: str
) -> None:
    op, values, why = CHANGES[change]
    client = restarts().client()
    file = client.open("f")
    client.ask("mkdir", ROOT_HANDLE, 0o755, b"d")
    hints = found_at(file, b"f")
    body = request(op, values(file), hints)
    seq = client.send(op, body)
    first = client.reply(seq)[1]
    refused_seq = client.send(op, body)
    with pytest.raises(Refused):
        client.reply(refused_seq)
    served = restarts()
    like = served.client(like=client)
    again = repeat(like, op, body, seq)
    if op in ("open", "mkdir", "mknod", "symlink"):
        assert again[0] == first[0]  # the same file
    with pytest.raises(Refused) as refused:  # as it was told, or would have been
        repeat(like, op, body, refused_seq)
    assert refused.value.status == why
    with pytest.raises(Refused) as refused:  # another one's
        repeat(served.client(), op, body, 1)
    assert refused.value.status == why


def test_an_exchange_of_names_is_not_done_twice(restarts: Callable[..., Server]) -> None:
    client = restarts().client()
    for name in (b"a", b"b"):
        client.write(client.open(name.decode()), 0, name)
    body = request("rename", [ROOT_HANDLE, b"a", ROOT_HANDLE, b"b", 2])
    seq = client.send("rename", body)
    client.reply(seq)
    served = restarts()
    repeat(served.client(like=client), "rename", body, seq)
    assert (served.export / "a").read_bytes() == b"b"


def test_what_an_orderly_end_wrote_is_not_told_as_lost(restarts: Callable[..., Server]) -> None:
    client = restarts().client()
    handle = client.open("f")
    assert client.write(handle, 0, bytes(100_000), flags=NONBLOCKING) == ACCEPTED
    like = restarts(signal.SIGTERM).client(like=client)
    ended = like.agreed[HINT["ended"]]
    assert client.epoch.to_bytes(8, "little") in (ended[:8], ended[-8:])
    handle = like.open("f")
    like.write(handle, 0, bytes(100_000), flags=NONBLOCKING)
    ended = restarts().client(like=like).agreed.get(HINT["ended"], b"")  # by a kill
    assert like.epoch.to_bytes(8, "little") not in (ended[:8], ended[-8:])


PROGRAM = """
import errno, os, sys
path, fsync = sys.argv[1] + "/log", int(sys.argv[2])
file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
for step in range(fsync or 12):
    os.write(file, b"%04d" % step * 100)
print("written", flush=True); sys.stdin.readline()
try:
    os.fsync(file)
    os.write(file, b"last")
    os.close(file)
    print("fine")
except OSError as error:
    print(errno.errorcode[error.errno])
"""


def running(environment: Any, place: Path, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, place, str(count)], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize(("how", "told"), [("SIGTERM", "fine\n"), ("SIGKILL", "EIO\n")])
def test_fsync_tells_of_loss_only_where_something_was_lost(
    tmp_path: Path, how: str, told: str
) -> None:
    with by("unix", tmp_path) as skin:
        program = running(skin.environment(FATHOM_FORWARD_DURABILITY="accepted"), skin.prefix, 12)
        assert program.stdout and program.stdout.readline() == "written\n"
        skin.server.end(getattr(signal, how))
        skin.server = PlainServer(skin.export.parent)
        answer = program.communicate("\n", timeout=300)[0]
        assert answer == told
        if how == "SIGTERM":
            whole = b"".join(b"%04d" % step * 100 for step in range(12)) + b"last"
            assert (skin.export / "log").read_bytes() == whole


LATER = """
import os, sys
file = os.open(sys.argv[1] + "/f", os.O_CREAT | os.O_WRONLY, 0o644)
os.write(file, bytes(100_000))
for _ in range(3):
    print(os.stat(sys.argv[1] + "/f").st_size, flush=True)
    sys.stdin.readline()
os.fsync(file)
os.close(file)
print("fine")
"""


def test_what_was_written_stays_so_whatever_servers_come_after(tmp_path: Path) -> None:
    """The second one has accepted nothing."""
    with by("unix", tmp_path) as skin:
        program = subprocess.Popen(
            [sys.executable, "-c", LATER, skin.prefix], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=skin.environment(FATHOM_FORWARD_DURABILITY="accepted"),
        )  # fmt: skip
        assert program.stdout and program.stdin
        for how in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            assert program.stdout.readline() == "100000\n"
            skin.server.end(how)
            skin.server = PlainServer(skin.export.parent)
            program.stdin.write("\n")
            program.stdin.flush()
        assert program.communicate(timeout=300)[0] == "fine\n"


def test_a_program_waits_for_the_next_server_while_this_one_ends(tmp_path: Path) -> None:
    """As it does after a kill: a server that ends does nothing of what it is asked."""
    served = Server(tmp_path / "export", "--unix", str(tmp_path / "sock"), "--lease", "30")
    busy = served.client()
    handle = busy.open("busy")
    body = request("write", [handle, [(0, 1 << 20)]])
    seq = busy.send("write", body, flags=FLAG["pull"], deadline=20_000)
    pull = busy.frame()  # it is asked for its data: the server cannot end yet
    (at, length), _ = unpack("QI", pull.body)
    environment = {
        "LD_PRELOAD": str(PRELOAD), "FATHOM_FORWARD_PREFIX": "/fwd",
        "FATHOM_FORWARD_SERVERS": served.addresses[0], "FATHOM_FORWARD_TIMEOUT": "20",
    }  # fmt: skip
    program = running(environment, Path("/fwd"), 2)
    assert program.stdout and program.stdout.readline() == "written\n"
    served.process.send_signal(signal.SIGTERM)
    with pytest.raises(Refused, match="the server is ending"):
        while True:
            served.client().ask("ping")
    assert program.stdin
    program.stdin.write("\n")
    program.stdin.flush()
    time.sleep(0.3)  # it asks meanwhile; whenever it does, it must not be told of the end
    assert program.poll() is None
    part = pack("Q", [at]) + bytes(length)
    data = Frame(NUMBERS["kind"]["data"], pull.op, busy.id, seq, body=part)
    busy.socket.sendall(data.encode())
    busy.reply(seq, bytes(1 << 20))
    assert served.process.wait(30) == 0
    with server_at(tmp_path / "export", tmp_path / "sock"):
        assert program.communicate(timeout=300)[0] == "fine\n"
    assert (tmp_path / "export/log").read_bytes().endswith(b"last")


@contextmanager
def server_at(export: Path, place: Path) -> Iterator[Server]:
    """Of that directory, on that socket."""
    started = Server(export, "--unix", str(place))
    try:
        yield started
    finally:
        started.stop(signal.SIGKILL)


RECORDS = b"".join(b"%04d" % step * 100 for step in range(12))


def killed_at(export: Path, place: Path, call: str, when: int) -> Server:
    """A server that is killed before its so-manieth call of that kind."""
    kill = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    kill += ["-e", f"inject={call}:signal=SIGKILL:when={when}"]
    return Server(export, "--unix", str(place), "--workers", "1", under=kill)


def check_records(
    export: Path, place: Path, killed: Server, start: Callable[[], subprocess.Popen[str]]
) -> None:
    """Whatever the server was killed at, the program's records are in the file once each, in order."""
    program = start()
    assert killed.process.wait(30) == -signal.SIGKILL
    with server_at(export, place):
        assert program.stdout and program.stdout.readline() == "written\n"
        assert program.communicate("\n", timeout=300)[0] == "fine\n"
    data = (export / "log").read_bytes().replace(b"\0", b"")
    assert data == RECORDS + b"last"


KILLS = [("sendto", when) for when in (3, 4, 5, 6, 8)] + [
    ("pwritev", 3),
    ("write", 6),
    ("write", 9),
]


@needs_strace
@pytest.mark.parametrize(("call", "when"), KILLS)
def test_a_programs_appends_are_done_once_whenever_the_server_is_killed(
    tmp_path: Path, call: str, when: int
) -> None:
    export, place = tmp_path / "export", tmp_path / "sock"
    killed = killed_at(export, place, call, when)
    environment = {
        "LD_PRELOAD": str(PRELOAD), "FATHOM_FORWARD_PREFIX": "/fwd",
        "FATHOM_FORWARD_SERVERS": killed.addresses[0], "FATHOM_FORWARD_TIMEOUT": "20",
    }  # fmt: skip
    check_records(export, place, killed, lambda: running(environment, Path("/fwd"), 12))


@pytest.mark.some(1)
@needs_strace
@pytest.mark.parametrize(("call", "when"), [("sendto", 12), ("sendto", 15), ("pwritev", 3)])
def test_appends_by_a_mount_are_done_once_whenever_the_server_is_killed(
    tmp_path: Path, call: str, when: int
) -> None:
    needs.require(["fuse", "namespaces"])
    if not MOUNTER.exists():
        pytest.skip("built without libfuse 3")
    export, place = tmp_path / "export", tmp_path / "sock"
    killed = killed_at(export, place, call, when)
    mounted = Mounted(tmp_path / "m", killed.addresses[0], "--timeout", "20")
    try:
        check_records(export, place, killed, lambda: running(None, mounted.at, 12))
    finally:
        mounted.end()
