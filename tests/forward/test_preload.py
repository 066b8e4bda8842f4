"""The preload library: unmodified programs on a forwarded prefix do what they do on a local directory."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from fathom.catalog.load import load
from fathom.catalog.preload import load_served, why_passed
from harness import needs
from harness.runner import LAUNCH, STACK_ENV

from .test_c_client import Server, on_the_wire, serves
from .wire import ROOT

PRELOAD = ROOT / "build/libfathom_fwd_preload.so"
PROGRAMS = ROOT / "build/tests/forward_preload"

pytestmark = pytest.mark.skipif(
    not serves() or not PRELOAD.exists(),
    reason="no fathom-engine forward, or no build/: make build",
)


class Skin:
    """A server, a prefix, and programs under the preload library."""

    def __init__(self, place: Path, *options: str, token: Path | None = None) -> None:
        self.server = Server(place, *options)
        self.token = {"FATHOM_FORWARD_TOKEN": str(token)} if token else {}
        self.export = self.server.export
        self.prefix = place / "fwd"  # there is no such directory here
        self.local = place / "local"
        self.local.mkdir()

    def environment(self, **more: str) -> Mapping[str, str]:
        return os.environ | {
            "LD_PRELOAD": str(PRELOAD),
            "FATHOM_FORWARD_PREFIX": str(self.prefix),
            "FATHOM_FORWARD_SERVERS": self.server.address,
            "FATHOM_FORWARD_TIMEOUT": "20",
            **self.token,
            **more,
        }

    def run(
        self, *command: str | Path, text: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=100,
            env=self.environment(**more), check=False,
        )  # fmt: skip

    def shell(self, script: str) -> str:
        """What the script prints in a local directory, which it also must in the forwarded one."""
        words = ["bash", "-euo", "pipefail", "-c", script, "bash"]
        local = subprocess.run(
            [*words, self.local], capture_output=True, text=True, timeout=300, check=False
        )
        assert local.returncode == 0, local.stderr
        ours = self.run(*words, self.prefix)
        assert ours.returncode == 0, ours.stderr
        output = ours.stdout.replace(str(self.prefix), "DIR")
        assert output == local.stdout.replace(str(self.local), "DIR")
        assert not self.prefix.exists()
        return output


@contextmanager
def by(way: str, place: Path) -> Iterator[Skin]:
    """A server on a Unix socket or on TCP."""
    token = place / "token"
    token.touch(0o600)
    token.write_text("0123456789abcdef" * 4)
    tcp = ("--tcp", "127.0.0.1:0", "--token", str(token))
    started = Skin(place, *tcp, token=token) if way == "tcp" else Skin(place)
    try:
        yield started
    finally:
        started.server.end(signal.SIGKILL)


@pytest.fixture
def skin(tmp_path: Path) -> Iterator[Skin]:
    with by("unix", tmp_path) as started:
        yield started


def test_accepted_writes_are_seen_at_once_and_are_written_when_close_returns(skin: Skin) -> None:
    program = """
import os, sys
path = sys.argv[1] + "/f"
file = os.open(path, os.O_CREAT | os.O_RDWR)
for i in range(1000):
    os.pwrite(file, b"%07d;" % i, 8 * (i * 7 % 1000))
assert os.stat(path).st_size == os.fstat(file).st_size == 8000
assert os.pread(file, 8, 56) == b"0000001;"
os.close(file)
"""
    done = skin.run(
        sys.executable, "-c", program, skin.prefix, FATHOM_FORWARD_DURABILITY="accepted"
    )
    assert done.returncode == 0, done.stderr
    lines = (skin.export / "f").read_text().split(";")[:-1]
    assert [int(line) * 7 % 1000 for line in lines] == list(range(1000))


def test_close_tells_what_an_accepted_write_could_not_do(skin: Skin) -> None:
    resource.prlimit(skin.server.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
    program = """
import errno, os, sys
file = os.open(sys.argv[1] + "/f", os.O_CREAT | os.O_WRONLY)
assert os.pwrite(file, b"x", 1 << 20) == 1
try:
    os.close(file)
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    done = skin.run(
        sys.executable, "-c", program, skin.prefix, FATHOM_FORWARD_DURABILITY="accepted"
    )
    assert done.stdout == "EFBIG\n", done.stdout + done.stderr


