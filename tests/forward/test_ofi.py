"""The client and servers over libfabric, on its tcp provider: the same promises as on sockets."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import needs
from harness.munge import munged

from .test_c_client import DRIVE, ENGINE, Server, server
from .test_command import PRELOAD, forward, status, up

OFI = "+tcp:127.0.0.1:0"


@pytest.fixture
def served(tmp_path: Path, token: Path) -> Iterator[Server]:
    needs.require(["library:fabric"])
    with server(tmp_path, "--ofi", OFI, "--token", str(token)) as started:
        yield started


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


FAULTS = ["", "8,drop=9,truncate=9,duplicate=9,delay=20,reorder=200,deaf=9"]


def test_names_attributes_and_directories(served: Server, token: Path) -> None:
    assert served.address.startswith("ofi+tcp:127.0.0.1:")
    assert "No such file" in served.drive("names", TOKEN=str(token))
    assert len(list((served.export / "d").iterdir())) == 1500


@pytest.mark.parametrize("fault", FAULTS)
def test_random_operations_equal_a_local_file(
    served: Server, token: Path, tmp_path: Path, fault: str
) -> None:
    local = tmp_path / "local"
    served.drive("fsx", str(local), "120", "4", fault=fault, TOKEN=str(token))
    assert (served.export / "fsx").read_bytes() == local.read_bytes()


def test_threads_share_a_connection(served: Server, token: Path) -> None:
    served.drive("threads", TOKEN=str(token))
    assert (served.export / "threads").stat().st_size == 6 * 40000


def test_messages_in_another_order(served: Server, token: Path) -> None:
    appended, passed = map(
        int, served.drive("pipeline", "300", "11", fault="1,reorder=300", TOKEN=str(token)).split()
    )
    assert (served.export / "log").stat().st_size == appended and passed > 50


def test_more_than_a_request_takes(served: Server, token: Path) -> None:
    served.drive("large", str(70 << 20), TOKEN=str(token))
    assert (served.export / "large").stat().st_size == 70 << 20


def test_a_forked_child_has_its_own_connection(served: Server, token: Path) -> None:
    # what is the parent's stays in the child's memory
    served.drive("forks", TOKEN=str(token), ASAN_OPTIONS="detect_leaks=0")
    lines = (served.export / "forks").read_text().split()
    for mark in "cpq":
        assert [line for line in lines if line[0] == mark] == [f"{mark}{i}" for i in range(200)]


def test_a_stopped_server_ends_no_program(served: Server, token: Path) -> None:
    output = served.drive("stopped", str(served.process.pid), TOKEN=str(token))
    assert "write of stopped (200000 bytes at 0)" in output and served.address in output
    assert (served.export / "stopped").read_bytes()[:3] == b"now"


def test_a_client_finds_the_server_that_comes_after_a_killed_one(
    tmp_path: Path, token: Path
) -> None:
    needs.require(["library:fabric"])
    options = ["--ofi", f"+tcp:127.0.0.1:{free_port()}", "--token", str(token)]
    with server(tmp_path, *options) as first:
        program = subprocess.Popen(
            [DRIVE, "restarted", first.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=os.environ | {"TOKEN": str(token)},
        )  # fmt: skip
        assert program.stdout and program.stdout.readline() == "accepted\n"
        first.end(signal.SIGKILL)
    with server(tmp_path, *options):
        output, _ = program.communicate("go\n", timeout=300)
    assert program.returncode == 0
    assert "lost" in output and "5 bytes at 100" in output


def spent(pid: int) -> int:
    """Ticks of processor time of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def test_nobody_spins_while_nothing_happens(served: Server, token: Path) -> None:
    """A connected client that says no more, peers that say nothing, and peers that say what is no libfabric."""
    place = served.address.rpartition(":")[2]
    silent = [socket.create_connection(("127.0.0.1", int(place))) for _ in range(8)]
    for one in silent[4:]:
        one.sendall(os.urandom(4096))
    idle = subprocess.Popen(
        [DRIVE, "restarted", served.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env=os.environ | {"TOKEN": str(token)},
    )  # fmt: skip
    assert idle.stdout and idle.stdout.readline() == "accepted\n"
    before = [spent(pid) for pid in (served.process.pid, idle.pid)]
    time.sleep(2)
    after = [spent(pid) for pid in (served.process.pid, idle.pid)]
    assert all(b - a < 20 for a, b in zip(before, after, strict=True)), (before, after)
    idle.kill()
    idle.wait()
    served.drive("names", TOKEN=str(token))
    for one in silent:
        one.close()


def test_what_is_wrong_is_one_line(tmp_path: Path, token: Path) -> None:
    needs.require(["library:fabric"])
    (tmp_path / "libfabric.so.1").touch()
    broken = {"LD_LIBRARY_PATH": str(tmp_path)}
    for address, environment, message in (
        ("ofi+nosuch:127.0.0.1:1", {}, "libfabric: nosuch: "),
        ("ofi:127.0.0.1", {}, "an address is unix:PATH, tcp:HOST:PORT or ofi:HOST:PORT"),
        (f"ofi+tcp:127.0.0.1:{free_port()}", {}, "Connection refused"),
        ("ofi:127.0.0.1:1", broken, "libfabric.so.1 is not installed"),
    ):
        done = subprocess.run(
            [DRIVE, "names", address], env=os.environ | environment | {"TOKEN": str(token)},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 3 and message in done.stdout, done.stdout + done.stderr
    for options, environment, message in (
        (["--ofi", "127.0.0.1:0"], {}, "give --token FILE or --munge"),
        (["--ofi", "127.0.0.1:0", "--token", token], broken, "libfabric.so.1 is not installed"),
        (["--ofi", "+nosuch:127.0.0.1:0", "--token", token], {}, "libfabric: nosuch: "),
    ):
        done = subprocess.run(
            [ENGINE, "forward", tmp_path, *options], env=os.environ | environment,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode and message in done.stderr and done.stderr.count("\n") == 1


def test_servers_of_a_configuration_share_a_file_over_libfabric(
    tmp_path: Path,
) -> None:
    """Two servers that ask each other for the ends of files, known to each other by munge."""
    needs.require(["library:fabric", "munged", "processors"])
    (tmp_path / "x").mkdir()
    with munged(tmp_path / "munge") as (at, _):
        (tmp_path / "servers.toml").write_text(
            f"""
            path = "{tmp_path}/x"
            protocol = "ofi"
            provider = "tcp"
            auth = "munge"
            munge_socket = "{at}"
            [[server]]
            port = {free_port()}
            [[server]]
            port = {free_port()}
            """
        )
        settings = up(tmp_path, "servers.toml")
        try:
            servers = settings["FATHOM_FORWARD_SERVERS"].split(";")
            assert all(address.startswith("ofi+tcp:") for address in servers)
            for name in ("a", "b", "c"):
                for address in servers:
                    each = settings | {
                        "FATHOM_FORWARD_SERVERS": address,
                        "LD_PRELOAD": str(PRELOAD),
                    }
                    subprocess.run(
                        ["sh", "-c", f"echo 12345 >> {tmp_path}/x/{name}"],
                        env=os.environ | each, check=True,
                    )  # fmt: skip
                assert (tmp_path / "x" / name).read_text() == "12345\n" * 2
            assert [str(one["address"]) for one in status(tmp_path)] == servers
        finally:
            forward(tmp_path, "down")
