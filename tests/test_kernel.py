"""fathom run --kernel: what the kernel did for calls. Held against mincore, /proc/PID/io and /proc/diskstats, which are
the kernel's own counts of the same."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE
from typing import Any

import fathom
import pytest
from fathom.webapi import answers
from fathom.webapi.answers.session import Runs
from harness import disks, needs, paths, readers
from harness.kernel import eventually, in_account, loaded, loaded_by, recorder_of

SIZE = 1 << 16
# What a program does with a file of 1 MiB, and what the kernel says of it: a row for each access, by its offset.
PROGRAM = """
import ctypes, json, mmap, os, sys
SIZE, DIRECT = 1 << 16, 1 << 19
path = sys.argv[1]
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
def read_bytes():
    return int(open("/proc/self/io").read().split("read_bytes: ")[1].split()[0])
def cached(offset, size):
    at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, offset)
    pages = (ctypes.c_ubyte * (size // mmap.PAGESIZE))()
    assert libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), pages) == 0
    libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    return sum(page & 1 for page in pages) * mmap.PAGESIZE
def say(what, offset, size, act):
    was, before = cached(offset, size), read_bytes()
    act()
    print(json.dumps([what, offset, size, was, read_bytes() - before]))
fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, b"x" * (1 << 20))
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
say("cold", 0, SIZE, lambda: os.pread(fd, SIZE, 0))
say("warm", 0, SIZE, lambda: os.pread(fd, SIZE, 0))
say("half", 0, 2 * SIZE, lambda: os.pread(fd, 2 * SIZE, 0))
past = os.open(path, os.O_RDWR | os.O_DIRECT)
buffer = mmap.mmap(-1, SIZE)
say("direct", DIRECT, SIZE, lambda: os.preadv(past, [buffer], DIRECT))
os.pwritev(past, [buffer], DIRECT)
os.ftruncate(fd, 1 << 21)
say("hole", 3 << 19, SIZE, lambda: os.pread(fd, SIZE, 3 << 19))
mapped = mmap.mmap(fd, 4 * mmap.PAGESIZE, offset=3 << 18)
mapped.madvise(mmap.MADV_RANDOM)
say("mapped", 3 << 18, 4 * mmap.PAGESIZE, lambda: [mapped[i * mmap.PAGESIZE] for i in range(4)])
"""


@pytest.fixture(autouse=True)
def _kernel() -> None:
    needs.require(["kernel"])


def run(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (paths.FATHOM, "run", "--kernel", "--no-show", *words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


def disk_counts(device: int) -> tuple[int, int, int, int]:
    """Reads and bytes, writes and bytes, that a device has done."""
    for line in Path("/proc/diskstats").read_text(encoding="ascii").splitlines():
        words = line.split()
        if os.makedev(int(words[0]), int(words[1])) == device:
            return int(words[3]), int(words[5]) * 512, int(words[7]), int(words[9]) * 512
    raise AssertionError(f"no device {device} in /proc/diskstats")


def test_each_access_says_where_its_data_were(tmp_path: Path) -> None:
    # A thread of the kernel's own would read beside the program.
    quiet = ("noinit_itable", "no_prefetch_block_bitmaps")
    with disks.disk("ext4", tmp_path, *quiet) as at:
        device = at.stat().st_dev
        before = disk_counts(device)
        done = run("-o", tmp_path / "r", "--", sys.executable, "-c", PROGRAM, at / "f")
        after = disk_counts(device)
    assert done.returncode == 0, done.stderr
    accesses = {what: row for what, *row in map(json.loads, done.stdout.splitlines())}
    recorded = fathom.open(tmp_path / "r.fathom")
    file = "file in (select file from files where path like '%/store/f')"
    rows = f"from kernel_calls() join (select id as call, file_offset from calls) using (call) where {file}"

    def ask(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in recorded.sql(sql).to_pylist()]

    # Each missed byte is one that mincore did not find, each byte of a request one of /proc/self/io.
    sql = "select file_offset, bytes, missed, request_bytes, origin"
    *reads, mapped = [(at, size, size - was, got) for at, size, was, got in accesses.values()]
    past_the_cache = reads.index(next(row for row in reads if row[0] == accesses["direct"][0]))
    reads[past_the_cache] = (*reads[past_the_cache][:2], 0, reads[past_the_cache][3])
    told = ask(f"{sql} {rows} and kind = 'read' order by start")
    assert [row[:4] for row in told] == reads
    assert dict(zip(accesses, (row[4] for row in told), strict=False)) == {
        "cold": "device", "warm": "cached", "half": "both", "direct": "device", "hole": "cached",
    }  # fmt: skip
    # Pages of a mapping come without a call.
    at, size, missing, _ = mapped
    faults = f"""select sum(e.bytes)::bigint from kernel_events as e join files as f on f.inode = e.inode
        where f.{file} and event = 'pages' and e.at >= {at} and e.at < {at + size}"""
    assert ask(faults) == [(missing,)] == [(size,)]
    assert ask(f"select origin, bytes {rows} and kind = 'write' order by start") == [
        ("cached", 1 << 20),
        ("device", SIZE),
    ]
    waited = "request_bytes >= 1 << 20, device_time > 0, journal_time > 0, journal_time <= duration"
    assert ask(f"select {waited} {rows} and kind = 'sync'") == [(True, True, True, True)]
    of_disk = f"""select count(*), sum(bytes)::bigint from kernel_events
        where device = '{os.major(device)}:{os.minor(device)}' and event ="""
    assert ask(f"{of_disk} 'read'") == [(after[0] - before[0], after[1] - before[1])]
    # What the journal's own thread writes is the device's, and nobody's of the run.
    ((count, written),) = ask(f"{of_disk} 'write'")
    assert 0 < count <= after[2] - before[2]
    assert (1 << 20) + SIZE <= written <= after[3] - before[3]


WRITER = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
for _ in range(32):
    os.write(fd, bytes(1 << 20))
"""


