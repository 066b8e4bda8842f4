"""What an import of another tool's trace takes of the processor: a trace of DFTracer, made here as its files look.

The baseline is json.loads of each line, in a loop: DFTracer's own reader is no part of Fathom's environment.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tools import FATHOM, Row, cost, scratch

EVENTS = 1_000_000
TARGET = 3.0  # times the baseline
START = 1_700_000_000_000_000  # µs since 1970
LOADS = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
# A cycle of calls on one file: its function, and its arguments.
CYCLE: tuple[tuple[str, dict[str, int]], ...] = (
    ("open64", {"flags": 2, "mode": 0}),
    ("write", {"ret": 4096, "count": 4096}),
    ("lseek64", {"ret": 0, "offset": 0, "whence": 0}),
    ("read", {"ret": 4096, "count": 4096}),
    ("pread64", {"ret": 4096, "count": 4096, "offset": 0}),
    ("close", {"ret": 0}),
)


def trace(calls: int) -> Iterator[dict[str, object]]:
    """Events of one process; a file is opened a hundred times, then comes the next."""
    whose = {"cat": "dftracer", "pid": 7, "tid": 7}
    yield {"name": "HH", **whose, "ph": 4, "args": {"name": "n1", "value": "aa"}}
    for at in range(calls):
        name, args = CYCLE[at % len(CYCLE)]
        file = at // (100 * len(CYCLE))
        if at % (100 * len(CYCLE)) == 0:
            known = {"hhash": "aa", "name": f"/data/out/{file}.h5", "value": f"f{file:015x}"}
            yield {"name": "FH", **whose, "ph": 4, "args": known}
        more = {"hhash": "aa", **args, "fhash": f"f{file:015x}"}
        times = {"ts": START + 6 * at, "dur": 5}
        yield {
            "id": at,
            "name": name,
            "cat": "POSIX",
            "type": 3,
            "pid": 7,
            "tid": 7,
            **times,
            "ph": 1,
            "args": more,
        }


def rows(quick: bool) -> list[Row]:
    """One trace: its import, and a loop over its lines."""
    calls = EVENTS // 100 if quick else EVENTS
    with scratch() as directory:
        written = directory / "one.pfw"
        write(written, calls)
        baseline = cost([sys.executable, "-c", LOADS, written]).processor_seconds
        words: list[str | Path] = [FATHOM, "import", "dftracer", written, "-o", directory / "one"]
        took = cost(words).processor_seconds
    what = f"fathom import dftracer: {calls:,} events; json.loads of their lines"
    ratio = took / baseline
    return [Row(what, took, "s", baseline, ratio, f"<= {TARGET:g}x", ratio <= TARGET)]


def write(path: Path, calls: int) -> None:
    """The file of one process."""
    with path.open("w") as file:
        for event in trace(calls):
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
