"""Arrows between slices: relations of calls that nesting does not show."""

import numpy as np

from fathom.interop.exports.perfetto.protobuf import Array
from fathom.interop.exports.selected import Selected

#: A flow has a number, and a row for each of its two calls. What holds a call on its own thread is no flow.
FLOWS = """
with chosen as (select id, stream, start, start + duration as stop, parent from calls where {where}),
pair as (
	select to_call as source, from_call as sink from links where to_call is not null
	union
	select parent, id from chosen where parent is not null and parent >> 40 <> stream
),
flow as (
	select row_number() over (order by source, sink) as flow, source, sink
	from pair join chosen as s on s.id = source join chosen as t on t.id = sink
	where not (s.stream = t.stream and s.start <= t.start and t.stop <= s.stop)
)
select source as call, flow::ubigint as flow from flow
union all
select sink, flow from flow
order by call"""
#: flow_ids of an event: field 47, 64 bits.
TAG = np.array([0xF9, 0x02], np.uint8)


class Flows:
    """All flows of a selection, looked up piece by piece."""

    def __init__(self, selected: Selected) -> None:
        self._run = selected.run
        self._run.keep("export_flows", FLOWS.format(where=selected.where))
        count = self._run.sql("select count(*) as n from export_flows")
        self._any = bool(count["n"][0].as_py())
        self._calls, self._bytes = np.empty(0, np.uint64), np.empty((0, 10), np.uint8)

    def look(self, ids: Array) -> None:
        """Gets those of a piece's calls, for `tails`."""
        if not self._any:
            return
        flows = self._run.sql(
            "select call, flow from export_flows where call between $first and $last order by call",
            first=int(ids.min()), last=int(ids.max()),
        )  # fmt: skip
        number = flows["flow"].to_numpy().astype("<u8").view(np.uint8).reshape(-1, 8)
        self._calls = flows["call"].to_numpy()
        self._bytes = np.hstack([np.broadcast_to(TAG, (len(number), 2)), number])

    def tails(self, ids: Array, begins: Array) -> dict[int, bytes]:
        """Of events that begin a call with flows: their place, and the bytes that say which."""
        first = np.searchsorted(self._calls, ids)
        last = np.searchsorted(self._calls, ids, "right")
        return {
            int(at): self._bytes[first[at] : last[at]].tobytes()
            for at in np.flatnonzero((last > first) & begins)
        }