def test_a_writer_that_is_ahead_of_its_disk_pauses(tmp_path: Path) -> None:
    with disks.disk("ext4", tmp_path) as at:
        disks.let_wait(at, 4 << 20)
        done = run("-o", tmp_path / "r", "--", sys.executable, "-c", WRITER, at / "f")
    assert done.returncode == 0, done.stderr
    recorded = fathom.open(tmp_path / "r.fathom")
    sums = """select sum(paused)::bigint as paused, bool_and(paused <= duration) as inside,
        (select sum(stop - start)::bigint from kernel_events where event = 'throttled') as told
        from kernel_calls() where kind = 'write'"""
    ((paused, inside, told),) = (tuple(row.values()) for row in recorded.sql(sums).to_pylist())
    assert paused == told > 0 and inside
    assert in_account(recorded, "write")["write-back"] == pytest.approx(paused)


READER = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, bytes(64 << 20))
os.fsync(fd)
buffer = mmap.mmap(-1, 1 << 20)
past = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
for _ in range(64):
    os.readv(past, [buffer])
for i in range(64):
    os.pread(fd, 1 << 20, i << 20)
"""


@pytest.mark.parametrize("level", ["call", "job"])
def test_the_account_knows_the_device_and_the_cache(tmp_path: Path, level: str) -> None:
    """O_DIRECT waits for the device; what was written is in memory. At level job nobody knows which call it was."""
    with disks.disk("ext4", tmp_path) as at:
        done = run(
            "--level", level, "-o", tmp_path / "r", "--", sys.executable, "-c", READER, at / "f"
        )
    assert done.returncode == 0, done.stderr
    recorded = fathom.open(tmp_path / "r.fathom")
    sums = "select op, sum(time) as ns from counters where layer = 'posix' group by op"
    times = {row["op"]: row["ns"] for row in recorded.sql(sums).to_pylist()}
    parts = {op: in_account(recorded, op) for op in ("readv", "pread", "write", "fsync")}
    for op, part in parts.items():
        assert sum(part.values()) == pytest.approx(times[op], abs=1)
    if level == "job":
        assert all(part.keys() == {None} for part in parts.values())
        return
    # A virtual machine's own threads may hide the end of a request (docs/kernel.md).
    assert parts["readv"]["device"] > 0.5 * sum(parts["readv"].values())
    assert parts["pread"]["cache"] > 0.5 * sum(parts["pread"].values())
    assert parts["fsync"]["device"] > 0
    # The call explorer says the same of each call.
    sql = "select call, requests, device_time, paused from kernel_calls() where op in ('readv', 'fsync') order by start"
    runs = Runs([tmp_path / "r.fathom"])
    rows = [row for row in recorded.sql(sql).to_pylist() if row["requests"]]
    assert len(rows) > 32
    for row in rows[:2]:
        said = answers.ask(runs, "call", {"run": "r", "call": str(row["call"])})["kernel"]
        assert (said["requests"], said["device"], said["paused"]) == tuple(row.values())[1:]


MAPPER = """
import mmap, os, resource, sys
def major():
    return resource.getrusage(resource.RUSAGE_SELF).ru_majflt
