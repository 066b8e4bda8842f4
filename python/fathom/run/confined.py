"""SQL of a user in a process of its own, with limits that the system keeps: a database counts only what it asks memory
for itself, and one value can be as large as the machine.

`python -m fathom.run.confined` is that process: it reads a Question as JSON and writes the rows as an Arrow stream.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from fathom.errors import DamagedRun, FathomError, UsageError
from fathom.run import database, paths
from fathom.run.store import Run

#: MiB that a process has beside what its database may use: the program itself, and the answer once more.
BESIDE = 1024
#: How the process ends where it has no rows.
WRONG, DAMAGED, LARGE = 2, 3, 4
TOO_LARGE = "it needs more memory than {} MiB, or its answer has more than {} MiB; ask for less"
TOTAL = b"total"
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Question:
    """A statement on a run, and what its process may have."""

    run: str
    statement: str
    with_runtime: bool
    rows: int  # that are wanted
    memory: int  # MiB of the database
    answer: int  # MiB of the rows


class TooLarge(FathomError):
    """A limit has ended it."""


class Process:
    """One that works on a question."""

    def __init__(self, question: Question) -> None:
        """Starts it."""
        command = paths.module("fathom.run.confined")
        self._question, pipe = question, subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)

    def interrupt(self) -> None:
        """Ends it, whatever it is at."""
        self._process.kill()

    def rows(self) -> tuple[pa.Table, int]:
        """The first rows, and how many there are. Errors: UsageError, DamagedRun, TooLarge."""
        asked = self._question
        with self._process:
            rows, error = self._process.communicate(json.dumps(asdict(asked)).encode())
        line = error.decode(errors="replace").strip()
        match self._process.returncode:
            case 0:
                table = pa.ipc.open_stream(rows).read_all()
                return table.replace_schema_metadata(), int(table.schema.metadata[TOTAL])
            case status if status == WRONG:
                raise UsageError(line)
            case status if status == DAMAGED:
                raise DamagedRun(line)
        raise TooLarge(TOO_LARGE.format(asked.memory, asked.answer))


@contextmanager
def limited(mebibytes: int) -> Iterator[None]:
    """This process may have so much memory, as the system counts it. Errors: MemoryError, or the database's own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    known = [one for one in (mebibytes << 20, soft, hard) if one != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(known), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def machine() -> int:
    """MiB of this machine, or of the part of it that this process may use."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(OSError, ValueError, IndexError):
        group = Path("/proc/self/cgroup").read_text().split("::")[1].strip()
        sizes.append(int(Path(f"/sys/fs/cgroup{group}/memory.max").read_text()))
    return min(sizes) >> 20


def _prepare() -> None:
    """It ends with its parent, leaves no image, and of all processes is the first to go where memory is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _rows(question: Question) -> pa.Table:
    """The first rows; how many there are is said beside them."""
    run = Run(Path(question.run), f"{question.memory} MiB", question.with_runtime)
    database.reading(run.connection, question.statement)
    of = f"from (\n{question.statement}\n)"
    try:
        rows = run.sql(f"{of} limit {question.rows + 1}")
    except UsageError as error:  # of its lines the first is ours
        text = re.sub(r"\bLINE (\d+):", lambda line: f"LINE {int(line[1]) - 1}:", str(error))
        raise UsageError(text) from error.__cause__
    total = rows.num_rows
    if total > question.rows:
        total = run.sql(f"select count(*) as n {of}")["n"][0].as_py()
    return rows.slice(0, question.rows).replace_schema_metadata({TOTAL: str(total)})


def _answer(question: Question) -> int:
    """Writes the rows; the exit status."""
    try:
        with limited(min(question.memory + BESIDE, machine() * 9 // 10)):
            rows = _rows(question)
            if rows.nbytes > question.answer << 20:
                return LARGE
            with pa.ipc.new_stream(sys.stdout.buffer, rows.schema) as writer:
                writer.write_table(rows)
            sys.stdout.flush()
    except MemoryError:
        return LARGE
    except FathomError as error:
        if isinstance(error.__cause__, duckdb.OutOfMemoryException):
            return LARGE
        print(error, file=sys.stderr)
        return WRONG if isinstance(error, UsageError) else DAMAGED
    return 0


if __name__ == "__main__":
    _prepare()
    sys.exit(_answer(Question(**json.load(sys.stdin))))
