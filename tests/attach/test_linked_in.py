"""Libraries that were linked into a running program: each call of theirs between attach and detach, none that a library
makes of itself, the program's code as it was afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fathom.run import elf
from harness import invariants, needs, tables
from harness.attached import works

HERE = Path(__file__).parent
MPICH = Path("/usr/lib/x86_64-linux-gnu/libmpich.a")


def build(library: str, place: Path) -> Path:
    """With the archive, but for libc dynamic."""
    program = place / f"linked_in_{library}"
    source = HERE / f"linked_in_{library}.c"
    if library == "hdf5":
        needs.require(["h5cc"])
        words: list[object] = ["h5cc", "-O2", "-o", program, source]
    else:
        needs.require([*needs.of_mpi("mpich")])
        include = "-I/usr/include/x86_64-linux-gnu/mpich"
        below = ["-lucp", "-lucs", "-luct", "-lhwloc", "-lm", "-lpthread"]
        words = ["cc", "-O2", include, "-o", program, source, MPICH, *below]
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, cwd=place
    )
    assert done.returncode == 0, done.stderr
    return program


class Counting:
    """One of tests/attach/linked_in_*.c, running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.pid = process, process.pid

    def more(self) -> tuple[int, int]:
        """Makes it do some; how often it has done both so far."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("x")
        self.process.stdin.flush()
        one, other = self.process.stdout.readline().split()
        return int(one), int(other)

    def code(self, program: Path) -> bytes:
        """Its instructions, as they are in memory."""
        text = next(section for section in elf.read(program).sections if section.name == ".text")  # type: ignore[union-attr]
        maps = Path(f"/proc/{self.pid}/maps").read_text().splitlines()
        begin = next(int(line.split("-")[0], 16) for line in maps if line.endswith(str(program)))
        with Path(f"/proc/{self.pid}/mem").open("rb") as memory:
            memory.seek(begin + text.offset)
            return memory.read(text.size)


@contextmanager
def counting(program: Path) -> Iterator[Counting]:
    process = subprocess.Popen(
        [program, program.with_suffix(".out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Counting(process)
        process.communicate(timeout=300)
        assert process.returncode == 7
    finally:
        process.kill()


def calls(run: Path, layers: str) -> dict[str, int]:
    connection = tables.connect(run)
    assert not invariants.broken(connection, finished=False, whole=True)
    rows = tables.ask(
        connection, f"select op, count(*) from calls where layer in ({layers}) group by all"
    )
    return dict(rows)


#: Functions of the two numbers that the program says, and how often it makes others in a round.
FUNCTIONS: dict[str, tuple[tuple[str, str], dict[str, int], str]] = {
    "hdf5": (("H5Dcreate2", "H5Dwrite"), {"H5Dclose": 5, "H5Fflush": 1}, "'hdf5'"),
    "mpi": (("MPI_Barrier", "MPI_File_write_at_all"), {}, "'mpi', 'mpiio'"),
}


@pytest.mark.parametrize("library", ["hdf5", pytest.param("mpi", marks=pytest.mark.full)])
def test_each_call_of_a_library_that_was_linked_in(tmp_path: Path, library: str) -> None:
    (one, other), round_, layers = FUNCTIONS[library]
    program = build(library, tmp_path)
    with counting(program) as running:
        running.more()
        bare = running.code(program)
        for attempt in range(2):
            before = running.more()
            works(tmp_path, "attach", running.pid, "--layers", "+mpi", "-o", f"run{attempt}")
            assert running.code(program) != bare
            rounds = [running.more() for _ in range(3)]
            works(tmp_path, "detach", f"run{attempt}")
            assert running.code(program) == bare
            after = rounds[-1]
            expected = {name: count * len(rounds) for name, count in round_.items()}
            expected |= {one: after[0] - before[0], other: after[1] - before[1]}
            assert calls(tmp_path / f"run{attempt}.fathom", layers) == expected
        running.more()


def test_bytes_and_parents_of_what_was_linked_in(tmp_path: Path) -> None:
    """As with a shared HDF5: what a call moved, on which dataset, and the system calls inside it."""
    program = build("hdf5", tmp_path)
    with counting(program) as running:
        running.more()
        works(tmp_path, "attach", running.pid, "-o", "run")
        running.more()
        works(tmp_path, "detach", "run")
    connection = tables.connect(tmp_path / "run.fathom")
    rows: Any = tables.ask(
        connection, "select distinct size, bytes from calls where op = 'H5Dwrite'"
    )
    assert rows == [[128, 128]]
    inner = """select count(*) from calls p join calls h on p.parent = h.id
        where p.op = 'pwrite' and h.layer = 'hdf5'"""
    assert tables.ask(connection, inner) != [[0]]
