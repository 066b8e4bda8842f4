"""fathom run --kernel=calls: calls of programs that no library can be in, static ones first. Held against strace, the
library, fio."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from subprocess import PIPE

import fathom
import pytest
from harness import disks, needs, paths
from harness.kernel import eventually, in_account, loaded


@pytest.fixture(autouse=True)
def _kernel() -> None:
    needs.require(["kernel"])


# Names of temporary files and of pipes are others each time; so are descriptors of threads that open at once.
ROWS = """select op, regexp_replace(coalesce(f.path, ''), '.*/|[0-9]|-[^-]*$', '', 'g') as path, size, file_offset,
        bytes, if(op in ('mmap', 'munmap') or op = 'open' and $at_once, null, result) as result, error
    from calls as c left join files as f using (file) where layer = 'posix'"""


# A byte comes in before each round, and one goes out behind it.
STATIC_SERVER = """
#include <fcntl.h>
#include <unistd.h>
int main(int count, char **words)
{
	static char block[4096], byte;
	int fd = open(words[1], O_RDWR | O_CREAT, 0644);
	for (int i = 0; read(0, &byte, 1) == 1; i++)
		if (pwrite(fd, block, sizeof(block), i * 4096L) != 4096 || fsync(fd) || write(1, "x", 1) != 1)
			return 1;
	return close(fd);
}
"""


@pytest.mark.parametrize("ends", ["detach", "program"])
def test_a_static_program_that_runs_is_attached(tmp_path: Path, ends: str) -> None:
    """Its calls are those from attach to detach, in the file that it had opened before."""
    needs.require(["gcc"])
    before, (source, server) = loaded(), (tmp_path / "s.c", tmp_path / "server")
    source.write_text(STATIC_SERVER)
    subprocess.run(["gcc", "-static", source, "-o", server], check=True)
    with subprocess.Popen([server, tmp_path / "f"], stdin=PIPE, stdout=PIPE) as started:

        def rounds(count: int) -> None:
            assert started.stdin and started.stdout
            for _ in range(count):
                os.write(started.stdin.fileno(), b"x")
                assert os.read(started.stdout.fileno(), 1) == b"x"

        def fathom_(*words: object) -> subprocess.CompletedProcess[str]:
            command = [str(word) for word in (paths.FATHOM, *words)]
            return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

        rounds(3)
        refused = fathom_("attach", started.pid, "--kernel", "-o", tmp_path / "r")
        assert refused.returncode == 3 and "--kernel=calls" in refused.stderr
        done = fathom_("attach", started.pid, "--kernel=calls", "-o", tmp_path / "r")
        assert done.returncode == 0, done.stderr
        rounds(5)
        if ends == "detach":
            done = fathom_("detach", tmp_path / "r.fathom")
            assert done.returncode == 0, done.stderr
            rounds(2)
        assert started.stdin
        started.stdin.close()
        assert started.wait(60) == 0
    eventually(lambda: not loaded() - before, "the programs are still loaded")
    recorded = fathom.open(tmp_path / "r.fathom")
    rows = "select op, file_offset, bytes from calls join files using (file) where path like '%/f' order by start"
    told = [tuple(row.values()) for row in recorded.sql(rows).to_pylist()]
    closes = [("close", None, None)] if ends == "program" else []
    written = [[("pwrite", i * 4096, 4096), ("fsync", None, None)] for i in range(3, 8)]
    assert told == [*(row for pair in written for row in pair), *closes]
    assert recorded.sql("select exe from processes")["exe"].to_pylist() == [str(server)]


# Eight goroutines at once, on threads that Go moves them between; Go makes its system calls itself.
GO = """package main

import (
	"os"
	"path/filepath"
	"sync"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func work(name string, part byte) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0644)
	must(err)
	bytes := make([]byte, 4096)
	for i := range bytes {
		bytes[i] = part
	}
	for i := int64(0); i < 8; i++ {
		_, err = file.WriteAt(bytes, i*4096)
		must(err)
	}
	must(file.Sync())
	_, err = file.Seek(4096, 0)
	must(err)
	_, err = file.Read(bytes[:100])
	must(err)
	must(file.Truncate(5000))
	must(file.Close())
	must(os.Rename(name, name+"-done"))
	_, err = os.ReadFile(name)
	if err == nil {
		panic("still there")
	}
}

