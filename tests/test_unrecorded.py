"""Programs that cannot be recorded, or not all of: they do what they do without Fathom, and it is said why, before they
start or on the run's page."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, tables

PROGRAMS = paths.PROGRAMS / "programs"
SOURCES = paths.TESTS / "programs"
ENDED = "select ended, pid from processes order by start"


def run(run: Path, *command: object, **how: Any) -> Any:
    words = [paths.FATHOM, "run", "--no-show", "-o", run, "--", *command]
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=300, check=False, **how
    )


def page(run: Path) -> str:
    return subprocess.run(
        [paths.FATHOM, "show", run, "--all"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    ).stdout


def executables(run: Path) -> list[str]:
    rows = tables.ask(tables.connect(run), "select exe from processes order by start")
    return [Path(exe).name for (exe,) in rows]


@pytest.fixture(scope="module")
def musl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tests/programs/writes.c for musl's C library, whose loader is another."""
    needs.require(["musl-gcc"])
    program = tmp_path_factory.mktemp("musl") / "writes"
    subprocess.run(["musl-gcc", SOURCES / "writes.c", "-o", program], check=True)
    return program


def writing(program: Path, file: Path) -> list[object]:
    return [program, file, 100, 8, "exit"]


def test_a_program_of_another_c_library(musl: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "run.fathom", *writing(musl, tmp_path / "f"))
    assert (done.returncode, done.stdout) == (7, "")
    assert f"{musl} needs /lib/ld-musl-" in done.stderr and "--strace" in done.stderr
    assert "Error" not in done.stderr and (tmp_path / "f").stat().st_size == 800


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_one_that_a_shell_starts(musl: Path, tmp_path: Path, shell: str) -> None:
    """What the shell starts besides is recorded."""
    both = (
        " ".join(map(str, writing(p, tmp_path / p.parent.name)))
        for p in (musl, PROGRAMS / "writes")
    )
    done = run(tmp_path / "run.fathom", shell, "-c", "; ".join(both))
    assert (done.returncode, done.stderr.count("\n")) == (7, 1), done.stderr
    assert (tmp_path / musl.parent.name).stat().st_size == 800
    assert executables(tmp_path / "run.fathom") == ["writes"]


def test_one_that_a_recorded_program_becomes(musl: Path, tmp_path: Path) -> None:
    run_directory = tmp_path / "run.fathom"
    script = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
    done = run(run_directory, paths.PYTHON, "-S", "-c", script, *writing(musl, tmp_path / "f"))
    assert (done.returncode, done.stderr.count("\n")) == (7, 1), done.stderr
    assert (tmp_path / "f").stat().st_size == 800


def test_a_program_in_the_deepest_folder_is_recorded(tmp_path: Path) -> None:
    """The library's path begins at the program's folder."""
    folder = tmp_path.joinpath(*"abcdefghijklmnopqrstuvwxyz")
    folder.mkdir(parents=True)
    shutil.copy(PROGRAMS / "writes", folder)
    for program, cwd in ((folder / "writes", tmp_path), ("./writes", folder)):
        directory = tmp_path / f"{cwd.name}.fathom"
        assert run(directory, program, tmp_path / "f", 9, 8, "exit", cwd=cwd).returncode == 7
        assert executables(directory) == ["writes"]


def test_a_set_user_id_program(tmp_path: Path) -> None:
    needs.require(["root"])
    folder = tmp_path / "open"
    folder.mkdir()
    for path in (folder, *list(tmp_path.parents)[:-2], tmp_path):
        path.chmod(path.stat().st_mode | 0o777)
    program = Path(shutil.copy(PROGRAMS / "writes", folder))
    program.chmod(0o4755)
    assert program.stat().st_mode & stat.S_ISUID
    done = run(folder / "run.fathom", *writing(program, folder / "f"), user=65534, cwd=folder)
    assert done.returncode == 7 and f"{program} runs with other rights" in done.stderr
    done = run(folder / "root.fathom", *writing(program, folder / "f"))
    assert "rights" not in done.stderr, "its owner gets no others"
    assert executables(folder / "root.fathom") == ["writes"]


@pytest.mark.some(1)
@pytest.mark.parametrize("way", ["group", "thread"])
def test_who_ends_by_a_system_call_was_not_killed(tmp_path: Path, way: str) -> None:
    directory = tmp_path / "run.fathom"
    assert run(directory, PROGRAMS / "exits", way, tmp_path / "f").returncode == 4
    connection = tables.connect(directory)
    assert [ended for ended, _ in tables.ask(connection, ENDED)] == ["clean"]
    writes = "select count(*) from calls where op = 'write' and state = 'done'"
    assert tables.ask(connection, writes) == [[100]]
    assert "did not end in order" not in page(directory)


def test_nor_was_its_child(tmp_path: Path) -> None:
    """Its status is to be had from Linux 6.15 on, or while nobody has waited for it."""
    directory = tmp_path / "run.fathom"
    assert run(directory, PROGRAMS / "exits", "child", tmp_path / "f").returncode == 3
    words = [word for ends in directory.glob("streams/*/ends") for word in ends.read_text().split()]
    if len(words) < 3:
        pytest.skip("the watcher came too late, or this kernel did not tell the child's status")
    assert words[2:] == [str(4 << 8)]
    assert [ended for ended, _ in tables.ask(tables.connect(directory), ENDED)] == ["clean"], (
        "its parent made no call"
    )


