"""`fathom forward`: servers of a configuration are started, asked, and ended; what goes wrong is one line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fathom.forward.group import began
from harness import needs, paths

from .client import Client, server

PRELOAD = paths.BUILD / "libfathom_fwd_preload.so"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory with one to be exported; its servers are ended afterwards."""
    (tmp_path / "x").mkdir()
    yield tmp_path
    if (tmp_path / "fathom.forward" / "servers.json").exists():
        forward(tmp_path, "down", "--patience", "2")


def forward(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fathom", "forward", *words], cwd=place, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip


def up(place: Path, *words: str) -> dict[str, str]:
    """Starts them; the environment that their clients are told."""
    done = forward(place, "up", *words)
    assert done.returncode == 0, done.stderr
    lines = [shlex.split(line.removeprefix("export ")) for line in done.stdout.splitlines()]
    pairs = (word.partition("=") for (word,) in lines)
    return {name: value for name, _, value in pairs}


def status(place: Path) -> list[dict[str, object]]:
    done = forward(place, "status", "--json")
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_a_program_writes_through_servers_that_were_started_for_it(place: Path) -> None:
    settings = up(place, "--export", "x", "--servers", "2")
    assert settings["FATHOM_FORWARD_PREFIX"] == str(place / "x")
    assert len(settings["FATHOM_FORWARD_SERVERS"].split(";")) == 2
    data = os.urandom(300_000)
    (place / "data").write_bytes(data)
    copy = ["dd", f"if={place}/data", f"of={place}/x/copy", "bs=64k", "status=none"]
    subprocess.run(copy, env=os.environ | settings | {"LD_PRELOAD": str(PRELOAD)}, check=True)
    assert (place / "x" / "copy").read_bytes() == data
    assert sum(int(str(one["written_bytes"])) for one in status(place)) == len(data)
    shown = forward(place, "top", "--looks", "1", "--interval", "0.1").stdout
    assert "fwd0" in shown
    assert "fwd1" in shown
    ended = forward(place, "down")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr.splitlines() == ["fathom: fwd0: all written", "fathom: fwd1: all written"]
    assert "no servers were started there" in forward(place, "status").stderr


def test_appends_through_servers_of_one_directory_do_not_overlap(place: Path) -> None:
    settings = up(place, "--export", "x", "--servers", "3")
    clients = [Client(address) for address in settings["FATHOM_FORWARD_SERVERS"].split(";")]
    handles = [client.open("log") for client in clients]
    for n in range(30):
        clients[n % 3].append(handles[n % 3], bytes([n]) * 10)
    assert (place / "x" / "log").read_bytes() == b"".join(bytes([n]) * 10 for n in range(30))


def test_a_configuration_says_where_how_and_how_slow(place: Path) -> None:
    (place / "y").mkdir()
    (place / "servers.toml").write_text(
        f"""
        path = "{place}/x"
        [[server]]
        name = "quick"
        [[server]]
        path = "{place}/y"
        protocol = "tcp"
        throttle = "latency=0.05"
        log = "{place}/slow.log"
        """
    )
    settings = up(place, "servers.toml")
    quick, slow = status(place)
    assert (quick["name"], quick["export"], slow["name"]) == ("quick", f"{place}/x", "fwd1")
    assert str(slow["address"]).startswith("tcp:127.0.0.1:")
    token = Path(settings["FATHOM_FORWARD_TOKEN"])
    assert token.stat().st_mode & 0o777 == 0o600
    client = Client(str(slow["address"]), token=token.read_bytes().strip())
    client.write(client.open("f"), 0, b"data")
    assert (place / "y" / "f").read_bytes() == b"data"
    assert (place / "slow.log").exists()


def test_the_page_of_the_command_has_the_columns_of_its_table(place: Path) -> None:
    up(place, "--export", str(place / "x"))
    shown_lines = forward(place, "status").stdout.splitlines()
    page = (paths.ROOT / "docs" / "commands" / "forward.md").read_text().splitlines()
    heads = [
        next(line for line in lines if line.startswith("server ")) for lines in (shown_lines, page)
    ]
    shown, written = ([word.strip() for word in head.split("  ") if word] for head in heads)
    assert shown == written


def test_servers_of_a_configuration_are_before_another(place: Path, tmp_path: Path) -> None:
    token = place / "home.token"
    token.touch(0o600)
    token.write_text("0123456789abcdef" * 4)
    with server(tmp_path, "--tcp", "127.0.0.1:0", "--token", str(token)) as home:
        (place / "servers.toml").write_text(
            f"""
            path = "{home.addresses[1]}"
            behind_token = "{token}"
            mount = "{place}/x"
            [[server]]
            [[server]]
            """
        )
        settings = up(place, "servers.toml")
        copy = ["cp", "/etc/services", f"{place}/x/copy"]
        subprocess.run(copy, env=os.environ | settings | {"LD_PRELOAD": str(PRELOAD)}, check=True)
        assert (place / "store/copy").read_bytes() == Path("/etc/services").read_bytes()
        assert not list((place / "x").iterdir())
        assert forward(place, "down").returncode == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no server"),
        ("[[server]]", "server 1: path is missing"),
        ("[[server]]\npath = 'x'\nrole = 'data'", "role = 'data': this version has forward"),
        ("[[server]]\npath = 'x'\nport = 70000", "port = 70000: 0 to 65535 is expected"),
        ("[[server]]\npath = 'x'\nport = '1'", "port = '1': int is expected"),
        ("[[server]]\npath = 'x'\nprot = 'tcp'", "no key 'prot'"),
        ("[[server]]\npath = 'x'\nname = 'a'\n" * 2, "two servers are called a"),
        ("[[server]]\npath = 'nowhere'", "nowhere is no directory"),
        ("[[server", "servers.toml"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_one_line(place: Path, text: str, message: str) -> None:
    (place / "servers.toml").write_text(text)
    done = forward(place, "up", "servers.toml")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert message in done.stderr


def test_a_server_that_does_not_start_ends_the_others(place: Path) -> None:
    (place / "y").mkdir()
    both = "[[server]]\n[[server]]\npath = 'y'\nprotocol = 'tcp'\nhost = '192.0.2.1'"
    (place / "servers.toml").write_text("path = 'x'\n" + both)
    done = forward(place, "up", "servers.toml", "--start-with", "env HERE={host}")
    assert done.returncode == 3, done.stderr
    assert "server fwd1 did not start" in done.stderr
    assert "no servers were started there" in forward(place, "status").stderr


def test_servers_of_one_directory_know_each_others_ports(place: Path) -> None:
    two = "path = 'x'\nprotocol = 'tcp'\n[[server]]\n[[server]]\n"
    (place / "servers.toml").write_text(two)
    up(place, "servers.toml")
    assert {str(one["address"]).rpartition(":")[0] for one in status(place)} == {"tcp:127.0.0.1"}
    assert forward(place, "down").returncode == 0
    (place / "servers.toml").write_text(two + "host = 'other'\n")
    done = forward(place, "up", "servers.toml", "--start-with", "env HERE={host}")
    assert done.returncode == 2 and "on other machines need a port each" in done.stderr


def test_what_may_be_lost_is_said(place: Path) -> None:
    up(place, "--export", "x", "--servers", "3")
    pids = [int(str(one["pid"])) for one in status(place)]
    os.kill(pids[0], signal.SIGKILL)
    os.kill(pids[1], signal.SIGSTOP)
    done = forward(place, "down", "--patience", "1")
    assert done.returncode == 1
    assert [line.partition(": ")[2] for line in done.stderr.splitlines()] == [
        "fwd0: it had ended before: what it had accepted and not written is lost",
        "fwd1: killed after 1 s: what it had accepted and not written is lost",
        "fwd2: all written",
    ]


APPENDS = """
import os, sys
record = os.open(sys.argv[1] + "/log", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
for i in range(2000):
    os.write(record, b"%09d\\n" % i)
    if i == 500:
        print("half", flush=True)
        input()
os.close(record)
"""


@pytest.mark.parametrize("kind", ["", "protocol = 'tcp'\n"])
def test_a_program_goes_on_with_servers_that_were_started_again(place: Path, kind: str) -> None:
    (place / "servers.toml").write_text(f"path = 'x'\n{kind}[[server]]\n[[server]]\n")
    settings = up(place, "servers.toml")
    program = subprocess.Popen(
        [sys.executable, "-c", APPENDS, place / "x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env=os.environ | settings | {"LD_PRELOAD": str(PRELOAD)},
    )  # fmt: skip
    assert program.stdin and program.stdout and program.stdout.readline() == "half\n"
    before = status(place)
    for one in before:
        pid = int(str(one["pid"]))
        os.kill(pid, signal.SIGKILL)
        while began(pid) is not None:
            time.sleep(0.01)
    program.stdin.write("on\n")
    program.stdin.flush()
    asked = forward(place, "status")
    assert asked.returncode == 1 and asked.stdout.count("has ended; fathom forward restart") == 2
    (place / "x").rename(place / "y")
    failed = forward(place, "restart")
    assert failed.returncode == 3 and "server fwd0 did not start: " in failed.stderr
    (place / "y").rename(place / "x")
    again = forward(place / "x", "restart", "--at", str(place / "fathom.forward"))
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("started again") == 2
    assert [one["address"] for one in status(place)] == [one["address"] for one in before]
    assert program.wait(60) == 0
    assert (place / "x/log").read_text() == "".join(f"{i:09}\n" for i in range(2000))
    assert "none of the servers has ended" in forward(place, "restart").stderr
    assert forward(place, "down").stderr.count("all written") == 2


def test_a_launcher_starts_and_ends_servers_on_its_hosts(place: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    (place / "servers.toml").write_text("[[server]]\npath = 'x'\nhost = '127.0.0.1'\n")
    up(place, "servers.toml", "--start-with", "mpiexec.mpich -hosts {host} -n 1")
    (one,) = status(place)
    assert str(one["address"]).startswith("tcp:127.0.0.1:")
    ended = forward(place, "down")
    assert (ended.returncode, ended.stderr) == (0, "fathom: fwd0: all written\n")
    assert not Path(f"/proc/{one['pid']}").exists()


def test_nodes_are_those_of_the_allocation(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    (place / "nodes").write_text("localhost\nlocalhost\nother\n")
    asked = ("up", "--export", "x", "--forward-nodes")
    assert "no allocation" in forward(place, *asked, "1").stderr
    monkeypatch.setenv("PBS_NODEFILE", str(place / "nodes"))
    assert "the allocation has 2 nodes" in forward(place, *asked, "3").stderr
    up(place, *asked[1:], "1")
    assert [one["host"] for one in status(place)] == ["localhost"]


def test_with_runs_a_program_between_up_and_down(place: Path) -> None:
    (place / "data").write_bytes(os.urandom(300_000))
    copy = ["dd", f"if={place}/data", f"of={place}/x/copy", "bs=64k", "status=none"]
    done = forward(place, "with", "--export", "x", "--servers", "2", "--", *copy)
    assert done.returncode == 0, done.stderr
    assert (place / "x" / "copy").read_bytes() == (place / "data").read_bytes()
    assert done.stderr.count("all written") == 2
    assert not (place / "fathom.forward" / "servers.json").exists()


def test_with_storage_copies_out_and_leaves_the_directory_as_it_was(place: Path) -> None:
    (place / "x").chmod(0o2750)
    words = ["with", "--export", "x", "--servers", "2", "--storage", "storage", "--"]
    failed = forward(place, *words, "./no-such-program")
    assert failed.returncode not in (0, 1), failed.stderr
    done = forward(place, *words, "sh", "-c", f"echo text > {place}/x/f")
    assert done.returncode == 0, done.stderr
    assert (place / "x/f").read_text() == "text\n"
    assert (place / "x").stat().st_mode & 0o7777 == 0o2750
    assert not list((place / "storage").iterdir())


@pytest.mark.full
def test_with_storage_keeps_what_was_written_too_late(place: Path) -> None:
    """By a process that the program left behind, while files are copied: in the copy it may be missing."""
    late = (
        f"(sleep 0.4; while echo late >> {place}/x/late; do sleep 0.01; done) > /dev/null 2>&1 & :"
    )
    words = ["--export", "x", "--servers", "2", "--storage", "storage"]
    done = forward(place, "with", *words, "--", "sh", "-c", f"truncate -s 1G {place}/x/big; {late}")
    assert done.returncode == 1
    assert "was changed after the program had ended" in done.stderr
    refused = forward(place, "with", *words, "--", "true")
    assert refused.returncode == 125
    assert "holds files of servers already" in refused.stderr
    up(place, *words)
    assert forward(place, "out", "all").returncode == 0
    assert (place / "all/late").read_text().startswith("late\n")


def test_storage_goes_with_an_exported_directory_only(place: Path) -> None:
    (place / "servers.toml").write_text("path = 'x'\n[[server]]\n")
    done = forward(place, "up", "servers.toml", "--storage", "storage")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("end", ["exit 7", "kill -TERM $$"])
def test_with_ends_as_the_program_does(place: Path, end: str) -> None:
    done = forward(place, "with", "--export", "x", "--", "sh", "-c", end)
    assert done.returncode == (7 if end == "exit 7" else -signal.SIGTERM)
    assert "all written" in done.stderr
