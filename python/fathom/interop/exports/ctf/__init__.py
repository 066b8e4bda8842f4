"""CTF 1.8: a stream for each thread, an event for each entry and exit of a call."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import numpy as np

from fathom.interop.exports import nesting, pieces
from fathom.interop.exports.ctf.metadata import metadata
from fathom.interop.exports.ctf.packets import Stream, Thread
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected

THREADS = """
select stream, node, process, pid, tid, rank from streams join processes using (process)
where stream in (select stream from calls where {where})"""
FILES = "select file, path from files where file in (select file from calls where {where}) order by file"


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    run, uuid = selected.run, uuid4()
    ops = pieces.operations(selected)
    started = selected.started - selected.shift
    files = run.sql(FILES.format(where=selected.where))
    paths = zip(files["file"].to_pylist(), files["path"].to_pylist(), strict=True)
    names = (f"{op.layer}:{op.op}" for op in ops)
    (out / "metadata").write_text(metadata(run.name, uuid, started, paths, names), encoding="ascii")
    (out / "index").mkdir()
    rows = run.sql(THREADS.format(where=selected.where)).to_pylist()
    threads = {row["stream"]: Thread(**row) for row in rows}
    with ExitStack() as opened:
        stream: Stream | None = None
        for found in nesting.events(pieces.pieces(selected, ops)):
            for one in _streams(found):
                number = int(one.calls.stream[0])
                if stream is None or stream.thread.stream != number:
                    opened.close()
                    stream = opened.enter_context(Stream(out, uuid, threads[number]))
                stream.packet(one)
            progress.add(int(found.ends.sum()))
    return []


def _streams(found: nesting.Events) -> Iterator[nesting.Events]:
    """Events stream by stream, in the order of time: lanes are put together again."""
    begins = np.flatnonzero(np.diff(found.calls.stream)) + 1
    edges = [0, *begins.tolist(), len(found.ends)]
    for first, stop in pairwise(edges):
        if first == stop:
            continue
        part = found.part(slice(first, stop))
        if part.lane.any():
            part = part.part(np.argsort(part.time, kind="stable"))
        yield part
