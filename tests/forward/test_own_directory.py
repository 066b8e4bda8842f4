"""The server's own directory is not its clients', and an exported directory has one owner of its files' ends."""

from __future__ import annotations

import errno
import signal
import subprocess
from pathlib import Path

import pytest

from .client import CREATE, ENGINE, READ, ROOT_HANDLE, WRITE, Client, Refused, Server, server

OWN = ".fathom-forward"
NAMES = [OWN, f"{OWN}/appends", f"d/../{OWN}", f"./{OWN}/", f"here/{OWN}"]


def refused(client: Client, op: str, *values: object) -> int:
    """The status."""
    with pytest.raises(Refused) as told:
        client.ask(op, *values)
    return told.value.status


@pytest.mark.parametrize("name", NAMES)
def test_its_name_is_refused_whatever_is_done_with_it(served: Server, name: str) -> None:
    client = served.client()
    client.ask("mkdir", ROOT_HANDLE, 0o755, b"d")
    client.ask("symlink", ROOT_HANDLE, b"here", b".")
    client.append(client.open("log"), b"record")
    path, root = name.encode(), ROOT_HANDLE
    before = sorted((served.export / OWN).rglob("*"))
    assert refused(client, "lookup", root, 0, path) == errno.ENOENT
    assert refused(client, "open", root, READ, 0, path) == errno.ENOENT
    assert refused(client, "open", root, WRITE | CREATE, 0o644, path) == errno.EPERM
    for op, values in {
        "mkdir": [root, 0o755, path], "unlink": [root, path], "rmdir": [root, path],
        "rename": [root, path, root, b"seen", 0], "symlink": [root, path, b"log"],
        "mknod": [root, 0o010644, 0, path], "link": [client.open("log"), root, path],
    }.items():  # fmt: skip
        assert refused(client, op, *values) == errno.EPERM
    assert refused(client, "rename", root, b"log", root, path, 0) == errno.EPERM
    assert sorted((served.export / OWN).rglob("*")) == before
    assert client.append(client.open("log"), b"more") == 6


def test_it_cannot_be_made_before_the_server_makes_it(served: Server, tmp_path: Path) -> None:
    client = served.client()
    outside = tmp_path / "outside"
    outside.mkdir()
    root = ROOT_HANDLE
    assert refused(client, "open", root, WRITE | CREATE, 0o644, OWN.encode()) == errno.EPERM
    assert refused(client, "symlink", root, OWN.encode(), bytes(outside)) == errno.EPERM
    assert refused(client, "symlink", root, b"way", f"d/../{OWN}/x".encode()) == errno.EPERM
    assert client.append(client.open("log"), b"record") == 0
    assert list(outside.iterdir()) == []


def test_a_link_in_its_place_is_not_followed(served: Server, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (served.export / OWN).symlink_to(outside)
    client = served.client()
    with pytest.raises(Refused):
        client.append(client.open("log"), b"record")
    assert list(outside.iterdir()) == []


def test_a_directory_below_may_have_that_name(served: Server) -> None:
    client = served.client()
    directory = client.ask("mkdir", ROOT_HANDLE, 0o755, b"d")[0]
    client.ask("mkdir", directory, 0o755, OWN.encode())
    client.ask("rmdir", ROOT_HANDLE, f"d/{OWN}".encode())


def start(export: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """A server that is to refuse."""
    command = [ENGINE, "forward", export, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_a_second_server_of_a_directory_does_not_start(tmp_path: Path) -> None:
    with server(tmp_path) as served:
        second = start(served.export, "--unix", tmp_path / "t")
        assert second.returncode != 0 and "another server serves it" in second.stderr
        served.client().ask("ping")
        served.stop(signal.SIGKILL)
        served.process = Server(served.export, "--unix", str(tmp_path / "s")).process


@pytest.mark.parametrize("name", ["names", "ended"])
def test_a_journal_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path, name: str) -> None:
    """What was done before is in it: without it a server would do it again, or call it lost."""
    journal = tmp_path / "store" / OWN / name
    journal.mkdir(parents=True)
    refusal = start(tmp_path / "store", "--unix", tmp_path / "s")
    assert refusal.returncode != 0
    assert f"{journal}: Is a directory" in refusal.stderr
    journal.rmdir()
    with server(tmp_path) as served:
        served.client().ask("ping")


def test_servers_of_a_directory_have_the_same_list(tmp_path: Path) -> None:
    lists = {name: tmp_path / name for name in ("both", "one")}
    sockets = [tmp_path / f"s{number}" for number in range(2)]
    lists["both"].write_text("".join(f"unix:{place}\n" for place in sockets))
    lists["one"].write_text(f"unix:{sockets[1]}\n")
    export = tmp_path / "store"
    first = Server(export, "--unix", str(sockets[0]), "--group", str(lists["both"]))
    for options in (["--group", lists["one"]], []):
        second = start(export, "--unix", sockets[1], *options)
        assert second.returncode != 0 and "--group" in second.stderr
    second_of_list = Server(export, "--unix", str(sockets[1]), "--group", str(lists["both"]))
    assert [one.stop() for one in (first, second_of_list)] == [0, 0]
