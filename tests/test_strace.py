"""fathom run --strace, fathom import strace: programs that no library can be brought into, by what strace saw."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, tables

SOURCES = paths.TESTS / "programs"
DATA = "c.kind in ('read', 'write')"
ROWS = f"""
    select op, regexp_replace(coalesce(f.path, ''), '.*/|[0-9]', '', 'g'), size, file_offset, bytes, error
    from calls c left join files f using (file) where layer = 'posix' and {DATA}"""

WAITS = r"""
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
static int fd;
static void bye(int number) { (void)number; write(fd, "bye", 3); _exit(7); }
int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = bye};
	sigaction(SIGTERM, &action, 0);
	fd = open(argv[1], O_WRONLY | O_CREAT, 0644);
	if (write(fd, "ready", 5) != 5)
		return 1;
	if (argc > 2)
		kill(getpid(), SIGKILL);
	for (;;)
		pause();
}
"""

LOG = """\
100 1700000000.000100 execve("/bin/app", ["app", "-x"], 0x7ffd /* 2 vars */) = 0 <0.000400>
100 1700000000.001000 openat(AT_FDCWD</data>, "in", O_RDONLY) = 3</data/in> <0.000050>
100 1700000000.002000 read(3</data/in>,  <unfinished ...>
101 1700000000.002100 unlink("/data/old") = -1 ENOENT (No such file or directory) <0.000020>
100 1700000000.003000 <... read resumed>"", 4096) = 4096 <0.001000>
100 1700000000.004000 read(3</data/in>, "", 4096) = 4096 <0.000100>
100 1700000000.005000 io_uring_enter(5<anon_inode:[io_uring]>, 1, 1, 0, NULL, 8) = 1 <0.1>
100 1700000000.006000 close(3</da"""


@pytest.fixture(autouse=True)
def _strace() -> None:
    needs.require(["strace", "gcc"])


def link(place: Path, name: str, source: Path, *words: str) -> Path:
    program = place / name
    command = ["gcc", "-g", "-O1", "-w", *words, f"-I{SOURCES}", source, "-o", program, "-lpthread"]
    subprocess.run([str(word) for word in command], check=True)
    return program


def fathom(*words: object, **more: Any) -> Any:
    command = [str(word) for word in (paths.FATHOM, *words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)


def recorded(place: Path, name: str, program: Path, *options: str) -> Any:
    (place / name).mkdir()
    run = place / f"{name}.fathom"
    done = fathom("run", "--no-show", *options, "-o", run, "--", program, place / name)
    assert done.returncode == 0, done.stderr
    return tables.connect(run)


@pytest.mark.parametrize("program", ["data_calls", "positions"])
def test_a_static_program_has_the_calls_of_its_dynamic_form(tmp_path: Path, program: str) -> None:
    source = SOURCES / f"{program}.c"
    preload = recorded(tmp_path, "preload", link(tmp_path, "dynamic", source))
    by_strace = recorded(tmp_path, "strace", link(tmp_path, "bare", source, "-static"), "--strace")
    want, have = ([tuple(row) for row in c.execute(ROWS).fetchall()] for c in (preload, by_strace))
    # For strace a system call by its number is one like all others.
    want = [("pwrite", *row[1:]) if row[0] == "syscall_write" else row for row in want]
    without_offset = [Counter((*row[:3], *row[4:]) for row in rows) for rows in (want, have)]
    assert without_offset[0] == without_offset[1]
    known = [Counter(row for row in rows if row[3] is not None) for rows in (want, have)]
    assert not known[0] - known[1], "an offset that preload knew is another"
    processes = "select count(distinct pid) from processes"
    assert preload.execute(processes).fetchall() == by_strace.execute(processes).fetchall()


def test_killed_and_signalled(tmp_path: Path) -> None:
    source = tmp_path / "waits.c"
    source.write_text(WAITS)
    program = link(tmp_path, "waits", source, "-static")
    done = fathom(
        "run", "--strace", "--no-show", "-o", tmp_path / "a", "--", program, "f", "x", cwd=tmp_path
    )
    assert done.returncode == -signal.SIGKILL
    written = "select op, bytes from calls where kind = 'write' order by start"
    assert tables.connect(tmp_path / "a.fathom").execute(written).fetchall() == [("write", 5)]
    command = [
        paths.FATHOM,
        "run",
        "--strace",
        "--no-show",
        "-o",
        tmp_path / "b",
        "--",
        program,
        "g",
    ]
    running = subprocess.Popen([str(word) for word in command], cwd=tmp_path)
    try:
        while not (tmp_path / "g").exists() or (tmp_path / "g").read_bytes() != b"ready":
            assert running.poll() is None
            time.sleep(0.02)
        running.terminate()
        assert running.wait(60) == 7
    finally:
        running.kill()
    rows = tables.connect(tmp_path / "b.fathom").execute(written).fetchall()
    assert rows == [("write", 5), ("write", 3)]


def test_a_log_becomes_a_run(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(LOG)
    done = fathom("import", "strace", log, "-o", tmp_path / "app")
    assert done.returncode == 0, done.stderr
    run = tmp_path / "app.fathom"
    rows = tables.connect(run).execute(
        "select op, path, file_offset, bytes, duration, error from calls left join files using (file) order by start"
    )
    assert rows.fetchall() == [
        ("open", "/data/in", None, None, 50_000, 0),
        ("read", "/data/in", 0, 4096, 1_000_000, 0),
        ("unlink", "/data/old", None, None, 20_000, 2),
        ("read", "/data/in", 4096, 4096, 100_000, 0),
    ]
    manifest = json.loads((run / "run.json").read_text())
    assert (manifest["recorder"], manifest["program"], manifest["command"]) == (
        "strace",
        "app",
        ["app", "-x"],
    )
    shown = fathom("show", run, "--all")
    assert shown.returncode == 0, shown.stderr
    assert "/data/in" in shown.stdout
    manifest = json.loads((run / "run.json").read_text())
    assert {"strace"} == {cut["kind"] for cut in manifest["cut"]}
    assert any("io_uring" in cut["detail"] for cut in manifest["cut"])
    assert any("end within a line" in cut["detail"] for cut in manifest["cut"])
    again = fathom("import", "strace", log, "-o", tmp_path / "app")
    assert again.returncode == 2
    assert "exists" in again.stderr


def traced(place: Path, *options: str) -> Path:
    """What strace writes of cat, with these options."""
    log, file = place / "cat.log", place / "in"
    file.write_text("12345")
    words = ["strace", *options, "-o", str(log), "cat", str(file)]
    subprocess.run(words, check=True, capture_output=True)
    return log


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "options",
    [
        "-ttt",
        "-ttt -r",
        "-ttt -n",
        "-ttt -i",
        "-ttt -Y",
        "-ttt -yy",
        "-ttt -Y -n -i -r",
        "--absolute-timestamps=unix,ns",
    ],
)
def test_options_that_put_words_before_a_call(tmp_path: Path, options: str) -> None:
    log = traced(tmp_path, "-f", "-T", "-y", *options.split())
    done = fathom("import", "strace", log, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("fathom: bytes ") and "refused" not in done.stderr
    of = f"from calls join files using (file) where path = '{tmp_path}/in'"
    rows = tables.connect(tmp_path / "run.fathom").execute(f"select op, bytes {of} order by start")
    assert [row for row in rows.fetchall() if row[0] in ("open", "read", "close")] == [
        ("open", None),
        ("read", 5),
        ("read", 0),
        ("close", None),
    ]


@pytest.mark.parametrize(
    ("options", "within"),
    [
        ("-Y", ""),
        ("--decode-pids=all", ""),
        ("--decode-pids=all", "unshare --pid --fork"),
        ("--decode-pids=pidns", "unshare --pid --fork"),
    ],
)
def test_whose_child_a_process_is(tmp_path: Path, options: str, within: str) -> None:
    """`clone() = 12<sh>`, and `= 4 /* 12 in strace's PID NS */`: what a child has from its parent is known."""
    needs.require(["namespaces"] if within else [])
    log = tmp_path / "sh.log"
    (tmp_path / "in").write_text("12345")
    script = "cat in | cat > copy; (cat copy; true) | cat > again"
    words = ["strace", "-f", "-ttt", "-T", "-y", options, "-o", str(log), *within.split()]
    subprocess.run([*words, "sh", "-c", script], check=True, cwd=tmp_path)
    done = fathom("import", "strace", log, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    connection = tables.connect(tmp_path / "run.fathom")
    rows = connection.execute(f"""
        select command[1], op, path[{len(str(tmp_path)) + 2}:], file_offset, bytes
        from calls join files using (file) join processes using (process)
        where path like '{tmp_path}/%' and op in ('read', 'write') and bytes > 0 order by calls.start""")
    assert rows.fetchall() == [
        ("cat", "read", "in", 0, 5),
        ("cat", "write", "copy", 0, 5),
        ("cat", "read", "copy", 0, 5),
        ("cat", "write", "again", 0, 5),
    ]
    roots = connection.execute("select distinct pid from processes where parent is null").fetchall()
    assert roots == [(int(log.read_bytes().split()[0].partition(b"<")[0]),)]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("-f -r -T -y", "strace -r"),
        ("-f --relative-timestamps=ns -y", "strace -r"),
        ("-f -t -T -y", "strace -t"),
        ("-f -tt -T -y", "strace -t"),
        ("-f --absolute-timestamps=format:unix -T", "whole seconds"),
        ("-f -c", "a summary"),
        ("-f -y", "no line of strace with a time"),
    ],
)
def test_times_that_say_no_moment_are_refused(tmp_path: Path, options: str, why: str) -> None:
    log = traced(tmp_path, *options.split())
    done = fathom("import", "strace", log, "-o", tmp_path / "run")
    assert done.returncode == 3
    assert done.stderr.startswith(f"fathom-engine: {log}: ") and done.stderr.count("\n") == 1
    assert why in done.stderr and "-ttt" in done.stderr
    assert not (tmp_path / "run.fathom").exists()


@pytest.mark.parametrize(
    "content", [b"read(3) = 5\n", b"\x7fELF\x00\xff\n", b"1.5 getpid() = 3\n", b""]
)
def test_what_is_no_log_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    log = tmp_path / "log"
    log.write_bytes(content)
    done = fathom("import", "strace", log, "-o", tmp_path / "run")
    assert done.returncode == 3
    assert str(log) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [log]


@pytest.mark.parametrize(
    "words", [["--layers", "mpiio"], ["--level", "file"], ["--agent"], ["--files", "*.nc"]]
)
def test_what_needs_the_library_is_refused(tmp_path: Path, words: list[str]) -> None:
    done = fathom("run", "--strace", *words, "--", "true", cwd=tmp_path)
    assert done.returncode == 125
    assert words[0] in done.stderr
    assert not list(tmp_path.iterdir())


def shown(log: Path, cache: Path) -> Any:
    return fathom("show", log, env={**os.environ, "XDG_CACHE_HOME": str(cache)})


@pytest.mark.parametrize("options", ["-f -ttt -T -y", "-ttt -T -y", "-f -ttt -T -r -n -i -Y"])
def test_a_log_is_shown_as_a_run_is(tmp_path: Path, options: str) -> None:
    done = shown(traced(tmp_path, *options.split()), tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("cat.log: cat\n")


def test_without_durations_the_time_is_not_known(tmp_path: Path) -> None:
    done = shown(traced(tmp_path, "-f", "-ttt", "-y"), tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    for question in ("I/O the problem?", "Which operation?"):
        assert re.search(rf"{re.escape(question)} +not to be told: no call of", done.stdout)
    assert re.search(r"Which library\? +POSIX; no MPI-IO", done.stdout)


@pytest.mark.parametrize("named", ["logs", "logs/cat"])
def test_logs_of_threads_are_shown_together(tmp_path: Path, named: str) -> None:
    (tmp_path / "logs").mkdir()
    words = ["strace", "-ff", "-ttt", "-T", "-y", "-o", str(tmp_path / "logs/cat")]
    subprocess.run([*words, "sh", "-c", "cat /dev/null; true"], check=True)
    assert len(list((tmp_path / "logs").iterdir())) == 2
    done = shown(tmp_path / named, tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert "2 processes" in done.stdout


@pytest.mark.parametrize(
    ("options", "why"), [("-f -r", "strace -r"), ("-f -tt", "strace -t"), ("-f -c", "a summary")]
)
def test_a_log_to_show_is_refused_for_its_reason(tmp_path: Path, options: str, why: str) -> None:
    done = shown(traced(tmp_path, *options.split()), tmp_path / "cache")
    assert done.returncode == 3
    assert why in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["a text\n", "7 files = 5\n", "f(x) == y\n", "def f(x): return 1\n"]
)
def test_other_text_is_no_log(tmp_path: Path, text: str) -> None:
    (tmp_path / "text").write_text(text)
    assert "not a run in one file" in shown(tmp_path / "text", tmp_path / "cache").stderr
