"""The file system of a forwarding server: shells, static programs and a POSIX suite do there what they do on a local
directory. 30 s."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from harness import needs

from .client import CREATE, READ, WRITE, Client
from .test_c_client import Server, serves
from .test_command import forward, up
from .test_preload import PROGRAMS, SCRIPTS
from .wire import ROOT

MOUNTER = ROOT / "build/fathom-forward-fuse"

pytestmark = pytest.mark.skipif(
    not serves() or not MOUNTER.exists(),
    reason="no fathom-engine forward, or built without libfuse 3: make build",
)


@pytest.fixture(autouse=True)
def _fuse() -> None:
    needs.require(["fuse", "namespaces"])  # may open it, and may mount


class Mounted:
    """A directory where a server's files are seen."""

    def __init__(self, place: Path, address: str, *options: str) -> None:
        self.at = place
        self.at.mkdir(exist_ok=True)
        self.log = place.with_suffix(".log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [MOUNTER, *options, address, self.at], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout
        assert self.process.stdout.readline().strip() == str(self.at), self.log.read_text()

    def end(self) -> int:
        """By SIGTERM; its exit status."""
        self.process.terminate()
        status = self.process.wait(30)
        subprocess.run(["umount", "-l", self.at], capture_output=True, check=False)
        return status


class Place:
    """A server, a mount of it, and a local directory beside."""

    def __init__(self, place: Path) -> None:
        self.server = Server(place)
        self.export = self.server.export
        self.mounts: list[Mounted] = []
        self.at = self.mount().at
        self.local = place / "local"
        self.local.mkdir()

    def mount(self, *options: str) -> Mounted:
        """Once more."""
        place = self.export.parent / f"m{len(self.mounts)}"
        self.mounts.append(Mounted(place, self.server.address, "--timeout", "20", *options))
        return self.mounts[-1]

    def end(self) -> None:
        """The mounts, then the server."""
        for mounted in self.mounts:
            mounted.end()
        self.server.end(signal.SIGKILL)

    def both(self, words: Sequence[str | Path]) -> str:
        """What a command says of a local directory, which it also must of the mounted one; DIR is either."""
        outputs = []
        for place in (self.local, self.at):
            command = [str(word).replace("DIR", str(place)) for word in words]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode == 0, done.stderr
            outputs.append(done.stdout.replace(str(place), "DIR"))
        assert outputs[0] == outputs[1]
        return outputs[0]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    tmp_path.chmod(0o755)
    mounted = Place(tmp_path)
    try:
        yield mounted
    finally:
        mounted.end()


@pytest.mark.parametrize("script", SCRIPTS)
def test_tools_of_a_shell(place: Place, script: str) -> None:
    assert place.both(["bash", "-euo", "pipefail", "-c", SCRIPTS[script], "bash", "DIR"])


def test_fifos_sockets_and_files_without_a_name(place: Place) -> None:
    """They are the kernel's, as on a local directory."""
    code = (
        "import os, socket, stat, sys, threading; os.chdir(sys.argv[1]); os.mkfifo('p', 0o640)\n"
        "writer = threading.Thread(target=lambda: open('p', 'w').write('through')); writer.start()\n"
        "print(open('p').read(), oct(os.stat('p').st_mode)); writer.join()\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(); c = socket.socket(socket.AF_UNIX)\n"
        "c.connect('s'); print(stat.S_ISSOCK(os.stat('s').st_mode), sorted(os.listdir()))\n"
        "f = open('f', 'w+'); f.write('still there'); f.flush(); os.unlink('f')\n"
        "print(open(f'/proc/self/fd/{f.fileno()}').read())\n"
    )
    output = place.both([sys.executable, "-c", code, "DIR"])
    assert output.splitlines() == ["through 0o10640", "True ['p', 's']", "still there"]


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
@pytest.mark.parametrize("how", ["echo x >> $0", "echo x 1<> $0", "truncate -s 3 $0"])
def test_a_write_by_another_user_ends_set_id(how: str) -> None:
    other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    with tempfile.TemporaryDirectory() as folder:  # where others may go
        Path(folder).chmod(0o755)
        place = Place(Path(folder))
        try:
            modes = []
            for directory in (place.local, place.at):
                file = directory / "f"
                file.write_text("text")
                file.chmod(0o6777)
                subprocess.run([*other, "sh", "-c", how, file], check=True)
                modes.append(oct(file.stat().st_mode))
        finally:
            place.end()
    assert modes[0] == modes[1] == "0o100777"


def test_programs_run_from_there(place: Place) -> None:
    shutil.copy2(PROGRAMS / "static_twins", place.at / "twins")
    done = subprocess.run([place.at / "twins", place.at / "f", place.local / "f", "50", "7"])
    assert done.returncode == 0


def listed(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_large_directories_are_listed_whole(place: Place) -> None:
    names = {f"a name of some length {i}" for i in range(2500)}
    for name in names:
        (place.export / name).touch()
    assert listed(place.at) == names
    seen = set()
    for path in place.at.iterdir():
        path.unlink()
        seen.add(path.name)
    assert seen == names
    assert listed(place.at) == set()


def test_what_others_write_is_seen_at_once(place: Place) -> None:
    second, client = place.mount().at, Client(place.server.address)
    handle = client.open("f", CREATE | READ | WRITE)
    with open(place.at / "f", "r+b", 0) as one, open(second / "f", "r+b", 0) as two:
        for n in range(1, 50):
            client.write(handle, 0, b"%03d" % n)
            assert os.pread(one.fileno(), 3, 0) == os.pread(two.fileno(), 3, 0) == b"%03d" % n
            os.pwrite(one.fileno(), b"-" * n, 3)
            assert os.fstat(two.fileno()).st_size == client.size(handle) == 3 + n
        assert client.read(handle, (0, 99)) == [two.read()] == [b"049" + b"-" * 49]
        (second / "f").rename(second / "g")
    assert listed(place.at) == {"g"}


def test_files_below_a_directory_with_a_new_name_are_found(place: Place) -> None:
    (place.at / "d").mkdir()
    (place.at / "d/f").write_text("text")
    directory = os.open(place.at / "d", os.O_PATH)
    try:
        (place.export / "d").rename(place.export / "e")  # as another client does it
        with open(os.open("f", os.O_RDONLY, dir_fd=directory)) as file:
            assert file.read() == "text"
    finally:
        os.close(directory)


def test_appends_of_several_mounts_do_not_overlap(place: Place) -> None:
    second = place.mount().at
    script = "for i in $(seq 100); do echo $0 $i; done >> $1/log"
    writers = [
        subprocess.Popen(["bash", "-c", script, name, at])
        for name, at in (("a", place.at), ("b", second), ("c", place.at))
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    lines = (place.export / "log").read_text().splitlines()
    for name in "abc":
        assert [line for line in lines if line.startswith(name)] == [
            f"{name} {i}" for i in range(1, 101)
        ]


OWNER = """
import os, sys
os.chdir(sys.argv[1]); d = "."  # those above are closed to other users
os.umask(0o027)
os.mkdir(d + "/open", 0o777); os.chmod(d + "/open", 0o1777)
os.mkdir(d + "/group"); os.chown(d + "/group", 0, 7); os.chmod(d + "/group", 0o2777)
os.setgroups([]); os.setgid(12); os.setuid(11)
def show(name): s = os.lstat(d + name); print(name, s.st_uid, s.st_gid, oct(s.st_mode))
for within in ("/open", "/group"):
    os.close(os.open(d + within + "/f", os.O_CREAT | os.O_WRONLY, 0o6755))
    os.mkdir(d + within + "/d"); os.symlink("x", d + within + "/l")
    for name in "fdl": show(within + "/" + name)
for no in (lambda: os.unlink(d + "/mine"), lambda: open(d + "/mine"), lambda: os.chown(d + "/open/f", 1, 1)):
    try: no()
    except OSError as e: print(e.errno)
"""


def test_files_are_the_callers_and_modes_hold(place: Place) -> None:
    for directory in (place.local, place.at):
        (directory / "mine").touch(0o600)
    script = place.local.parent / "owner.py"
    script.write_text(OWNER)
    assert "/group/f 11 7 " in place.both(["python3", "-S", script, "DIR"])


def test_what_is_not_done_is_refused_by_name(place: Place) -> None:
    path = place.at / "f"
    code = "import mmap, sys; f = open(sys.argv[1], 'r+b'); mmap.mmap(f.fileno(), 10)"
    path.write_bytes(bytes(10))
    shared = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert "No such device" in shared.stderr


def test_locks_are_those_of_a_local_file(place: Place) -> None:
    script = Path(__file__).with_name("lock_program.py")
    assert place.both(["python3", "-S", script, "DIR"]).count("\n") == 18
    other = place.mount().at
    with (place.at / "f").open("r+b") as file, (other / "f").open("r+b") as same:
        fcntl.lockf(file, fcntl.LOCK_EX, 10)
        with pytest.raises(BlockingIOError):
            fcntl.lockf(same, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 9)
        fcntl.flock(same, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    assert not any("lock" in mounted.log.read_text() for mounted in place.mounts)


@pytest.mark.parametrize("level", ["written", "accepted"])
def test_an_error_of_the_store_reaches_the_writer(tmp_path: Path, level: str) -> None:
    (tmp_path / "export").mkdir()
    small = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", tmp_path / "export"]
    subprocess.run(small, check=True)
    try:
        place = Place(tmp_path)
        at = place.mount("--durability", level).at
        try:
            copy = ["dd", "if=/dev/zero", f"of={at}/f", "bs=256k", "count=8"]
            done = subprocess.run(copy, capture_output=True, text=True, check=False)
            assert (done.returncode, "No space left" in done.stderr) == (1, True)
            assert " of f" in place.mounts[1].log.read_text()
        finally:
            place.end()
    finally:
        subprocess.run(["umount", "-l", tmp_path / "export"], check=True)


def test_a_server_that_stopped_is_an_error_and_no_hang(place: Place) -> None:
    mounted = place.mount("--timeout", "2")
    path, ended = mounted.at / "f", list[int]()
    with suppress(OSError), open(path, "wb", 0) as file:  # what is left of it cannot be closed well
        place.server.process.send_signal(signal.SIGSTOP)
        for work in (lambda: file.write(b"x"), path.stat, path.read_bytes):
            with pytest.raises(OSError) as error:
                work()
            assert error.value.errno == errno.ETIMEDOUT
        ended.append(mounted.end())
    assert ended == [0]
    assert place.server.address in mounted.log.read_text()
    assert not os.path.ismount(mounted.at)


def test_a_server_that_comes_back_is_used_again(place: Place) -> None:
    (place.at / "d").mkdir()
    with open(place.at / "d/f", "w+b", 0) as file:
        file.write(b"before ")
        place.server.end(signal.SIGKILL)
        place.server = Server(place.local.parent)
        file.write(b"after")
        assert os.pread(file.fileno(), 99, 0) == b"before after"
        assert os.fstat(file.fileno()).st_size == 12
    assert listed(place.at / "d") == {"f"}


def test_the_command_mounts_and_unmounts(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "m").mkdir()
    up(tmp_path, "--export", "x", "--servers", "2")
    try:
        done = forward(tmp_path, "mount", "m", "--server", "fwd1")
        assert done.stderr == f"fathom: {tmp_path}/m: files of fwd1\n"
        (tmp_path / "m/f").write_text("text")
        assert (tmp_path / "x/f").read_text() == "text"
        assert forward(tmp_path, "unmount", "m").stderr == "fathom: m: unmounted\n"
        assert not os.path.ismount(tmp_path / "m")
        (tmp_path / "link").symlink_to(tmp_path)
        assert forward(tmp_path, "mount", "link/m").returncode == 0
        assert forward(tmp_path, "unmount", "link/m").stderr == "fathom: link/m: unmounted\n"
        assert "there is fwd0, fwd1" in forward(tmp_path, "mount", "m", "--server", "x").stderr
        assert forward(tmp_path, "mount", "m").returncode == 0
    finally:
        ended = forward(tmp_path, "down").stderr
    assert ended.startswith(f"fathom: {tmp_path}/m: unmounted\n")
    assert not os.path.ismount(tmp_path / "m")


def test_down_leaves_what_it_was_mounted_on(tmp_path: Path) -> None:
    """A file system of another: it is there again, with what it holds."""
    (tmp_path / "x").mkdir()
    below = tmp_path / "m"
    below.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "below", below], check=True)
    try:
        (below / "theirs").touch()
        up(tmp_path, "--export", "x")
        assert forward(tmp_path, "mount", "m").returncode == 0
        assert listed(below) == set()
        assert forward(tmp_path, "down").returncode == 0
        assert listed(below) == {"theirs"}
    finally:
        subprocess.run(["umount", "-l", below], check=False)


def test_servers_that_stripe_are_one_file_system(tmp_path: Path) -> None:
    for name in ("x", "m", "storage"):
        (tmp_path / name).mkdir()
    up(tmp_path, "--export", "x", "--storage", "storage", "--servers", "2")
    try:
        assert forward(tmp_path, "mount", "m").returncode == 0
        (tmp_path / "m/f").write_bytes(bytes(range(256)) * 9000)
        assert forward(tmp_path, "out", "copy").returncode == 0
    finally:
        forward(tmp_path, "down")
    assert (tmp_path / "copy/f").read_bytes() == bytes(range(256)) * 9000