def test_every_file_function_of_libc_is_wrapped_or_left_for_a_reason() -> None:
    probes = [ROOT / f"catalog/probes/{name}.toml" for name in ("posix", "stdio", "aio")]
    catalog = load([*probes, ROOT / "forward/preload/more.toml"])
    served = load_served(ROOT / "forward/preload/served.toml")
    rows = {symbol: call for _, call in catalog.calls() for symbol in call.symbols()}
    libc = _functions(Path("/lib/x86_64-linux-gnu/libc.so.6"))
    wrapped = _functions(PRELOAD)
    looks_like = re.compile("|".join(p for api in catalog.apis for p in api.looks_like))
    files = {name for name in libc if looks_like.search(name) or name in rows}
    assert len(files) > 400 and len(files & wrapped) > 150
    assert [n for n in files - wrapped if not why_passed(served, n, rows.get(n))] == []
    assert {name for name in wrapped - libc if not name.startswith("fathom_fwd_")} == set()


def _functions(library: Path) -> set[str]:
    """Exported, and for programs."""
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    words = [line.split() for line in symbols.stdout.splitlines()]
    return {w[2].split("@")[0] for w in words if w[1] in "TWi" and "GLIBC_PRIVATE" not in w[2]}


SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "tests/forward_preload/tools.toml").read_text())


@pytest.mark.parametrize("script", SCRIPTS)
def test_tools_of_a_shell(skin: Skin, script: str) -> None:
    assert skin.shell(SCRIPTS[script])


def test_where_a_program_stands_has_no_name_that_others_can_take(
    skin: Skin, tmp_path: Path
) -> None:
    """A process stands in a directory of its own, which is gone at once: /dev/shm is everybody's, who may have made
    there what they can guess."""
    needs.require(["strace"])
    log = tmp_path / "calls"
    trace = ("strace", "-f", "-qq", "-e", "trace=mkdir,mkdirat,rmdir,unlinkat", "-o", log)
    ran = skin.run(*trace, "bash", "-ec", 'cd "$1"; mkdir d; cd d; pwd >y', "bash", skin.prefix)
    assert not ran.returncode, ran.stderr
    calls = re.findall(r'(mkdir|rmdir|unlink)(?:at)?\(.*"/dev/shm/(.*?)".* = 0', log.read_text())
    made, gone = (
        [name for call, name in calls if (call == "mkdir") is new] for new in (True, False)
    )
    assert made == gone and len(set(made)) == len(made) >= 2


PYTHON = """
import collections, json, mmap, os, shutil, subprocess, sys, tempfile, threading
d = sys.argv[1]
p = os.path.join(d, "p")
with open(p, "w+b") as f:
    f.write(bytes(range(256)) * 40)
    f.seek(100)
    print(f.read(5), f.tell(), os.fstat(f.fileno()).st_size, f.isatty())
    f.truncate(1000)
    os.pwrite(f.fileno(), b"xyz", 998)
print(os.path.getsize(p), os.path.exists(p + "q"), os.path.isdir(d))
with open(p, "rb") as f, mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as m:
    print(m[:4], m[-3:])
os.makedirs(os.path.join(d, "a/b"))
with tempfile.NamedTemporaryFile(dir=d) as t:
    t.write(b"1"); t.flush(); print(os.path.getsize(t.name))
shutil.copytree(d, d + "/a/b/c", ignore=lambda *a: ["a"])
print(sorted(os.listdir(d + "/a/b/c")), [e.is_file() for e in os.scandir(d) if e.name == "p"])
json.dump({"x": 1}, open(d + "/j", "w")); print(json.load(open(d + "/j")))
with open(d + "/k", "w+b", 0) as k:
    def letters(c): [os.write(k.fileno(), c * 100) for _ in range(30)]
    threads = [threading.Thread(target=letters, args=(b"%c" % (97 + i),)) for i in range(6)]
    [t.start() for t in threads]; [t.join() for t in threads]
    subprocess.run(["sh", "-c", "echo child; echo error >&2"], stdout=k, stderr=k, check=True)
    k.seek(0); print(sorted(collections.Counter(k.read()).items()))
shutil.rmtree(d + "/a"); os.rename(p, p + "2"); print(sorted(os.listdir(d)))
"""


