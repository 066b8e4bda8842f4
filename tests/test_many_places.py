"""Ten million calls from a hundred thousand places, by threads that come and go: no wrong line, and bounded memory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from harness import needs, paths, tables

PLACES, FUNCTIONS, THREADS, ROUNDS = 100_000, 100, 64, 100
#: Of a process's table; the places that find no room have no line.
TABLE = 65_536
#: Beside what the program takes itself: the ring, and a MiB for each of the threads that are there at once.
MEMORY = (64 + THREADS + 64) << 20

HEAD = """#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#define PLACE pwrite(file, "x", 1, __LINE__);
"""
TAIL = """
static void *work(void *which)
{
	for (int i = 0; i < FUNCTIONS; i++)
		all[(i + (long)which) % FUNCTIONS](file);
	return NULL;
}
int main(void)
{
	pthread_t thread[THREADS];
	file = open("out", O_CREAT | O_WRONLY, 0600);
	for (int round = 0; round < ROUNDS; round += THREADS) {
		const int threads = ROUNDS - round < THREADS ? ROUNDS - round : THREADS;
		for (long i = 0; i < threads; i++)
			pthread_create(&thread[i], NULL, work, (void *)i);
		for (int i = 0; i < threads; i++)
			pthread_join(thread[i], NULL);
	}
}
"""


def source() -> str:
    places = "PLACE\n" * (PLACES // FUNCTIONS)
    functions = "".join(f"static void f{i}(int file) {{\n{places}}}\n" for i in range(FUNCTIONS))
    table = ", ".join(f"f{i}" for i in range(FUNCTIONS))
    numbers = f"enum {{ FUNCTIONS = {FUNCTIONS}, THREADS = {THREADS}, ROUNDS = {ROUNDS} }};\n"
    return f"{HEAD}{numbers}static int file;\n{functions}static void (*const all[])(int) = {{{table}}};\n{TAIL}"


def peak(command: list[str | Path], place: Path) -> int:
    """The largest resident memory of the command's processes, in bytes."""
    started = subprocess.Popen(command, cwd=place)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    assert started.returncode == 0
    return used.ru_maxrss << 10


@pytest.mark.full
def test_no_line_is_wrong(tmp_path: Path) -> None:
    needs.require(["gcc"])
    (tmp_path / "places.c").write_text(source())
    command = ["gcc", "-g", "-O1", "-pthread", "-o", "places", "places.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    program: list[str | Path] = [tmp_path / "places"]
    recorder: list[str | Path] = [paths.FATHOM, "run", "--no-show", "--budget", "4G", "-o", "run"]
    bare = peak(program, tmp_path)
    assert peak([*recorder, "--", *program], tmp_path) < bare + MEMORY
    tables.pack(tmp_path / "run.fathom")
    [[calls, places, wrong, unknown]] = tables.ask(
        tables.opened(tmp_path / "run.fathom"),
        "select count(*), count(distinct line), count(*) filter (line <> file_offset), count(*) filter (line is null)"
        " from calls left join sites using (site) where op like 'pwrite%'",
    )
    assert (calls, wrong) == (PLACES * ROUNDS, 0)
    assert places > 0.8 * TABLE  # some are there twice: with who called them, and without
    assert places + unknown // ROUNDS >= PLACES
