"""CTF 1.8: a stream for each thread, an event for each entry and exit of a call."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import numpy as np

from fathom.interop.exports import nesting, pieces
from fathom.interop.exports.ctf.metadata import metadata
from fathom.interop.exports.ctf.packets import Stream, Thread, encoded
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
        for ordered_events in nesting.events(pieces.pieces(selected, ops)):
            ordered = _in_time(ordered_events)
            content, at = encoded(ordered)
            time = ordered.time
            for number, first, stop in _streams(ordered):
                if stream is None or stream.thread.stream != number:
                    opened.close()
                    stream = opened.enter_context(Stream(out, uuid, threads[number]))
                times = int(time[first]), int(time[stop - 1])
                stream.packet(content[at[first] : at[stop]], times)
            progress.add(int(ordered_events.ends.sum()))
    return []


def _in_time(ordered_events: nesting.Events) -> nesting.Events:
    """Events of a stream in the order of time: its lanes are put together again."""
    if not ordered_events.lane.any():
        return ordered_events
    return ordered_events.part(
        np.lexsort((ordered_events.time, ordered_events.calls.stream))
    )  # stable


def _streams(ordered_events: nesting.Events) -> Iterator[tuple[int, int, int]]:
    """Each stream, its first event, and the one after its last."""
    begins = np.flatnonzero(np.diff(ordered_events.calls.stream)) + 1
    for first, stop in pairwise([0, *begins.tolist(), len(ordered_events.ends)]):
        if first < stop:
            yield int(ordered_events.calls.stream[first]), first, stop