def read_bytes():
    return int(open("/proc/self/io").read().split("read_bytes: ")[1].split()[0])
PAGES = 2048
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, bytes(PAGES * mmap.PAGESIZE))
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
mapped = mmap.mmap(fd, PAGES * mmap.PAGESIZE)
mapped.madvise(mmap.MADV_RANDOM)
read, faults = read_bytes(), major()
for i in range(PAGES):
    mapped[i * mmap.PAGESIZE]
print(major() - faults, read_bytes() - read)
"""


def test_page_faults_on_a_mapped_file_are_the_kernel_s_own(tmp_path: Path) -> None:
    """Major faults as getrusage counts them, bytes as /proc/self/io does; their time stands beside the account."""
    with disks.disk("ext4", tmp_path) as at:
        done = run("-o", tmp_path / "r", "--", sys.executable, "-c", MAPPER, at / "f")
    assert done.returncode == 0, done.stderr
    recorded = fathom.open(tmp_path / "r.fathom")
    sql = """select requests, bytes, waited from kernel_faults() join files using (file)
        where path like '%/store/f'"""
    ((requests, moved, waited),) = (tuple(row.values()) for row in recorded.sql(sql).to_pylist())
    assert [requests, moved] == [int(word) for word in done.stdout.split()] and requests > 1000
    beside = """select sum(time) as ns from account_and_beside() join files using (file)
        where cause = 'faults' and path like '%/store/f'"""
    assert recorded.sql(beside)["ns"][0].as_py() == waited > 0


# A thread and a child read past the page cache; a line comes in before each round, and one goes out behind it.
SERVER = """
import mmap, os, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
def read(offset):
    os.preadv(fd, [mmap.mmap(-1, 1 << 16)], offset)
for line in sys.stdin:
    thread = threading.Thread(target=read, args=(0,))
    thread.start()
    thread.join()
    child = os.fork()
    if child == 0:
        read(1 << 16)
        os._exit(0)
    os.waitpid(child, 0)
    print("done", flush=True)