def test_python_programs(skin: Skin) -> None:
    script = skin.local.parent / "program.py"
    script.write_text(PYTHON)
    assert "b'xyz'" in skin.shell(f"python3 -S {script} $1")


def test_what_is_not_done_is_refused_by_name(skin: Skin) -> None:
    code = (
        "import mmap, os, sys; f = open(sys.argv[1], 'w+b'); f.write(bytes(10)); f.flush()\n"
        "def no(what):\n    try: what()\n    except OSError as e: print(os.strerror(e.errno))\n"
        "no(lambda: mmap.mmap(f.fileno(), 10)); no(lambda: mmap.mmap(f.fileno(), 10))\n"
        "no(lambda: os.mkfifo(sys.argv[1] + 'p')); no(lambda: os.fchdir(f.fileno()))\n"
    )
    done = skin.run("python3", "-S", "-c", code, skin.prefix / "f")
    assert done.stdout.splitlines() == [
        "No such device", "No such device", "Operation not supported", "Not a directory",
    ]  # fmt: skip
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and "shared mapping" in lines[0] and "ENODEV" in lines[0]
    assert "mkfifo" in lines[1] and "ENOTSUP" in lines[1]


@pytest.mark.some(1)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_is_gone_is_an_error_and_no_hang(skin: Skin, how: signal.Signals) -> None:
    code = (
        "import os, sys, time; f = open(sys.argv[1], 'wb', 0); f.write(b'a'); print('go', flush=True)\n"
        "sys.stdin.readline()\n"
        "for i in range(3):\n    try: f.write(b'b'); print('written')\n"
        "    except OSError as e: print(e.errno)\n"
    )
    command = ["python3", "-S", "-c", code, skin.prefix / "f"]
    program = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=skin.environment(FATHOM_FORWARD_TIMEOUT="2"),
    )  # fmt: skip
    assert program.stdout and program.stdout.readline() == "go\n"
    skin.server.process.send_signal(how)
    output, stderr = program.communicate("\n", timeout=300)
    assert len(output.split()) == 3 and "written" not in output
    ours = [line for line in stderr.splitlines() if line.startswith("fathom forward:")]
    assert 1 <= len(ours) <= 2 and skin.server.address in ours[0]


def test_without_a_server_a_program_gets_an_error(skin: Skin) -> None:
    skin.server.end(signal.SIGKILL)
    done = skin.run("cat", skin.prefix / "f", FATHOM_FORWARD_SERVERS="unix:/nowhere/sock")
    assert done.returncode == 1 and "Connection refused" in done.stderr
    assert "connecting to server unix:/nowhere/sock" in done.stderr


def test_a_program_is_asked_to_compress(skin: Skin) -> None:
    data = b"".join(bytes([n]) * 40_000 for n in range(100))
    (skin.local / "f").write_bytes(data)
    for way in ({"FATHOM_FORWARD_COMPRESS": "1"}, {}):
        before = sum(on_the_wire(skin.server))
        assert skin.run("cp", skin.local / "f", skin.prefix / "f", **way).returncode == 0
        assert skin.run("cmp", skin.prefix / "f", skin.local / "f", **way).returncode == 0
        moved = sum(on_the_wire(skin.server)) - before
        assert (moved < len(data) / 5) == bool(way)