@pytest.mark.parametrize(("how", "signal"), [("kill", "SIGKILL"), ("abort", "SIGABRT")])
def test_who_was_killed_was(tmp_path: Path, how: str, signal: str) -> None:
    directory = tmp_path / "run.fathom"
    run(directory, PROGRAMS / "writes", tmp_path / "f", 100, 8, how)
    assert [ended for ended, _ in tables.ask(tables.connect(directory), ENDED)] == ["killed"]
    assert f"1 process ended by {signal}" in page(directory)


GO = """package main
// #include <stdio.h>
// static void hi(const char *path) { FILE *f = fopen(path, "w"); fputs("hi", f); fclose(f); }
import "C"
import "os"
func main() { C.hi(C.CString(os.Args[1])); os.WriteFile(os.Args[1] + ".go", make([]byte, 1 << 20), 0644) }
"""


def go_is_said(program: Path, tmp_path: Path) -> None:
    directory = tmp_path / "run.fathom"
    done = run(directory, program, tmp_path / "f")
    assert done.returncode == 0 and "is a Go program" in done.stderr
    text = page(directory)
    assert "note: Go: the program makes system calls of its own" in text
    assert "system calls that nobody records" in " ".join(text.split())
    assert "calls that were seen recorded in full, 0 in counters only" in text
    assert "did not end in order" not in text
    connection = tables.connect(directory)
    assert tables.ask(connection, f"select count(*) from files where path = '{tmp_path}/f'") == [
        [1]
    ]


def test_a_program_with_the_note_of_go(tmp_path: Path) -> None:
    go_is_said(PROGRAMS / "go_note", tmp_path)


@pytest.mark.full
def test_go_with_c(tmp_path: Path) -> None:
    needs.require(["go"])
    (tmp_path / "main.go").write_text(GO)
    settings = {"CGO_ENABLED": "1", "GO111MODULE": "off"}
    build = ["go", "build", "-o", "program", "main.go"]
    subprocess.run(build, cwd=tmp_path, env=os.environ | settings, check=True, timeout=600)
    go_is_said(tmp_path / "program", tmp_path)


def test_an_io_uring_of_its_own(tmp_path: Path) -> None:
    needs.require(["io_uring"])
    directory = tmp_path / "run.fathom"
    assert run(directory, PROGRAMS / "own_ring", tmp_path / "f").returncode == 0
    assert (tmp_path / "f").read_bytes() == b"hello"
    marks = tables.ask(tables.connect(directory), "select detail from marks where kind = 'note'")
    assert len(marks) == 1 and marks[0][0].startswith(
        "io_uring: the program drives a ring by itself"
    )
    assert "io_uring: the program drives a ring by itself" in page(directory)


def test_a_ring_of_liburing_is_none_of_its_own(tmp_path: Path) -> None:
    needs.require(["io_uring", "library:uring"])
    directory = tmp_path / "run.fathom"
    assert run(directory, PROGRAMS / "aio_uring", tmp_path / "f").returncode == 0
    assert "drives a ring by itself" not in page(directory)


COUNTED = """select coalesce(sum(calls), 0) from counters
    where op = 'pwrite' and file in (select file from files where path like '%/f')"""


@pytest.mark.some(3)
# Of bash: KiB. Below 4 KiB a chunk that tells of its process has no room.
@pytest.mark.parametrize("limit", [4, 10, 16, 32, 64, 100, 1000, 4000])
@pytest.mark.parametrize("threads", ["writes"])
def test_a_limit_on_the_size_of_files(tmp_path: Path, limit: int, threads: str) -> None:
    """No call is lost: rows as many as fit, the others counted; and it is said why."""
    count, directory = 300_000, tmp_path / "run.fathom"
    command = f"ulimit -f {limit}; exec {PROGRAMS / threads} {tmp_path / 'f'} {count} 0 exit"
    done = run(directory, "bash", "-c", command)
    assert done.returncode == 7, done.stderr
    assert max(path.stat().st_size for path in directory.glob("streams/*/*.fts")) <= limit << 10
    connection = tables.connect(directory)
    assert tables.ask(connection, COUNTED) == [[count]]
    assert [ended for ended, _ in tables.ask(connection, ENDED)] == ["clean"]
    assert tables.ask(connection, "select bool_and(complete) from streams") == [[True]]
    marks = tables.ask(connection, "select kind, detail from marks")
    text = page(directory)
    if limit < 4000:
        assert [kind for kind, _ in marks] == ["budget"] and "ulimit -f" in marks[0][1]
        assert "in full (100 %)" not in text
        assert "the limit on the size of files (ulimit -f) allows no more" in text
    assert "did not end in order" not in text and "damaged" not in text


def test_no_file_may_be_written_at_all(tmp_path: Path) -> None:
    """The program is fine; that nothing is known of it is said."""
    directory = tmp_path / "run.fathom"
    command = f"ulimit -f 0; exec {PROGRAMS / 'writes'} {tmp_path / 'f'} 1000 0 exit"
    assert run(directory, "bash", "-c", command).returncode == 7
    assert "empty: nothing of its process is left" in page(directory)


def test_a_run_without_a_process(tmp_path: Path) -> None:
    directory = tmp_path / "run.fathom"
    assert run(directory, "sh", "-c", f"echo x > {tmp_path}/f").returncode == 0
    text = page(directory)
    assert "1970" not in text and "ran 0 s" not in text and "0 processes" in text
    assert "sh is a shell or launcher, whose own calls are not recorded" in text
    assert "no call was recorded" in text and "100 %" not in text