"""


@pytest.mark.parametrize("ends", ["detach", "program"])
def test_a_program_that_runs_is_attached(tmp_path: Path, ends: str) -> None:
    """Its requests are those of /proc/diskstats, from attach to detach; then nothing is loaded any more."""
    before = loaded()
    quiet = ("noinit_itable", "no_prefetch_block_bitmaps")
    with disks.disk("ext4", tmp_path, *quiet) as at:
        (at / "f").write_bytes(bytes(1 << 20))
        os.sync()
        command = [sys.executable, "-c", SERVER, str(at / "f")]
        with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as started:

            def rounds(count: int) -> int:
                """Bytes that were read from the disk until then."""
                assert started.stdin and started.stdout
                for _ in range(count):
                    started.stdin.write("go\n")
                    started.stdin.flush()
                    assert started.stdout.readline() == "done\n"
                return disk_counts(at.stat().st_dev)[1]

            def fathom_(*words: object) -> None:
                arguments = [str(word) for word in (paths.FATHOM, *words)]
                done = subprocess.run(arguments, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr

            first = rounds(3)
            fathom_("attach", started.pid, "--kernel", "-o", tmp_path / "r")
            assert loaded() - before
            last = rounds(5)
            if ends == "detach":
                fathom_("detach", tmp_path / "r.fathom")
                eventually(lambda: not loaded() - before, "the programs are still loaded")
                rounds(2)
            assert started.stdin
            started.stdin.close()
            started.wait()
        eventually(lambda: not loaded() - before, "the programs are still loaded")
    recorded = fathom.open(tmp_path / "r.fathom")
    sql = """select origin, count(distinct process) as processes, count(*) as calls,
            sum(request_bytes)::bigint as moved
        from kernel_calls() join files using (file) where path like '%/store/f' group by origin"""
    (row,) = (tuple(row.values()) for row in recorded.sql(sql).to_pylist())
    assert row == ("device", 6, 10, last - first) and last > first


@pytest.mark.parametrize("victim", ["fathom", "recorder", "nobody"])
def test_nothing_stays_in_the_kernel(tmp_path: Path, victim: str) -> None:
    script = 'echo begun; read line; cat "$0" >/dev/null; echo ended'
    command = [paths.FATHOM, "run", "--kernel", "--no-show", "-o", tmp_path / "r", "--"]
    with subprocess.Popen(
        [*command, "sh", "-c", script, str(paths.ROOT / "README.md")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as started:  # fmt: skip
        assert started.stdin and started.stdout
        assert started.stdout.readline() == "begun\n"
        recorder = recorder_of(started.pid)
        assert recorder
        ours = loaded_by(recorder)
        assert ours and ours <= loaded()
        if victim != "nobody":
            os.kill(started.pid if victim == "fathom" else recorder, signal.SIGKILL)
            eventually(lambda: not loaded() & ours, "the programs are still loaded")
        started.stdin.write("go on\n")
        started.stdin.flush()
        assert started.stdout.readline() == "ended\n"
        said = started.communicate()[1]
    assert ("not recorded to its end" in said) == (victim == "recorder")
    eventually(lambda: not loaded() & ours, "the programs are still loaded")
    events = fathom.open(tmp_path / "r.fathom").sql("select count(*) as n from kernel_events")
    assert events["n"][0].as_py() > 0 or victim != "nobody"


PR_CAPBSET_DROP, LAST, PERFMON, BPF = 24, 40, 38, 39


def only(*kept: int) -> None:
    """What is started next has no capabilities but these."""
    for capability in range(LAST + 1):
        if capability not in kept:
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def test_without_the_right_nothing_is_made(tmp_path: Path) -> None:
    done = run("-o", tmp_path / "r", "--", "true", preexec_fn=lambda: only(BPF))
    assert done.returncode == 125
    (line,) = done.stderr.splitlines()
    assert "CAP_BPF and CAP_PERFMON" in line and "setcap cap_bpf,cap_perfmon+ep" in line
    assert not (tmp_path / "r.fathom").exists()


def test_two_capabilities_are_enough(tmp_path: Path) -> None:
    done = run("-o", tmp_path / "r", "--", "true", preexec_fn=lambda: only(BPF, PERFMON))
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    events = fathom.open(tmp_path / "r.fathom").sql("select count(*) as n from kernel_events")
    assert events["n"][0].as_py() >= 0


def test_a_user_sees_nothing_of_what_has_the_rights_of_another() -> None:
    """A centre gave the engine its capabilities; `cat` is root's."""
    needs.require(["setcap", "setpriv"])
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o777)
        engine, cat = place / "engine", place / "cat"
        shutil.copy(readers.ENGINE, engine)
        subprocess.run(["setcap", "cap_bpf,cap_perfmon+ep", engine], check=True)
        shutil.copy(shutil.which("cat") or "", cat)
        (place / "f").write_bytes(b"x")
        seen = []
        for mode in (0o755, 0o4755):
            cat.chmod(mode)
            words = [
                "setpriv",
                "--reuid",
                "65534",
                "--regid",
                "65534",
                "--clear-groups",
                paths.FATHOM,
            ]
            run_of = place / f"r{mode:o}.fathom"
            env = {**os.environ, "FATHOM_ENGINE": str(engine)}
            options = ["run", "--kernel=calls", "--no-show", "-o", run_of, "--"]
            command = [*words, *options, "env", "-i", cat, place / "f"]
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (0, "x"), done.stderr
            rows = fathom.open(run_of).sql(
                "select 1 from calls join files using (file) where path like '%/f'"
            )
            seen.append(rows.num_rows > 0)
    assert seen == [True, False]


def test_calls_are_recorded_in_one_way(tmp_path: Path) -> None:
    done = run("--strace", "-o", tmp_path / "r", "--", "true")
    assert done.returncode == 125 and "leave --kernel out" in done.stderr


def test_a_launcher_is_behind_it(tmp_path: Path) -> None:
    done = run("-o", tmp_path / "r", "--", "true", env={**os.environ, "PMI_RANK": "0"})
    assert done.returncode == 125 and "before the launcher" in done.stderr
