"""Clients that are known by munge, not by a token: a munged of our own says who they are."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import needs
from harness.munge import munged

from .client import Client, Refused
from .test_c_client import DRIVE, Server, server
from .test_command import PRELOAD, forward, status, up
from .wire import FAILURE, NUMBERS, OPS, REPLY, Frame, decode_header, pack, pack_hints

NONCE, MUNGE = NUMBERS["hint"]["nonce"], NUMBERS["hint"]["munge"]


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Path]:
    """munged's socket."""
    needs.require(["munged", "munge", "unmunge"])
    with munged(tmp_path / "munge") as (socket_path, _):
        yield socket_path


def credential(at: Path, *options: str, user: int | None = None) -> Callable[[bytes], bytes]:
    """What makes one of a statement."""

    def make(statement: bytes) -> bytes:
        command = ["munge", "-S", str(at), *options]
        munge = subprocess.run(command, input=statement, capture_output=True, check=True, user=user)
        return munge.stdout.strip()

    return make


def test_both_sides_are_known_by_munge(tmp_path: Path, at: Path, token: Path) -> None:
    with server(tmp_path, "--tcp", "127.0.0.1:0", "--munge", str(at)) as served:
        served.drive("names", MUNGE=str(at))
        served.drive("large", "5000000", MUNGE=str(at))
        for wrong, message in (
            ({}, "it asks for a token or a munge credential"),
            ({"MUNGE": str(at) + "x"}, "does munged run on this node?"),
        ):
            with pytest.raises(AssertionError, match="13 connecting to server tcp") as refused:
                served.drive("names", **wrong)
            assert message in str(refused.value)
        with pytest.raises(AssertionError, match="it takes no token, but munge"):
            served.drive("names", TOKEN=str(token))


def test_a_server_may_take_either(tmp_path: Path, at: Path, token: Path) -> None:
    with server(
        tmp_path, "--tcp", "127.0.0.1:0", "--token", str(token), "--munge", str(at)
    ) as served:
        for known in ({"MUNGE": str(at)}, {"TOKEN": str(token)}):
            served.drive("large", "100000", **known)
    with server(tmp_path, "--tcp", "127.0.0.1:0", "--token", str(token)) as served:
        served.drive("large", "100000", TOKEN=str(token), MUNGE=str(at))
        with pytest.raises(AssertionError, match="a token, and takes no munge credential"):
            served.drive("names", MUNGE=str(at))


def refusal(served: Server, make: Callable[[bytes], bytes]) -> str:
    with pytest.raises(Refused) as refused:
        Client(served.address, munge=make)
    assert refused.value.status == NUMBERS["status"]["refused"]
    return refused.value.what


def test_a_wrong_credential_is_refused_by_name(tmp_path: Path, at: Path) -> None:
    mine = credential(at)

    def replayed(statement: bytes) -> bytes:
        proof = mine(statement)
        subprocess.run(["unmunge", "-S", at], input=proof, capture_output=True, check=True)
        return proof

    def expired(statement: bytes) -> bytes:
        first, later = (credential(at, "--ttl", "1")(statement) for _ in range(2))
        while (
            b"EXPIRED"
            not in subprocess.run(
                ["unmunge", "-S", at], input=later, capture_output=True, check=False
            ).stdout.upper()
        ):
            pass
        return first

    with munged(tmp_path / "other") as (other, _):
        wrong = {
            "Replayed credential": replayed,
            "Expired credential; do the clocks": expired,
            "do both nodes have the same munge.key?": credential(other),
            "a credential for another connection": lambda statement: mine(statement[:-1] + b"?"),
            "Unauthorized credential": credential(at, "--restrict-uid", "65534"),
            "munge: ": lambda _: b"MUNGE:AwQDAAD:",
        }
        with server(tmp_path, "--tcp", "127.0.0.1:0", "--munge", str(at)) as served:
            for message, make in wrong.items():
                assert message in refusal(served, make)
            Client(served.address, munge=mine).open("f")


def test_another_user_is_refused(tmp_path: Path) -> None:
    needs.require(["root", "munged", "munge"])
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o711)
        with (
            munged(Path(open_to_all)) as (at, _),
            server(tmp_path, "--tcp", "127.0.0.1:0", "--munge", str(at)) as served,
        ):
            message = refusal(served, credential(at, user=65534))
    assert "a credential of user 65534, not of user 0" in message


def test_a_server_without_munged_says_so(tmp_path: Path) -> None:
    needs.require(["munged", "munge"])
    nowhere = Server(tmp_path, "--tcp", "127.0.0.1:0", "--munge", str(tmp_path / "none"))
    assert (nowhere.address, nowhere.process.wait(20)) == ("", 3)
    with (
        munged(tmp_path / "munge") as (at, process),
        server(tmp_path, "--tcp", "127.0.0.1:0", "--munge", str(at)) as served,
    ):
        shown = credential(at)(b"")
        process.kill()
        process.wait()
        assert "does munged run on this node?" in refusal(served, lambda _: shown)


