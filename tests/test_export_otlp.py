"""`fathom export --to otlp`: OpenTelemetry's own messages read the spans, which are the calls of the tables."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import fathom
import pytest
from google.protobuf import json_format
from harness import exports
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

IDS = ("traceId", "spanId", "parentSpanId")
CALLS = """
select c.id, c.parent, c.op, c.layer, c.start, c.duration, c.bytes, c.file_offset as at, c.error, f.path, p.pid, p.rank
from calls c join processes p using (process) left join files f using (file)"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exports.kernel(tmp_path_factory.mktemp("otlp"), "s3d_hdf5")


def binary(span: dict[str, Any]) -> None:
    """OTLP writes ids in hexadecimal, where protobuf's JSON has base64."""
    for name in IDS:
        if name in span:
            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()


def read(file: Path) -> list[tuple[dict[str, Any], Any]]:
    """Each span with all of its attributes, and those of its resource."""
    spans = []
    for line in file.read_text(encoding="ascii").splitlines():
        content = json.loads(line)
        for span in content["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            binary(span)
        request = json_format.ParseDict(content, ExportTraceServiceRequest())
        for resource in request.resource_spans:
            shared = {one.key: value(one) for one in resource.resource.attributes}
            for span in resource.scope_spans[0].spans:
                spans.append((shared | {one.key: value(one) for one in span.attributes}, span))
    return spans


def value(attribute: Any) -> Any:
    return getattr(attribute.value, attribute.value.WhichOneof("value"))


def test_spans_are_the_calls(run: Path) -> None:
    assert exports.export(run, "--to", "otlp")[0] == "run.otlp.jsonl\n"
    spans = {
        int.from_bytes(span.span_id): (about, span)
        for about, span in read(run.parent / "run.otlp.jsonl")
    }
    opened = fathom.open(run, with_runtime=True)
    started = opened.sql("select started from runs")["started"][0].as_py()
    calls = opened.sql(CALLS).to_pylist()
    assert len(calls) == len(spans) > 100
    traces: dict[int, set[bytes]] = {}
    for call in calls:
        about, span = spans[call["id"] + 1]
        assert (span.name, about["fathom.layer"]) == (call["op"], call["layer"])
        assert span.start_time_unix_nano == started + call["start"]
        assert span.end_time_unix_nano - span.start_time_unix_nano == call["duration"]
        parent = int.from_bytes(span.parent_span_id) - 1 if span.parent_span_id else None
        assert parent == call["parent"]
        known = [
            about.get(name)
            for name in ("fathom.bytes", "fathom.offset", "file.path", "process.pid", "mpi.rank")
        ]
        assert known == [call[name] for name in ("bytes", "at", "path", "pid", "rank")]
        assert (span.status.code == span.status.STATUS_CODE_ERROR) == bool(call["error"])
        traces.setdefault(call["pid"], set()).add(span.trace_id)
    assert all(len(one) == 1 for one in traces.values())
    assert len({trace for one in traces.values() for trace in one}) == len(traces)
