"""Operations that plug-ins bring into a server: called by name, in the file's order, with a deadline."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import fathom
import pytest
from fathom.errors import UsageError
from fathom.forward import settings

from .client import ROOT_HANDLE, WRITE, Client, Refused, Server, server
from .test_c_client import DRIVE, FAULTS
from .wire import ROOT, request

EXAMPLE = ROOT / "examples/forward_plugin.c"
HEADER = """
#include <errno.h>
#include <fathom_fwd_plugin.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
"""
ENTRY = """
static const struct fathom_fwd_plugin plugin = {VERSION, sizeof(all) / sizeof(*all), all};
FATHOM_FWD_PLUGIN_API const struct fathom_fwd_plugin *fathom_fwd_plugin(void) { return &plugin; }
"""
# What a plug-in may do wrong, and what it may see.
ODD = """
static int echo(struct fathom_fwd_plugin_call *c)
{
	c->length = c->given_length < c->room ? c->given_length : c->room;
	memcpy(c->reply, c->given, c->length);
	return 0;
}
static int boast(struct fathom_fwd_plugin_call *c) { c->length = c->room + 1; return 0; }
static int strange(struct fathom_fwd_plugin_call *c) { (void)c; return -7; }
static int full(struct fathom_fwd_plugin_call *c)
{
	snprintf(c->message, c->message_room, "no room for %zu bytes", c->given_length);
	return ENOSPC;
}
static int stuck(struct fathom_fwd_plugin_call *c)
{
	while (!access("/proc/self", F_OK))
		usleep(10000);
	return c->given_length;
}
static int listed(struct fathom_fwd_plugin_call *c)
{
	c->length = (size_t)snprintf(c->reply, c->room, "%d %d", faccessat(c->directory, "f", F_OK, 0), c->file);
	return 0;
}
static int counted(struct fathom_fwd_plugin_call *c)
{
	static int calls;
	(void)c;
	c->length = (size_t)snprintf(c->reply, c->room, "%d", ++calls);
	return 0;
}
static const struct fathom_fwd_plugin_operation all[] = {
	{"echo", echo}, {"boast", boast}, {"strange", strange}, {"full", full}, {"stuck", stuck},
	{"listed", listed}, {"counted", counted},
};
"""


def compiled(place: Path, source: str | Path, *options: str) -> Path:
    """The library of a source: a file's or a text's."""
    library = place / f"plugin{len(list(place.glob('*.so')))}.so"
    if isinstance(source, str):
        file = library.with_suffix(".c")
        file.write_text(HEADER + source)
    else:
        file = source
    words = ["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{ROOT}/forward/include"]
    subprocess.run([*words, *options, file, "-o", library], check=True)
    return library


def odd(place: Path, entry: str = ENTRY.replace("VERSION", "FATHOM_FWD_PLUGIN_VERSION")) -> Path:
    return compiled(place, ODD + entry)


def call(
    client: Client, name: str, given: bytes = b"", handle: bytes = ROOT_HANDLE, room: int = 65536
) -> bytes:
    seq = client.send("call", request("call", [handle, name.encode(), room]) + given)
    return client.reply(seq)[2]


def test_checksums_and_sums_of_a_files_ranges_are_worked_out_at_the_server(tmp_path: Path) -> None:
    data = os.urandom(700_001)
    with server(tmp_path, "--plugin", str(compiled(tmp_path, EXAMPLE))) as served:
        client = served.client()
        handle = client.open("f")
        client.write(handle, 0, data)
        ranges = [(0, 700_001), (5, 1), (699_000, 5000), (800_000, 4)]
        given = b"".join(struct.pack("<QQ", *range_) for range_ in ranges)
        sums = struct.unpack("<4I", call(client, "crc32", given, handle))
        assert list(sums) == [zlib.crc32(data[at : at + length]) for at, length in ranges]
        client.write(handle, 0, struct.pack("<4d", 2.5, -1, 4, 1e9))
        least = call(client, "doubles", struct.pack("<QQ", 0, 24), handle)
        assert struct.unpack("<3dQ", least) == (-1.0, 4.0, 5.5, 3)
        assert served.client().status()["calls"] == 2


def test_a_call_sees_what_was_accepted_before_it(tmp_path: Path) -> None:
    with server(
        tmp_path, "--plugin", str(compiled(tmp_path, EXAMPLE)), "--throttle", "latency=0.05"
    ) as served:
        client = served.client()
        handle = client.open("f")
        whole = struct.pack("<QQ", 0, 1 << 40)
        for n in range(5):
            piece = bytes([n]) * 1000
            assert client.write(handle, n * 1000, piece, flags=16) == 1  # accepted
            wanted = zlib.crc32(b"".join(bytes([i]) * 1000 for i in range(n + 1)))
            assert call(client, "crc32", whole, handle) == struct.pack("<I", wanted)


@pytest.mark.parametrize("fault", [FAULTS[0], FAULTS[1], FAULTS[-1]])
def test_the_c_client_calls_once_whatever_happens_to_the_connection(
    tmp_path: Path, fault: str
) -> None:
    if not DRIVE.exists():
        pytest.skip("no build/: make build")
    with server(tmp_path, "--plugin", str(compiled(tmp_path, EXAMPLE))) as served:
        where = f"fault:{fault}:{served.addresses[0]}" if fault else served.addresses[0]
        done = subprocess.run(
            [DRIVE, "calls", where, "40"], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
        unknown, wrong = done.stdout.splitlines()
        assert unknown.endswith("no operation 'none'; there are crc32, doubles")
        assert wrong.endswith("operation 'crc32': ranges are expected: (u64 offset, u64 length)")


def test_what_a_plugin_does_wrong_is_that_calls_error(tmp_path: Path) -> None:
    with server(tmp_path, "--plugin", str(odd(tmp_path))) as served:
        client = served.client()
        for name, status, what in [
            ("boast", 5, "operation 'boast': it says that it answered 9 bytes, and had room for 8"),
            ("strange", 5, "operation 'strange': it returned -7, which is no errno"),
            ("full", 28, "operation 'full': no room for 3 bytes"),
            ("echo ", 38, "no operation 'echo '; there are boast, counted, echo, full"),
        ]:
            with pytest.raises(Refused, match=what) as refused:
                call(client, name, b"abc", room=8)
            assert refused.value.status == status
        assert call(client, "echo", b"abc", room=2) == b"ab"
        assert call(client, "echo", bytes(65536)) == bytes(65536)
        assert call(client, "listed") == b"-1 -1"
        client.open("f")
        assert call(client, "listed") == b"0 -1"
        for given, room in [(65537, 0), (0, 65537)]:
            with pytest.raises(Refused) as refused:
                call(client, "echo", bytes(given), room=room)
            assert refused.value.status == 90  # EMSGSIZE
        with pytest.raises(Refused) as refused:
            call(client, "echo", handle=b"\1" * 32)
        assert refused.value.status == 116  # ESTALE


def test_an_operation_that_hangs_is_late_and_holds_up_no_file(tmp_path: Path) -> None:
    with server(tmp_path, "--plugin", str(odd(tmp_path)), "--workers", "1") as served:
        client = served.client()
        handle = client.open("f")
        for _ in range(2):  # the second is not begun, as the only thread is stuck
            body = request("call", [handle, b"stuck", 0])
            with pytest.raises(Refused, match="no answer in time"):
                client.reply(client.send("call", body, deadline=100))
        client.write(client.open("g"), 0, b"data")
        assert client.read(handle, (0, 10)) == [b""]
        served.stop(signal.SIGKILL)
        served.process.poll = lambda: None  # type: ignore[method-assign]  # it was meant to


def test_a_repeated_call_is_answered_and_not_done_again(tmp_path: Path) -> None:
    with server(tmp_path, "--plugin", str(odd(tmp_path))) as served:
        client = served.client()
        body = request("call", [ROOT_HANDLE, b"counted", 8])
        seq = client.send("call", body)
        assert client.reply(seq)[2] == b"1"
        again = served.client(like=client)
        again.send("call", body, seq=seq, flags=2)
        assert again.reply(seq)[2] == b"1"
        assert call(again, "counted") == b"2"


def test_calls_of_many_clients_run_at_once(tmp_path: Path) -> None:
    with server(tmp_path, "--plugin", str(odd(tmp_path))) as served:
        answers: list[bytes] = []

        def ask(number: int) -> None:
            client = served.client()
            for n in range(50):
                answers.append(call(client, "echo", b"%d %d" % (number, n)))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == sorted(b"%d %d" % (a, b) for a in range(8) for b in range(50))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda at: odd(at, ENTRY.replace("VERSION", "9")), "it is of version 9 of"),
        (lambda at: compiled(at, "int nothing;"), "it has no function fathom_fwd_plugin"),
        (lambda at: at / "none.so", "No such file"),
        (lambda _: EXAMPLE, "invalid ELF header"),
        (
            lambda at: odd(
                at, ENTRY.replace("VERSION", "1").replace("sizeof(all) / sizeof(*all)", "0")
            ),
            "it has 0 operations",
        ),
        (lambda at: renamed(at, "read"), "'read' is an operation of the protocol"),
        (lambda at: renamed(at, "a/b"), "'a/b' is no name"),
        (lambda at: renamed(at, "full"), "there is an operation 'full' already"),
    ],
)
def test_a_plugin_that_does_not_fit_is_refused_at_the_start(
    tmp_path: Path, make: Callable[[Path], Path], message: str
) -> None:
    plugin = make(tmp_path)
    with pytest.raises(AssertionError) as ended:
        Server(tmp_path / "store", "--unix", str(tmp_path / "s"), "--plugin", str(plugin))
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert len(lines) == 1 and f"--plugin {plugin}: " in lines[0] and message in lines[0], ended


def renamed(place: Path, name: str) -> Path:
    source = ODD.replace('{"echo", echo}', f'{{"{name}", echo}}')
    return compiled(place, source + ENTRY.replace("VERSION", "1"))


def test_a_configuration_names_plugins(tmp_path: Path) -> None:
    file = tmp_path / "servers.toml"
    file.write_text("path = '/x'\nplugins = ['a.so', 'b.so']\n[[server]]\n")
    assert settings.read(file)[0].options()[-4:] == ["--plugin", "a.so", "--plugin", "b.so"]
    file.write_text("path = '/x'\nplugins = 'a.so'\n[[server]]\n")
    with pytest.raises(UsageError, match=r"plugins = 'a.so': a list of str is expected"):
        settings.read(file)


@pytest.mark.parametrize("late", [False, True])
def test_a_call_is_a_row_of_the_trace_by_its_operations_name(tmp_path: Path, late: bool) -> None:
    """`late`: recording begins while the server runs."""
    run = tmp_path / "r.fathom"
    record = () if late else ("--record", str(run))
    with server(tmp_path, "--plugin", str(compiled(tmp_path, EXAMPLE)), *record) as served:
        client = served.client()
        if late:
            assert client.ask("record", 1, data=f"FATHOM_RUN={run}\0\0".encode())[0] == 0
        handle = client.open("f", WRITE | 1 | 32)
        body = request("call", [handle, b"crc32", 8]) + struct.pack("<QQ", 0, 8)
        client.reply(client.send("call", body, call=(77, 8)))
        with pytest.raises(Refused):
            call(client, "crc32", b"odd", handle)
        assert served.stop() == 0
        served.process.poll = lambda: None  # type: ignore[method-assign]  # it was meant to
    rows = fathom.open(run).sql(
        "select c.op, c.error, f.path, l.kind, l.to_seq from calls c left join files f using (file)"
        " left join links l on l.from_call = c.id where c.layer = 'server' and c.op = 'crc32' order by start"
    )
    path = str(tmp_path / "store/f")
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        ("crc32", 0, path, "serves", 8),
        ("crc32", 22, path, None, None),
    ]
