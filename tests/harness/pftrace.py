"""A Perfetto trace, read by Perfetto's own schema: what its tracks, slices, flows and counters say."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CLEARED, NEEDED = 1, 2
BEGIN, END, COUNTER = 1, 2, 4


@dataclass
class Trace:
    #: Of each call: track, name, category, times, the call around it on its track, its arguments.
    slices: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: Of each flow the calls that it touches.
    flows: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    #: Of each track its times and values.
    counters: dict[int, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    #: Descriptions, as Perfetto has them.
    tracks: dict[int, Any] = field(default_factory=dict)
    clocks: dict[int, int] = field(default_factory=dict)

    def process(self, track: int) -> int:
        """pid of the process that a track belongs to."""
        described = self.tracks[track]
        if described.HasField("thread"):
            return int(described.thread.pid)
        if described.HasField("process"):
            return int(described.process.pid)
        return self.process(described.parent_uuid)


def packets(path: Path) -> Iterator[Any]:
    """All, those in compressed blocks too."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    for outer in trace.packet:
        block = schema.Trace()
        block.ParseFromString(zlib.decompress(outer.compressed_packets))
        yield from block.packet


def read(path: Path) -> Trace:
    """Everything; asserts what a reader relies on: order, balance, words told before they are used."""
    trace = Trace()
    words: dict[str, dict[int, str]] = defaultdict(dict)
    open_: dict[int, list[int]] = defaultdict(list)
    last: dict[int, int] = {}
    for number, packet in enumerate(packets(path)):
        assert packet.trusted_packet_sequence_id == 1
        assert (packet.sequence_flags == CLEARED) == (number == 0)
        for clock in packet.clock_snapshot.clocks:
            trace.clocks[clock.clock_id] = clock.timestamp
        for kind, entries in packet.interned_data.ListFields():
            for entry in entries:
                assert entry.iid not in words[kind.name]
                words[kind.name][entry.iid] = getattr(entry, "name", "") or entry.str.decode()
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in trace.tracks
            trace.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in trace.tracks
            assert last.get(event.track_uuid, 0) <= packet.timestamp
            last[event.track_uuid] = packet.timestamp
            _event(trace, words, open_[event.track_uuid], event, packet.timestamp)
    assert not any(open_.values())
    return trace


def _event(
    trace: Trace, words: dict[str, dict[int, str]], open_: list[int], event: Any, time: int
) -> None:
    if event.type == COUNTER:
        whole = event.HasField("counter_value")
        value = event.counter_value if whole else event.double_counter_value
        trace.counters[event.track_uuid].append((time, value))
    elif event.type == END:
        trace.slices[open_.pop()]["stop"] = time
    else:
        assert event.type == BEGIN
        values = {
            words["debug_annotation_names"][one.name_iid]: _value(words, one)
            for one in event.debug_annotations
        }
        call = values.pop("call")
        assert call not in trace.slices
        (category,) = event.category_iids
        trace.slices[call] = {
            "track": event.track_uuid, "op": words["event_names"][event.name_iid],
            "layer": words["event_categories"][category], "start": time,
            "inside": open_[-1] if open_ else None, "arguments": values,
        }  # fmt: skip
        open_.append(call)
        for flow in event.flow_ids:
            trace.flows[flow].add(call)


def _value(words: dict[str, dict[int, str]], annotation: Any) -> int | str:
    if annotation.HasField("string_value_iid"):
        return words["debug_annotation_string_values"][annotation.string_value_iid]
    return int(annotation.int_value or annotation.uint_value)
