"""The C client against a real server: what a program may rely on, with the connection damaged and without."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .client import Client
from .wire import NUMBERS, ROOT, request

ENGINE = ROOT / "engine/target/release/fathom-engine"
DRIVE = ROOT / "build/tests/forward_client/forward_drive"


def serves() -> bool:
    """Is there a server in this build."""
    if not ENGINE.exists() or not DRIVE.exists():
        return False
    asked = subprocess.run([ENGINE, "forward", "--help"], capture_output=True, check=False)
    return asked.returncode == 0


pytestmark = pytest.mark.skipif(
    not serves(), reason="no fathom-engine forward, or no build/: make build"
)


class Server:
    """A server of an export directory, as a process."""

    def __init__(self, place: Path, *options: str) -> None:
        self.export = place / "export"
        self.export.mkdir(exist_ok=True)
        socket = place / "s"
        socket.mkdir(mode=0o700, exist_ok=True)
        listen = options or ("--unix", str(socket / "sock"))
        command = [ENGINE, "forward", self.export, *listen]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.send_signal(signal.SIGCONT)
        self.process.wait(20)

    def drive(self, scenario: str, *words: str, fault: str = "", **environment: str) -> str:
        """Runs a scenario; what it printed."""
        where = f"fault:{fault}:{self.address}" if fault else self.address
        done = subprocess.run(
            [DRIVE, scenario, where, *words], capture_output=True, text=True, timeout=300,
            env=os.environ | environment, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
        return done.stdout


@contextmanager
def server(place: Path, *options: str) -> Iterator[Server]:
    started = Server(place, *options)
    try:
        yield started
    finally:
        started.end(signal.SIGKILL)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Server]:
    with server(tmp_path) as started:
        yield started


def status(served: Server) -> dict[str, Any]:
    """The server's counters."""
    asked = [ENGINE, "forward-status", served.address]
    counters: dict[str, Any] = json.loads(
        subprocess.run(asked, capture_output=True, check=True).stdout
    )
    return counters


def on_the_wire(served: Server) -> tuple[int, int]:
    """Bytes that the server received and sent so far."""
    counters = status(served)
    return counters["came_bytes"], counters["sent_bytes"]


FAULTS = ["", "7,drop=20", "7,truncate=20", "7,deaf=20", "7,delay=50", "7,duplicate=20",
          "7,reorder=300", "8,drop=9,truncate=9,duplicate=9,delay=20,reorder=200,deaf=9"]  # fmt: skip


def test_names_attributes_and_directories(served: Server) -> None:
    output = served.drive("names")
    assert "none" in output and "No such file" in output
    left = {path.name for path in (served.export / "d").iterdir()}
    assert left == {"n0"} | {f"nn{i}" for i in range(1, 1500)}
    assert (served.export / "n3").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("fault", FAULTS)
def test_random_operations_equal_a_local_file(served: Server, tmp_path: Path, fault: str) -> None:
    local = tmp_path / "local"
    served.drive("fsx", str(local), "250", "4", fault=fault)
    assert (served.export / "fsx").read_bytes() == local.read_bytes()


@pytest.mark.some(5)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scenario", [["names"], ["fsx", "local", "60", "4"], ["threads"]])
def test_garbled_answers_break_no_program(
    served: Server, tmp_path: Path, seed: int, scenario: list[str]
) -> None:
    # A flipped bit of a body may be wrong data or an error; never a byte read or written elsewhere.
    name, *words = scenario
    words = [str(tmp_path / "local") if word == "local" else word for word in words]
    done = subprocess.run(
        [DRIVE, name, f"fault:{seed},garble=200:{served.address}", *words],
        capture_output=True, text=True, errors="replace", timeout=300, env=os.environ | {"TIMEOUT": "300"},
        check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1, 3), done.stderr[-2000:]
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_records_tile_the_file_in_order(served: Server, fault: str) -> None:
    lines = served.drive("records", "log", "200", fault=fault).splitlines()
    appended = [tuple(map(int, line.split())) for line in lines]
    data, end = (served.export / "log").read_bytes(), 0
    for i, (offset, length) in enumerate(appended):
        assert offset == end and data[offset : offset + 16] == b"%08d %06d." % (length, i)
        assert set(data[offset + 16 : offset + length]) <= {ord("a") + i % 26}
        end += length
    assert end == len(data) and len(appended) == 200


@pytest.mark.parametrize("fault", ["", "9,drop=5,truncate=5,deaf=5,duplicate=5"])
def test_threads_share_a_connection(served: Server, fault: str) -> None:
    served.drive("threads", fault=fault)
    assert (served.export / "threads").stat().st_size == 6 * 40000