func main() {
	place := os.Args[1]
	must(os.MkdirAll(place, 0755))
	var all sync.WaitGroup
	for i := byte(0); i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			work(filepath.Join(place, string('a'+rune(i))), i)
		}()
	}
	all.Wait()
	_, err := os.ReadDir(place)
	must(err)
}
"""


def static_program(place: Path, program: str) -> Path:
    built = place / program
    if program == "go":
        needs.require(["go"])
        (place / "main.go").write_text(GO)
        command = ["go", "build", "-o", str(built), str(place / "main.go")]
        subprocess.run(command, check=True, env={**os.environ, "CGO_ENABLED": "0"})
    else:
        source = paths.TESTS / "programs" / f"{program}.c"
        words = ["gcc", "-g", "-O1", "-w", "-static", f"-I{source.parent}", source, "-o", built]
        subprocess.run([*words, "-lpthread"], check=True)
    return built


@pytest.mark.parametrize("program", ["data_calls", "positions", "go"])
def test_a_static_program_has_the_rows_that_strace_gives(tmp_path: Path, program: str) -> None:
    needs.require(["strace", "gcc"])
    static, rows = static_program(tmp_path, program), []
    for way in ("--kernel=calls", "--strace"):
        run_of, place = tmp_path / f"r{way}", tmp_path / way / "data"
        place.mkdir(parents=True)
        command = [paths.FATHOM, "run", way, "--no-show", "-o", run_of, "--", static, place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        recorded = fathom.open(run_of.with_suffix(".fathom"))
        rows.append(
            Counter(
                tuple(row.values())
                for row in recorded.sql(ROWS, at_once=program == "go").to_pylist()
            )
        )
    assert rows[0] == rows[1] and rows[0].total() > 20


# Each operation and what became of it. Of two that are like each other, one may be given the other's completion.
OPERATIONS = """select p.op, a.value, p.size, p.file_offset,
        regexp_replace(coalesce(f.path, ''), '.*/|[0-9]', '', 'g') as path, d.op as done, d.bytes, d.error
    from calls as p join args as a on a.call = p.id and a.name = 'opcode' left join files as f using (file)
    left join links as l on l.to_call = p.id and l.kind = 'completes' left join calls as d on d.id = l.from_call
    where p.kind = 'post' and p.op like 'post%'"""


@pytest.mark.parametrize(("program", "library"), [("aio_uring", "uring"), ("aio_kernel", "aio")])
def test_asynchronous_operations_are_those_that_the_library_sees(
    tmp_path: Path, program: str, library: str
) -> None:
    """A program with its library and the same linked statically: posts, offsets, bytes and errors are equal."""
    needs.require(["gcc", f"library:{library}", "io_uring"])
    source, rows = paths.TESTS / "programs" / f"{program}.c", []
    for form in ("-static", "-rdynamic"):
        built, run_of = tmp_path / f"{program}{form}", tmp_path / f"r{form}.fathom"
        words = [
            "gcc",
            "-O1",
            "-w",
            form,
            f"-I{source.parent}",
            source,
            "-o",
            built,
            f"-l{library}",
        ]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip(f"no lib{library} to link {form}")
        command = [paths.FATHOM, "run", "--kernel=calls", "--no-show", "-o", run_of, "--"]
        done = subprocess.run(
            [*command, built, tmp_path / "f"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        rows.append(
            Counter(tuple(row.values()) for row in fathom.open(run_of).sql(OPERATIONS).to_pylist())
        )
    # io_uring says of a read that is never fetched that it was cancelled; the library says what is not taken (EAGAIN).
    left_out = (errno.ECANCELED, errno.EAGAIN)
    seen = [
        Counter(row for row in of.elements() if row[6] is not None and row[7] not in left_out)
        for of in rows
    ]
    assert seen[0] == seen[1] and seen[0].total() > 10


def test_an_io_uring_of_a_program_s_own(tmp_path: Path) -> None:
    """Without liburing and without a library: the file has the bytes, and the completion is joined."""
    needs.require(["gcc", "io_uring"])
    source = paths.TESTS / "programs" / "own_ring.c"
    subprocess.run(
        ["gcc", "-static", f"-I{source.parent}", source, "-o", tmp_path / "own"], check=True
    )
    words = ["run", "--kernel=calls", "--no-show", "-o", tmp_path / "r", "--"]
    done = subprocess.run([paths.FATHOM, *words, tmp_path / "own", tmp_path / "f"], check=False)
    assert done.returncode == 0 and (tmp_path / "f").read_bytes() == b"hello"
    recorded = fathom.open(tmp_path / "r.fathom")
    assert [tuple(row.values()) for row in recorded.sql(OPERATIONS).to_pylist()] == [
        ("post_write", 23, 5, 0, "f", "done_write", 5, 0)
    ]
    inside = (
        "select r.op from calls as p join calls as r on r.id = p.parent where p.op = 'post_write'"
    )
    assert recorded.sql(inside)["op"].to_pylist() == ["io_uring_enter"]


@pytest.mark.parametrize(
    "engine",
    [
        "libaio",
        "psync",
        "io_uring",
        "io_uring --registerfiles=1 --fixedbufs=1",
        "io_uring --sqthread_poll=1",
    ],
)
def test_bytes_and_operations_are_fio_s(tmp_path: Path, engine: str) -> None:
    needs.require(["fio", "io_uring"])
    (tmp_path / "f").write_bytes(bytes(2 << 20))
    words = [
        "fio", "--thread", "--name=t", f"--filename={tmp_path / 'f'}", "--size=2m", "--rw=randrw", "--bs=4k",
        "--iodepth=80", "--iodepth_batch=80", "--output-format=json", f"--output={tmp_path / 'fio'}",
        *f"--ioengine={engine}".split(),
    ]  # fmt: skip
    # The library is in no program that begins with an empty environment.
    command = [paths.FATHOM, "run", "--kernel=calls", "--no-show", "-o", tmp_path / "r", "--"]
    done = subprocess.run(
        [*command, "env", "-i", shutil.which("fio") or "", *words[1:]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "fio").read_text()
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    sums = """select c.kind, count(*) as n, sum(bytes)::bigint as bytes from calls as c join files using (file)
        where path like '%/f' and c.kind in ('read', 'write') and (layer = 'aio' or $posix) group by c.kind"""
    rows = fathom.open(tmp_path / "r.fathom").sql(sums, posix=engine == "psync").to_pylist()
    told = {row["kind"]: (row["n"], row["bytes"]) for row in rows}
    assert told == {
        kind: (job[kind]["total_ios"], job[kind]["io_bytes"]) for kind in ("read", "write")
    }


@pytest.mark.parametrize("engine", ["libaio", "io_uring"])
def test_requests_of_asynchronous_reads_are_those_of_who_posted_them(
    tmp_path: Path, engine: str
) -> None:
    """Past the page cache: what posts and awaits them has the requests, and no completion is said to be cached."""
    needs.require(["fio", "io_uring"])
    with disks.disk("ext4", tmp_path) as at:
        (at / "f").write_bytes(bytes(4 << 20))
        os.sync()
        words = [
            "--thread",
            "--name=t",
            f"--filename={at / 'f'}",
            "--size=4m",
            "--rw=randread",
            "--bs=4k",
        ]
        fio = [
            shutil.which("fio") or "",
            *words,
            "--direct=1",
            "--iodepth=8",
            f"--ioengine={engine}",
        ]
        command = [
            paths.FATHOM,
            "run",
            "--kernel=calls",
            "--no-show",
            "-o",
            tmp_path / "r",
            "--",
            "env",
            "-i",
        ]
        done = subprocess.run([*command, *fio], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    recorded = fathom.open(tmp_path / "r.fathom")
    sums = """select sum(requests)::int as requests, sum(request_bytes)::int as bytes,
        bool_and(origin is null) as unsaid, sum(device_time) > 0 as waited from kernel_calls() where layer = 'aio'"""
    assert recorded.sql(sums).to_pylist() == [
        {"requests": 1024, "bytes": 4 << 20, "unsaid": True, "waited": True}
    ]
    # Whether the device was at work while the program posted or while it waited is chance.
    ops = ("io_uring_enter",) if engine == "io_uring" else ("io_submit", "io_getevents")
    assert sum(in_account(recorded, op).get("device", 0) for op in ops) > 0


def test_each_process_is_recorded_once(tmp_path: Path) -> None:
    """A shell that a library is in starts a program that none can be brought into."""
    needs.require(["gcc"])
    source = tmp_path / "w.c"
    source.write_text('#include <unistd.h>\nint main(void) { return write(1, "static", 6) != 6; }')
    subprocess.run(["gcc", "-static", source, "-o", tmp_path / "static"], check=True)
    script = (
        "import os, sys; os.write(1, b'first'); os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])"
    )
    words = ["run", "--kernel=calls", "--no-show", "-o", tmp_path / "r", "--"]
    command = [paths.FATHOM, *words, sys.executable, "-c", script, tmp_path / "static"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "firststatic", done.stderr
    recorded = fathom.open(tmp_path / "r.fathom")
    written = recorded.sql(
        "select process, bytes from calls where op = 'write' and bytes in (5, 6) order by start"
    )
    assert [row["bytes"] for row in written.to_pylist()] == [5, 6]
    assert len({row["process"] for row in written.to_pylist()}) == 2
