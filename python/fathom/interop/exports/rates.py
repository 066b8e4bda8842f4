"""Bytes per second of each process, layer and direction, for formats that have counters."""

from collections.abc import Iterator

import pyarrow as pa

from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.interop.exports.selected import Selected

#: A rate holds for a bin; where no bin follows, it is 0 from there on.
RATES = """
with chosen as (
	select process, layer, operation, start, stop, bytes, lead(start) over w as following from heat
	where {condition} and process in (select process from calls where {where})
	window w as (partition by process, layer, operation order by start)
)
select process, layer, operation, greatest(start + {shift}, 0) as time, bytes * 1e9 / (stop - start) as rate from chosen
union all
select process, layer, operation, stop + {shift}, 0 from chosen where following is null or following > stop
order by process, time, layer, operation"""
OF_FILES = "left out: bytes per second of processes, which are known of all files together only"


def rates(selected: Selected) -> Iterator[pa.RecordBatch]:
    """Columns process, layer, operation, time (ns, shifted as calls are), rate (B/s, from then on); by process, then by
    time. Nothing of a part by file: `OF_FILES` says why."""
    if selected.part.file is not None:
        return
    condition = conditions.heat(Selection(t=selected.part.ns, layers=selected.part.layers))
    yield from selected.batches(
        RATES.format(condition=condition, where=selected.where, shift=selected.shift)
    )