def test_without_a_prefix_nothing_changes(tmp_path: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": str(PRELOAD)}
    code = (
        "import os, sys; open(sys.argv[1], 'w').write('x'); print(open(sys.argv[1]).read())\n"
        "print(sorted(os.listdir('/proc/self/fd'), key=int))"
    )
    command = ["python3", "-S", "-c", code, tmp_path / "f"]
    outputs = [
        subprocess.check_output(command, env=e, text=True) for e in (os.environ, environment)
    ]
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("order", ["{preload}:{tracer}", "{tracer}:{preload}"])
def test_the_tracer_sees_the_programs_calls_and_no_others(skin: Skin, order: str) -> None:
    direct = traced(skin, "{tracer}", skin.local)
    assert traced(skin, order, skin.prefix) == direct
    assert len([row for row in direct if row[:2] == ["write", "DIR/f"]]) == 30
    inode = (skin.export / "f").stat().st_ino
    sql = f"select distinct inode from files where path = '{skin.prefix}/f'"
    assert asked(skin, "fwd", sql) == [[str(inode)]]


def traced(skin: Skin, order: str, place: Path) -> list[list[object]]:
    """The rows of a program that writes a file and reads it again, with `place` as DIR."""
    preloads = order.format(tracer=ROOT / "build/libfathom.so", preload=PRELOAD)
    run = skin.local.parent / f"{place.name}.fathom"
    command = ["dd", "if=/dev/zero", f"of={place}/f", "bs=1000", "count=30", "oflag=append"]
    done = skin.run(
        ROOT / "build/fathom", "run", "--no-show", "-o", run, "--", *command, LD_PRELOAD=preloads
    )
    assert done.returncode == 0, done.stderr
    sql = (
        f"select op, replace(path, '{place}', 'DIR') path, file_offset, size, result from calls "
        "left join files using (file) "
        "where path not like '%/dev/%' and path not like 'pipe:%' order by start"
    )
    return asked(skin, place.name, sql)


def asked(skin: Skin, run: str, sql: str) -> list[list[object]]:
    """The rows of a statement on a run."""
    where = skin.local.parent / f"{run}.fathom"
    query = [sys.executable, "-m", "fathom", "query", where, "--sql", sql, "--json"]
    rows = json.loads(subprocess.check_output(query, text=True))
    return [list(row.values()) for row in rows]


KERNELS = {"s3d_mpiio": "8 8 8 2 2 1", "flash_hdf5": "-b 4 -x 8"}


@pytest.mark.some(4)
@pytest.mark.parametrize("way", ["collective", "independent"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("mpi", LAUNCH)
def test_kernels_write_the_same_files(skin: Skin, mpi: str, kernel: str, way: str) -> None:
    needs.require(needs.of_mpi(mpi))
    program = ROOT / f"build/kernels/{kernel}_{needs.MPI[mpi]}"
    if not program.exists():
        pytest.skip(f"{program.name} is not built: its library is not installed")
    command = [*LAUNCH[mpi].split(), "-n", "4", "env"]
    arguments = [program, "-m", way, *KERNELS[kernel].split()]
    given = {"capture_output": True, "text": True, "timeout": 100, "env": os.environ | STACK_ENV}
    subprocess.run([*command, *arguments, skin.local], check=True, **given)
    ours = [f"{k}={v}" for k, v in skin.environment().items() if k.startswith(("LD_P", "FATHOM"))]
    done = subprocess.run([*command, *ours, *arguments, skin.prefix], check=False, **given)
    assert done.returncode == 0, done.stderr[-2000:]
    names = sorted(path.name for path in skin.local.iterdir())
    own = ".fathom-forward"  # the server's
    assert names and names == sorted(p.name for p in skin.export.iterdir() if p.name != own)
    for name in names:
        assert same_but_times((skin.local / name).read_bytes(), (skin.export / name).read_bytes())


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ["strided", "strided_fortran"])
@pytest.mark.parametrize(
    ("mpi", "way", "level"),
    [("mpich", "tcp", "accepted"), ("romio321", "unix", "written")],
)
def test_strided_independent_io_and_atomic_mode_of_romio(
    tmp_path: Path, mpi: str, way: str, level: str, name: str
) -> None:
    """Data sieving and atomic mode stand on locks: the program checks what each rank reads, on a local file too."""
    needs.require(needs.of_mpi(mpi))
    with by(way, tmp_path) as skin:
        run_strided(skin, mpi, level, name)


def run_strided(skin: Skin, mpi: str, level: str, name: str) -> None:
    program = ROOT / f"build/tests/programs/mpi/{name}_{needs.MPI[mpi]}"
    command = [*LAUNCH[mpi].split(), "-n", "4", "env", f"FATHOM_FORWARD_DURABILITY={level}"]
    ours = [f"{k}={v}" for k, v in skin.environment().items() if k.startswith(("LD_P", "FATHOM"))]
    for more, place in (([], skin.local), (ours, skin.prefix)):
        done = subprocess.run(
            [*command, *more, program, place / "f"], capture_output=True, text=True, timeout=300,
            env=os.environ | STACK_ENV, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
    assert (skin.export / "f").stat().st_size == (skin.local / "f").stat().st_size


def same_but_times(one: bytes, two: bytes) -> bool:
    """HDF5 keeps when an object was made, in seconds: those four bytes may differ, no others."""
    if len(one) != len(two):
        return False
    a, b = np.frombuffer(one, np.uint8), np.frombuffer(two, np.uint8)
    now = time.time()

    def is_time(at: int) -> bool:
        stamps = [int.from_bytes(data[at : at + 4], "little") for data in (one, two)]
        return all(now - 600 < stamp <= now for stamp in stamps)

    return all(any(is_time(at - k) for k in range(4)) for at in np.flatnonzero(a != b).tolist())


@pytest.mark.parametrize("way", ["unix", "tcp"])
def test_locks_are_those_of_a_local_file(tmp_path: Path, way: str) -> None:
    with by(way, tmp_path) as skin:
        script = Path(__file__).with_name("lock_program.py")
        assert skin.shell(f"python3 -S {script} $1").count("\n") == 18


def test_a_lock_that_a_restarted_server_lost_is_told(skin: Skin) -> None:
    program = """
import errno, fcntl, os, sys
file = open(sys.argv[1] + "/f", "w+b", 0)
fcntl.lockf(file, fcntl.LOCK_EX, 5)
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True); sys.stdin.readline()
for unlock in (fcntl.lockf, fcntl.flock):
    try: unlock(file, fcntl.LOCK_UN)
    except OSError as error: print(errno.errorcode[error.errno], flush=True)
    unlock(file, fcntl.LOCK_EX)
"""
    running = subprocess.Popen(
        [sys.executable, "-c", program, skin.prefix], env=skin.environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert running.stdout and running.stdout.readline() == "locked\n"
    skin.server.end(signal.SIGKILL)
    skin.server = Server(skin.export.parent)
    outputs = running.communicate("go on\n", timeout=300)
    assert (running.returncode, outputs[0]) == (0, "ENOLCK\nENOLCK\n"), outputs
    assert "the locks of f were lost" in outputs[1]


PATHS = """
import errno, os, sys
os.chdir(sys.argv[1])
top = os.getcwd()
os.makedirs("A/B"); os.mkdir("D"); os.symlink("A/B", "S"); os.symlink("file", "L")
for name, text in {"A/x": "right", "x": "wrong", "file": "file"}.items():
    with open(name, "w") as file: file.write(text)
def told(name, call):
    try: print(name, call())
    except OSError as error: print(name, errno.errorcode[error.errno])
def reads(*path, **more):
    fd = os.open(*path, os.O_RDONLY, **more)
    try: return os.read(fd, 100)
    finally: os.close(fd)
for place in (top + "/S/../x", "S/../x", "./S/.././x", "A/B/../../x", "D/../x", "L/../x", "none/../x", "file/../x"):
    told(place.replace(top, "DIR"), lambda: reads(place))
link = os.open("S", os.O_RDONLY)
told("dirfd", lambda: reads("../x", dir_fd=link))
told("realpath", lambda: os.path.relpath(os.path.realpath("S/../x"), top))
for step in ("S", "..", "B/.", "../../D", "../D/../S"):
    os.chdir(step); told("in " + step, lambda: os.path.relpath(os.getcwd(), top))
    told("there", lambda: reads("../x"))
os.chdir(top)
for path in ("file/", "file/.", "L/", "S/", "D/.", "D/", "none/"):
    told("stat " + path, lambda: os.stat(path).st_mode)
    told("lstat " + path, lambda: os.lstat(path).st_mode)
    told("open " + path, lambda: os.close(os.open(path, os.O_RDONLY)))
    told("unlink " + path, lambda: os.unlink(path))
for path in ("D/.", "D/..", "S/", "file/", "A/B/.."):
    told("rmdir " + path, lambda: os.rmdir(path))
told("create new/", lambda: os.close(os.open("new/", os.O_CREAT | os.O_RDWR)))
told("mkdir made/", lambda: os.mkdir("made/"))
told("mkdir made/.", lambda: os.mkdir("made/."))
told("rename file", lambda: os.rename("file/", "other"))
told("rename to", lambda: os.rename("file", "other/"))
told("rename made/", lambda: os.rename("made/", "moved/"))
told("link", lambda: os.link("file", "linked/"))
told("symlink", lambda: os.symlink("x", "link/"))
told("remove", lambda: os.unlink("S/../x"))
for where, names, files in sorted(os.walk(top)):
    print(os.path.relpath(where, top), sorted(names), sorted(files))
"""


def test_dots_links_and_slashes_of_paths_are_the_file_systems(skin: Skin) -> None:
    script = skin.local.parent / "paths.py"
    script.write_text(PATHS)
    output = skin.shell(f"python3 -S {script} $1")
    assert "S/../x b'right'" in output


ABSOLUTE = """
import errno, os, sys
os.chdir(sys.argv[1])
top = os.getcwd()
os.makedirs("A/B")
for name, text in {"A/x": "right", "x": "wrong"}.items():
    with open(name, "w") as file: file.write(text)
links = {"d": "/A/B", "f": "/A/x", "there": "/none", "far": "/gone/none", "a": "/b", "b": "/a", "top": ""}
for name, to in links.items(): os.symlink(top + to, name)
os.symlink("../d", "A/near"); os.symlink(top + "/A/near/../x", "round")
def told(name, call):
    try: print(name, call())
    except OSError as error: print(name, errno.errorcode[error.errno])
def reads(*path, flags=os.O_RDONLY, **more):
    fd = os.open(*path, flags, **more)
    try: return os.read(fd, 100)
    finally: os.close(fd)
for name in ("f", "round", "d/../x", "top/top/A/x", "a", "a/x", "there", "far", "f/", "f/x", "d/none"):
    told("read " + name, lambda: reads(name))
    told("stat " + name, lambda: os.stat(name).st_mode)
    told("lstat " + name, lambda: os.lstat(name).st_mode)
    told("realpath " + name, lambda: os.path.relpath(os.path.realpath(name, strict=True), top))
told("nofollow", lambda: reads("f", flags=os.O_NOFOLLOW))
told("exclusive", lambda: reads("there", flags=os.O_CREAT | os.O_EXCL))
told("mkdir", lambda: os.mkdir("there"))
told("create", lambda: reads("there", flags=os.O_CREAT | os.O_RDWR))
told("create far", lambda: reads("far", flags=os.O_CREAT | os.O_RDWR))
told("made", lambda: os.stat("none").st_size)
told("dirfd", lambda: reads("f", dir_fd=os.open(".", os.O_RDONLY)))
told("mkdir in", lambda: os.mkdir("d/new"))
told("link", lambda: os.link("f", "d/linked", follow_symlinks=True))
told("link itself", lambda: os.link("f", "d/itself", follow_symlinks=False))
told("rename", lambda: os.rename("d/linked", "d/new/renamed"))
told("rename out", lambda: os.rename("d/new/renamed", "out"))
told("symlink", lambda: os.symlink("x", "d/s"))
told("truncate", lambda: os.truncate("f", 3))
told("chmod", lambda: os.chmod("f", 0o600))
told("times", lambda: os.utime("f", ns=(5, 6)))
told("unlink in", lambda: os.unlink("d/s"))
told("rmdir", lambda: os.rmdir("d"))
told("list", lambda: sorted(os.listdir("d")))
for step in ("d", "..", "../d/new", "../../near"):
    told("chdir", lambda: os.chdir(step)); told("in " + step, lambda: os.path.relpath(os.getcwd(), top))
os.chdir(top)
told("unlink", lambda: os.unlink("f"))
for where, names, files in sorted(os.walk(top)):
    print(os.path.relpath(where, top), sorted(names))
    for name in sorted(files):
        known = os.lstat(where + "/" + name)
        print(name, oct(known.st_mode), known.st_size if known.st_mode >> 12 == 8 else "")
"""


def test_absolute_links_below_the_prefix_are_followed(skin: Skin) -> None:
    script = skin.local.parent / "absolute.py"
    script.write_text(ABSOLUTE)
    output = skin.shell(f"python3 -S {script} $1")
    assert "read round b'right'" in output and "read a ELOOP" in output


COPIES = """
import errno, os, sys
base = sys.argv[1]
def told(name, call):
    try: print(name, call(), os.stat(base + "/f").st_size)
    except OSError as error: print(name, errno.errorcode[error.errno])
file = os.open(base + "/f", os.O_CREAT | os.O_RDWR)
os.write(file, b"x" * 1000)
told("overlap", lambda: os.copy_file_range(file, file, 100, 0, 50))
told("beyond", lambda: os.copy_file_range(file, file, 100000, 0, 1000))
told("its own output", lambda: os.copy_file_range(file, file, 5000, 500, 1200))
told("behind the end", lambda: os.copy_file_range(file, file, 100, 10, 1000))
log = os.open(base + "/log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
told("to a log", lambda: os.copy_file_range(file, log, 10, 0, 0))
told("from a log", lambda: os.copy_file_range(log, file, 10, 0, 0))
reader = os.open(base + "/f", os.O_RDONLY)
told("to a reader", lambda: os.copy_file_range(file, reader, 10, 0, 0))
told("send to a reader", lambda: os.sendfile(reader, file, None, 10))
told("send from below", lambda: os.sendfile(file, reader, -1, 10))
told("change a place", lambda: os.fchmod(os.open(base + "/f", os.O_PATH), 0o600))
"""


def test_copies_are_refused_where_linux_refuses_them(skin: Skin) -> None:
    script = skin.local.parent / "copies.py"
    script.write_text(COPIES)
    assert skin.shell(f"python3 -S {script} $1").count("\n") == 10


DROPS = """
import errno, os, sys
base = sys.argv[1]
file = os.open(base + "/f", os.O_CREAT | os.O_RDWR, 0o600)
os.write(file, b"roots")
os.setuid(65534)
for call in (lambda: os.open(base + "/f", os.O_RDONLY), lambda: os.open(base + "/g", os.O_CREAT | os.O_RDWR),
             lambda: os.chmod(base + "/f", 0o4777)):
    try: print(call())
    except OSError as error: print(errno.errorcode[error.errno])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_a_process_that_drops_its_user_has_that_users_rights(skin: Skin) -> None:
    done = skin.run(sys.executable, "-c", DROPS, skin.prefix)
    assert done.stdout == "EACCES\n" * 3, done.stderr
    assert not (skin.export / "g").exists()


def test_an_open_directory_outlives_the_server(skin: Skin) -> None:
    (skin.export / "d").mkdir()
    (skin.export / "d/f").write_text("text")
    program = """
import os, sys
os.chdir(sys.argv[1] + "/d")
there = os.open(".", os.O_RDONLY)
print(open("f").read(), flush=True)
input()
print(os.stat("f", dir_fd=there).st_size, open("f").read(), sorted(os.listdir(there)))
os.mkdir("x", dir_fd=there); os.rename("f", "x/g", src_dir_fd=there, dst_dir_fd=there); os.symlink("x/g", "l")
print(open("l").read(), os.getcwd() == sys.argv[1] + "/d")
"""
    words = [sys.executable, "-c", program, str(skin.prefix)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = subprocess.Popen(words, env=skin.environment(), **pipes)
    assert running.stdout
    assert running.stdout.readline() == "text\n"
    skin.server.end(signal.SIGKILL)
    skin.server = Server(skin.local.parent)
    output, _ = running.communicate("\n", timeout=300)
    assert output.splitlines() == ["4 text ['f']", "text True"]
    assert (skin.export / "d/x/g").read_text() == "text"
