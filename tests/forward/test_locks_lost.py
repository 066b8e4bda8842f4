"""Who holds a lock when its server is killed touches the file no more before it has heard that the lock is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import needs

from .test_c_client import Server
from .test_fuse import MOUNTER, Mounted
from .test_preload import by

PROGRAM = """
import errno, fcntl, os, struct, sys
path, kind, role = sys.argv[1] + "/f", *sys.argv[2:]
file = os.open(path, os.O_RDWR | os.O_CREAT)
def lock(how):
    if kind == "flock":
        fcntl.flock(file, how)
    elif kind == "fcntl":
        fcntl.lockf(file, how, 10, 5)
    else:
        mode = {fcntl.LOCK_EX: fcntl.F_WRLCK, fcntl.LOCK_UN: fcntl.F_UNLCK}[how & ~fcntl.LOCK_NB]
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", mode, os.SEEK_SET, 5, 10, 0))
def said(*calls):
    for call in calls:
        try:
            call()
            print("fine", flush=True)
        except OSError as error:
            print(errno.errorcode[error.errno], flush=True)
write = lambda: os.write(file, role.encode())
if role == "other":
    said(lambda: lock(fcntl.LOCK_EX | fcntl.LOCK_NB), write)
else:
    lock(fcntl.LOCK_EX)
    write()
    if role == "former":
        lock(fcntl.LOCK_UN)
    if role == "partly":
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_UNLCK, os.SEEK_SET, 12, 3, 0))
    print("locked", flush=True); sys.stdin.readline()
    if role == "former":
        said(write, lambda: os.fsync(file))
    else:
        said(write, lambda: os.read(file, 1), lambda: os.ftruncate(file, 0), lambda: os.fsync(file))
        said(lambda: lock(fcntl.LOCK_UN))
        said(lambda: lock(fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: os.close(file))
"""


class Seen:
    """A server's files, as programs see them."""

    def __init__(self, server: Server, prefix: Path, environment: dict[str, str] | None) -> None:
        self.server, self.prefix, self.environment = server, prefix, environment

    def start(self, kind: str, role: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, self.prefix, kind, role], env=self.environment,
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def restart(self) -> None:
        """By a kill."""
        self.server.end(signal.SIGKILL)
        self.server = Server(self.server.export.parent)


@pytest.fixture(params=["preload", "mount"])
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Seen]:
    if request.param == "preload":
        with by("unix", tmp_path) as skin:
            one = Seen(skin.server, Path(skin.prefix), skin.environment())
            yield one
            skin.server = one.server
        return
    needs.require(["fuse", "namespaces"])
    if not MOUNTER.exists():
        pytest.skip("built without libfuse 3")
    one = Seen(Server(tmp_path), tmp_path / "m", None)
    mounted = Mounted(one.prefix, one.server.address, "--timeout", "20")
    try:
        yield one
    finally:
        mounted.end()
        one.server.end(signal.SIGKILL)


def run(seen: Seen, kind: str, role: str, between: Callable[[], None]) -> list[str]:
    """What its calls said after the server was started anew."""
    program = seen.start(kind, role)
    assert program.stdout and program.stdout.readline() == "locked\n"
    seen.restart()
    between()
    said = program.communicate("\n", timeout=300)[0]
    assert program.returncode == 0
    return said.split()


KINDS = ["fcntl", "flock", "ofd"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_holder_whose_lock_is_lost_writes_nothing(seen: Seen, kind: str) -> None:
    others = []

    def take_over() -> None:
        other = seen.start(kind, "other")
        others.append(other.communicate(timeout=300)[0].split())

    said = run(seen, kind, "holder", take_over)
    assert others == [["fine", "fine"]]
    assert said == ["EIO", "EIO", "EIO", "EIO", "ENOLCK", "fine", "fine"]
    assert (seen.server.export / "f").read_bytes() == b"otherr"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_under_way_is_not_done_without_its_lock(seen: Seen, kind: str) -> None:
    program = seen.start(kind, "holder")
    assert program.stdin and program.stdout and program.stdout.readline() == "locked\n"
    seen.server.process.send_signal(signal.SIGSTOP)
    program.stdin.write("\n")
    program.stdin.flush()
    time.sleep(0.3)  # it writes meanwhile, or it finds the server gone: it fails either way
    seen.restart()
    assert program.communicate(timeout=300)[0].split()[:2] == ["EIO", "EIO"]
    assert (seen.server.export / "f").read_bytes() == b"holder"


@pytest.mark.parametrize("kind", KINDS)
def test_who_has_unlocked_before_goes_on(seen: Seen, kind: str) -> None:
    assert run(seen, kind, "former", lambda: None) == ["fine", "fine"]
    assert (seen.server.export / "f").read_bytes() == b"formerformer"


def test_a_holder_that_has_given_a_part_back_holds_the_rest(seen: Seen) -> None:
    said = run(seen, "ofd", "partly", lambda: None)
    assert said == ["EIO", "EIO", "EIO", "EIO", "ENOLCK", "fine", "fine"]