def test_a_server_that_waits_for_munged_serves_others(tmp_path: Path, token: Path) -> None:
    needs.require(["munged", "munge"])
    with (
        munged(tmp_path / "munge") as (at, process),
        server(
            tmp_path, "--tcp", "127.0.0.1:0", "--token", str(token), "--munge", str(at)
        ) as served,
    ):
        hangs = threading.Event()

        def stopped(statement: bytes) -> bytes:
            proof = credential(at)(statement)
            process.send_signal(signal.SIGSTOP)
            hangs.set()
            return proof

        waits = threading.Thread(target=refusal_or_not, args=(served, stopped))
        waits.start()
        assert hangs.wait(60)
        served.drive("names", TOKEN=str(token))
        process.send_signal(signal.SIGCONT)
        waits.join()


def refusal_or_not(served: Server, make: Callable[[bytes], bytes]) -> None:
    """munged goes on in time, or does not."""
    try:
        Client(served.address, munge=make)
    except Refused as refused:
        assert "munge: " in refused.what


def test_a_server_that_is_somebody_else_gets_nothing(at: Path) -> None:
    """It shows the client's own credential, since it cannot make one for the server's statement."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pretend() -> None:
        talk, _ = listener.accept()

        def hear() -> Frame:
            frame, length = decode_header(talk.recv(64, socket.MSG_WAITALL))
            frame.body = talk.recv(length, socket.MSG_WAITALL)
            return frame

        def say(to: Frame, status: int, body: bytes) -> None:
            head = {"status": status, "body": body}
            talk.sendall(Frame(NUMBERS["kind"]["reply"], to.op, to.client, 0, **head).encode())

        hello = hear()
        asked = pack(FAILURE, [0, 0, b""]) + pack_hints({NONCE: os.urandom(32), MUNGE: b""})
        say(hello, NUMBERS["status"]["auth"], asked)
        shown = hear()
        assert shown.op == OPS["munge"]
        length = int.from_bytes(shown.body[:2], "little")
        session = [
            1,
            64,
            16384,
            1 << 20,
            64 << 20,
            30000,
            60000,
            0,
            1,
            b"",
            shown.body[2 : 2 + length],
        ]
        say(shown, 0, pack(REPLY["munge"], session) + pack_hints({}))

    thread = threading.Thread(target=pretend)
    thread.start()
    address = f"tcp:127.0.0.1:{listener.getsockname()[1]}"
    done = subprocess.run(
        [DRIVE, "names", address], env=os.environ | {"MUNGE": str(at)}, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip
    thread.join()
    assert done.returncode == 3 and "munge: a credential for another connection" in done.stdout


def test_servers_of_a_group_know_each_other_by_munge(tmp_path: Path, at: Path) -> None:
    ports = []
    for _ in range(2):
        with socket.create_server(("127.0.0.1", 0)) as free:
            ports.append(free.getsockname()[1])
    addresses = [f"127.0.0.1:{port}" for port in ports]
    group = tmp_path / "group"
    group.write_text("".join(f"tcp:{address}\n" for address in addresses))
    options = ["--munge", str(at), "--group", str(group)]
    servers = [Server(tmp_path, "--tcp", address, *options) for address in addresses]
    try:
        clients = [Client(one.address, munge=credential(at)) for one in servers]
        for name in ("a", "b", "c", "d"):
            for client in clients:
                client.append(client.open(name), b"12345")
            assert (tmp_path / "export" / name).read_bytes() == b"1234512345"
    finally:
        for one in servers:
            one.end(signal.SIGKILL)


def test_servers_of_a_configuration_take_munge(tmp_path: Path, at: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "servers.toml").write_text(
        f"""
        path = "{tmp_path}/x"
        protocol = "tcp"
        auth = "munge"
        munge_socket = "{at}"
        [[server]]
        """
    )
    settings = up(tmp_path, "servers.toml")
    try:
        assert (
            settings["FATHOM_FORWARD_MUNGE"] == str(at) and "FATHOM_FORWARD_TOKEN" not in settings
        )
        copy = ["dd", "if=/etc/hostname", f"of={tmp_path}/x/copy", "status=none"]
        subprocess.run(copy, env=os.environ | settings | {"LD_PRELOAD": str(PRELOAD)}, check=True)
        assert (tmp_path / "x/copy").read_bytes() == Path("/etc/hostname").read_bytes()
        (state,) = status(tmp_path)
        assert state["written_bytes"] == (tmp_path / "x/copy").stat().st_size
    finally:
        forward(tmp_path, "down")
