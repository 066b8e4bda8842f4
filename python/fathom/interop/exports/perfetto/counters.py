"""Bytes per second of each process, and what an agent sampled, as counters."""

from typing import Any

import numpy as np

from fathom.analysis.selection import MOST
from fathom.interop.exports.perfetto.packets import Packets, counters
from fathom.interop.exports.perfetto.protobuf import number, text
from fathom.interop.exports.perfetto.tracks import Tracks
from fathom.interop.exports.rates import OF_FILES, rates
from fathom.interop.exports.selected import Selected

UNITS = {"ns": number(3, 1), "count": number(3, 2), "bytes": number(3, 3)}
PROCESSES = "(select process from calls where {where})"
#: A counter for each of these; they are numbered from 1.
SERIES = "dense_rank() over (order by node, process, what, device)"
ALL = f"""
select distinct {SERIES} as series, node, process, what, device, unit, host
from samples join nodes using (node) where {{condition}} order by series"""
SAMPLES = f"""
select time + {{shift}} as time, value, {SERIES} as series from samples where {{condition}} order by series, time"""


def write(selected: Selected, tracks: Tracks, packets: Packets) -> list[str]:
    """Writes all, shifted as calls are; gives what was left out."""
    early = _samples(selected, tracks, packets)
    lost = [f"{early:,} samples from before the run's start: the trace has no earlier time"]
    if selected.part.file is None:
        _rates(selected, tracks, packets)
        return lost if early else []
    return [*(lost if early else []), OF_FILES]


def _rates(selected: Selected, tracks: Tracks, packets: Packets) -> None:
    known: dict[tuple[Any, ...], int] = {}
    for batch in rates(selected):
        columns = (batch[name].to_pylist() for name in ("process", "layer", "operation"))
        keys = list(zip(*columns, strict=True))
        for process, layer, operation in sorted(set(keys) - known.keys()):
            known[process, layer, operation] = tracks.counter(
                tracks.process(process), f"{layer} {operation}", text(6, "B/s")
            )
        uuids = np.array([known[key] for key in keys], np.uint64)
        packets.add(counters(batch["time"].to_numpy(), uuids, batch["rate"].to_numpy()))


def _samples(selected: Selected, tracks: Tracks, packets: Packets) -> int:
    """Writes them; gives how many are too early."""
    chosen, shift = PROCESSES.format(where=selected.where), selected.shift
    nodes = f"(select node from processes where process in {chosen})"
    first, last = selected.part.ns or (-MOST, MOST)
    condition = (
        f"(process in {chosen} or process is null and node in {nodes})"
        f" and time between {max(first, -shift)} and {last}"
    )
    rows = selected.run.sql(ALL.format(condition=condition)).to_pylist()
    uuids = np.array([_series(row, tracks) for row in rows], np.uint64)
    for batch in selected.batches(SAMPLES.format(condition=condition, shift=shift)):
        place = batch["series"].to_numpy() - 1
        packets.add(counters(batch["time"].to_numpy(), uuids[place], batch["value"].to_numpy()))
    early = f"select count(*) as n from samples where time < {-shift} and time >= {first}"
    return int(selected.run.sql(early)["n"][0].as_py())


def _series(row: dict[str, Any], tracks: Tracks) -> int:
    process = row["process"]
    whole = process is None
    parent = tracks.node(row["node"], row["host"]) if whole else tracks.process(process)
    name = row["what"] if row["device"] is None else f"{row['what']} {row['device']}"
    return tracks.counter(parent, name, UNITS[row["unit"]])
