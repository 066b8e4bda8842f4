"""What `--by loader` says in sentences: of waits, seen or not, of workers that decode, of where they may run."""

from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from schema import write_run

SECOND = 10**9


def written(
    tmp_path: Path,
    consumer: dict[str, Any],
    worker: dict[str, Any],
    seconds: dict[str, float],
    workers: tuple[int, ...] = (1, 2),
) -> Path:
    """A consumer and two workers, ten seconds long. `seconds`: of each worker's reads of files (`io`), and of reads of
    their pipe by the consumer's main thread and by another (`main`, `thread`)."""

    def call(process: int, file: int, kind: str, time: float, **more: Any) -> dict[str, Any]:
        return {
            "process": process, "file": file, "layer": "posix", "op": kind, "kind": kind, "calls": 1, "bytes": 8,
            "thread_class": "main", "time": int(time * SECOND), **more,
        }  # fmt: skip

    return write_run(
        tmp_path / "fed.fathom",
        runs=[{"name": "fed", "duration": 10 * SECOND}],
        nodes=[{"node": 0, "host": "n", "processors": 4}],
        processes=[
            {"process": 0, "stop": 10 * SECOND, **consumer},
            *({"process": n, "parent": 0, "stop": 10 * SECOND, **worker} for n in workers),
        ],
        files=[
            {"file": 0, "kind": "regular", "path": "/d/f"},
            {"file": 1, "kind": "fifo", "path": "pipe:[1]"},
        ],
        counters=[
            call(0, 1, "read", seconds.get("main", 0)),
            call(0, 1, "read", seconds.get("thread", 0), thread_class="other"),
            *(call(n, 1, "write", 0) for n in workers),
            *(call(n, 0, "read", seconds["io"]) for n in workers),
        ],
    )


def used(seconds: float, waited: float = 0, **more: Any) -> dict[str, Any]:
    return {"processor_time": int(seconds * SECOND), "processor_wait": int(waited * SECOND), **more}


@pytest.mark.parametrize(
    ("consumer", "worker", "seconds", "says"),
    [
        (used(1), used(1), {"io": 8, "main": 9}, "process 0 waited 9 s of 10 s (90 %) for its 2 workers"),
        (used(1), used(1), {"io": 8, "thread": 9}, "the main one did nothing for 9 s of 10 s (90 %)"),
        # A thread that waits says nothing of a main one that computes.
        (used(8), used(1), {"io": 8, "thread": 9}, "the main one did nothing for 2 s of 10 s (20 %)"),
        (used(1), used(1), {"io": 8}, "how long it waited was not seen: unknown are 90 %"),
        ({}, {}, {"io": 8, "main": 9}, "nobody read their processor time"),
        (used(1), used(1), {"io": 8, "main": 9}, "its workers are in I/O for 80 % of their time"),
        (used(1), used(9), {"io": 1, "main": 9}, "its workers compute (decode, unpack) for 90 % of their time"),
        (
            used(1), used(4, 4, allowed="3"), {"io": 1, "main": 9},
            "may all run on processor 3 only: they queued for it 40 % of their time",
        ),
    ],
)  # fmt: skip
def test_a_sentence(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    consumer: dict[str, Any],
    worker: dict[str, Any],
    seconds: dict[str, float],
    says: str,
) -> None:
    run = written(tmp_path, consumer, worker, seconds)
    assert main(["show", str(run), "--by", "loader"]) == 0
    assert says in " ".join(capsys.readouterr().out.split())


def test_a_program_that_answers_once_is_no_worker(tmp_path: Path) -> None:
    """As git waits for the name of a pack."""
    run = written(tmp_path, used(1), used(1), {"io": 8, "main": 9}, workers=(1,))
    assert fathom.open(run).sql("from loader_workers()").num_rows == 0
