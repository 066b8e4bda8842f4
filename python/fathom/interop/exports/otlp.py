"""OpenTelemetry's traces as lines of JSON: each a request of OTLP, which the Collector's `otlpjsonfile` receiver reads.
(OTLP 1.5, opentelemetry.io/docs/specs/otlp: ids in hexadecimal, whole numbers of 64 bits as text)"""

import errno
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import fathom
from fathom.interop.exports import pieces
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected

#: Spans of a line: a few hundred kilobytes, as exporters send at once.
AT_ONCE = 1000
INTERNAL, ERROR = 1, 2  # kind of a span; its status
SYSTEM = ("posix", "stdio", "aio")  # layers whose errors are the system's
PROCESSES = """
    select stream, process, tid, pid, rank, host, exe, parse_filename(coalesce(exe, command[1], '')) as name
    from streams join processes using (process) join nodes using (node)"""


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    ops = pieces.operations(selected)
    known = Known(selected, list(ops))
    with out.open("x", encoding="ascii", newline="\n") as file:
        for calls in pieces.pieces(selected, ops):
            known.files(calls)
            for part in _parts(calls):
                file.write(json.dumps(known.request(part), separators=(",", ":")) + "\n")
                progress.add(len(part))
    return []


def _parts(calls: pieces.Calls) -> Iterator[pieces.Calls]:
    """Those of a thread, as many as one line has."""
    new = np.flatnonzero(calls.stream[1:] != calls.stream[:-1]) + 1
    for first, last in zip([0, *new], [*new, len(calls)], strict=True):
        for begin in range(int(first), int(last), AT_ONCE):
            yield calls.take(slice(begin, min(begin + AT_ONCE, int(last))))


class Known:
    """What calls refer to."""

    def __init__(self, selected: Selected, ops: list[pieces.Op]) -> None:
        self._selected, self._ops = selected, ops
        self._run = str(selected.run.manifest.get("id"))
        self._zero = selected.started - selected.shift
        self._streams = {row["stream"]: row for row in selected.run.sql(PROCESSES).to_pylist()}
        self._paths: dict[int, str] = {}

    def files(self, calls: pieces.Calls) -> None:
        """Asks for the paths of their files."""
        new = {int(one) for one in np.unique(calls.file)} - {*self._paths, pieces.NO_FILE}
        if not new:
            return
        rows = self._selected.run.sql(
            "select file, path from files where list_contains($files, file)", files=sorted(new)
        )
        self._paths |= zip(rows["file"].to_pylist(), rows["path"].to_pylist(), strict=True)

    def request(self, calls: pieces.Calls) -> dict[str, Any]:
        """Calls of one thread as a request; a trace is a process."""
        of = self._streams[int(calls.stream[0])]
        trace = hashlib.sha256(f"{self._run} {of['process']}".encode()).hexdigest()[:32]
        about = {
            "service.name": of["name"],
            "host.name": of["host"],
            "process.pid": of["pid"],
            "process.executable.path": of["exe"],
            "mpi.rank": of["rank"],
            "fathom.run": self._run,
        }
        spans = [self._span(calls, at, trace, of["tid"]) for at in range(len(calls))]
        scope = {"name": "fathom", "version": fathom.__version__}
        one = {
            "resource": {"attributes": _attributes(about)},
            "scopeSpans": [{"scope": scope, "spans": spans}],
        }
        return {"resourceSpans": [one]}

    def _span(self, calls: pieces.Calls, at: int, trace: str, tid: int) -> dict[str, Any]:
        op = self._ops[calls.op[at]]
        error, state = int(calls.error[at]), int(calls.state[at])
        name = errno.errorcode.get(error) if op.layer in SYSTEM else None
        span = {
            "traceId": trace,
            "spanId": _span_id(calls.id[at]),
            "name": op.op,
            "kind": INTERNAL,
            "startTimeUnixNano": str(self._zero + int(calls.start[at])),
            "endTimeUnixNano": str(self._zero + int(calls.stop[at])),
            "attributes": _attributes(
                {
                    "fathom.layer": op.layer,
                    "thread.id": tid,
                    "file.path": self._paths.get(int(calls.file[at])),
                    "fathom.offset": _number(calls.offset[at]),
                    "fathom.size": _number(calls.size[at]),
                    "fathom.bytes": _number(calls.bytes[at]),
                    "fathom.state": pieces.STATES[state] if state else None,
                    "error.type": (name or str(error)) if error else None,
                }
            ),
        }
        if calls.parent[at] != pieces.NO_CALL:
            span["parentSpanId"] = _span_id(calls.parent[at])
        if error:
            span["status"] = {"code": ERROR}
        return span


def _span_id(call: int) -> str:
    """No id is all zeros."""
    return f"{int(call) + 1:016x}"


def _number(value: int) -> int | None:
    return None if value == pieces.UNKNOWN else int(value)


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of what is known."""
    return [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}
        for key, value in values.items()
        if value is not None
    ]  # fmt: skip