@pytest.mark.parametrize("fault", ["", "1,reorder=300", "2,reorder=700"])
def test_messages_in_another_order(served: Server, fault: str) -> None:
    """24 requests in flight on the same bytes: each reads what those before it wrote, appends lie in their order."""
    output = served.drive("pipeline", "600", "11", fault=fault)
    appended, passed = map(int, output.split())
    assert (served.export / "log").stat().st_size == appended
    assert (passed > 100) == bool(fault)
    counters = status(served)
    assert counters["repeated"] == 0 and counters["requests"] > 600


def test_compressed_data_is_fewer_bytes(served: Server) -> None:
    """Counted by the server: runs of bytes shrink, both ways; random bytes go plain."""
    moved = [on_the_wire(served)]
    for asked in ({}, {"COMPRESS": "1"}):
        for scenario in (["pipeline", "300", "5"], ["large", "3000000"]):
            served.drive(*scenario, **asked)
            (served.export / "log").unlink(missing_ok=True)
            moved.append(on_the_wire(served))
    runs, noise, runs_packed, noise_packed = (
        [b - a for a, b in zip(*pair, strict=True)] for pair in itertools.pairwise(moved)
    )
    assert all(packed < plain / 3 for plain, packed in zip(runs, runs_packed, strict=True))
    assert all(
        abs(packed - plain) < 4096 for plain, packed in zip(noise, noise_packed, strict=True)
    )


@pytest.mark.parametrize("fault", ["5,drop=10,reorder=200,deaf=10", "6,truncate=10,duplicate=20"])
def test_compressed_data_on_a_damaged_connection(
    served: Server, tmp_path: Path, fault: str
) -> None:
    local = tmp_path / "local"
    served.drive("fsx", str(local), "150", "4", fault=fault, COMPRESS="1", RUNS="1")
    assert (served.export / "fsx").read_bytes() == local.read_bytes()


def test_requests_that_wait_for_each_other_share_a_small_pool(tmp_path: Path) -> None:
    with server(tmp_path, "--unix", str(tmp_path / "s/sock"), "--pool", "100000") as small:
        holder, waiter = Client(small.address), Client(small.address)
        claim = [
            holder.open("locked"),
            0,
            0,
            NUMBERS["lock"]["wait"],
            NUMBERS["mode"]["exclusive"],
            0,
            0,
            0,
        ]
        holder.ask("lock", *claim)
        waits = waiter.send(
            "lock", request("lock", claim)
        )  # the oldest request, and it needs no room
        for seed in "12":
            small.drive("pipeline", "300", seed, fault=f"{seed},reorder=400")
            (small.export / "log").unlink()
        holder.close()
        waiter.reply(waits)


def test_more_than_a_request_takes(served: Server) -> None:
    served.drive("large", str(70 << 20))
    assert (served.export / "large").stat().st_size == 70 << 20


def test_a_forked_child_has_its_own_connection(served: Server) -> None:
    served.drive("forks")
    lines = (served.export / "forks").read_text().split()
    for mark in "cpq":
        own = [line for line in lines if line[0] == mark]
        assert own == [f"{mark}{i}" for i in range(200)]
    assert lines[0] == "begin" and len(lines) == 601


def test_a_stopped_server_ends_no_program(served: Server) -> None:
    output = served.drive("stopped", str(served.process.pid))
    assert "write of stopped (200000 bytes at 0)" in output and served.address in output
    assert (served.export / "stopped").read_bytes()[:3] == b"now"


def test_what_a_killed_server_had_accepted_is_told(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        program = subprocess.Popen(
            [DRIVE, "restarted", first.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert program.stdout and program.stdout.readline() == "accepted\n"
        first.end(signal.SIGKILL)
    with server(tmp_path):
        output, _ = program.communicate("go\n", timeout=300)
    assert program.returncode == 0
    assert "lost" in output and "5 bytes at 100" in output


def test_tcp_asks_for_the_token(tmp_path: Path) -> None:
    token, wrong = tmp_path / "token", tmp_path / "wrong"
    for path, text in ((token, " correct horse" * 3 + "\n"), (wrong, "battery staple" * 3 + "\n")):
        path.write_text(text)
        path.chmod(0o600)
    with server(tmp_path, "--tcp", "127.0.0.1:0", "--token", str(token)) as tcp:
        tcp.drive("names", TOKEN=str(token))
        tcp.drive("large", "5000000", TOKEN=str(token))
        for shown in (str(wrong), ""):
            with pytest.raises(AssertionError, match="13 connecting to server tcp"):
                tcp.drive("names", TOKEN=shown) if shown else tcp.drive("names")
        token.chmod(0o644)
        with pytest.raises(AssertionError, match="mode 0600"):
            tcp.drive("names", TOKEN=str(token))


def test_nobody_listens(tmp_path: Path) -> None:
    output = subprocess.run(
        [DRIVE, "names", f"unix:{tmp_path}/none"], capture_output=True, text=True, check=False
    ).stdout
    assert output.startswith("2 connecting to server") and "is it running" in output
