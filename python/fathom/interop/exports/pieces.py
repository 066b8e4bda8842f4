"""Calls of an export as arrays, in the order in which they began in each stream, a piece at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fathom.interop.exports.selected import Selected

#: Calls of one question to the database: what it sorts lies in memory.
QUESTION = 1_000_000
UNKNOWN = -(2**63)
NO_FILE = 2**32 - 1
NO_CALL = 2**64 - 1
STATES = ("done", "unfinished", "lost")

Array = NDArray[Any]


@dataclass
class Calls:
    """A field of each call; what is not known is UNKNOWN, of `file` NO_FILE, of `parent` NO_CALL."""

    id: Array  # u64; its upper bits are the stream, its lower ones rise as calls begin
    stream: Array  # u32
    start: Array  # i64, ns
    stop: Array
    depth: Array  # u8: as in the table, whatever part is selected
    op: Array  # u32: row of `ops`
    file: Array  # u32
    offset: Array  # i64
    size: Array
    bytes: Array
    parent: Array  # u64
    error: Array  # i32
    state: Array  # u8: place in STATES

    def __len__(self) -> int:
        return len(self.id)

    def take(self, which: Array | slice) -> "Calls":
        """Those at these places."""
        return Calls(*(getattr(self, one.name)[which] for one in fields(self)))

    def followed_by(self, others: "Calls") -> "Calls":
        """These, then the others."""
        pairs = ((getattr(self, one.name), getattr(others, one.name)) for one in fields(self))
        return Calls(*(np.concatenate(pair) for pair in pairs))


ROWS = f"""
select id, stream, start + {{shift}} as start, start + {{shift}} + duration as stop, depth, layer, op,
	coalesce(file, {NO_FILE})::uinteger as file, coalesce(file_offset, {UNKNOWN}) as "offset",
	coalesce(size, {UNKNOWN}) as size, coalesce(bytes, {UNKNOWN}) as bytes,
	coalesce(parent, {NO_CALL}::ubigint) as parent,
	error, (list_position({list(STATES)}, state) - 1)::utinyint as state
from calls where {{where}} and id between {{first}} and {{last}}
order by id"""


class Op(NamedTuple):
    """What was called."""

    layer: str
    op: str


def operations(selected: Selected) -> dict[Op, int]:
    """All that were called, and their number in `Calls.op`."""
    rows = selected.run.sql(
        f"select distinct layer, op from calls where {selected.where} order by layer, op"
    )
    return {Op(**row): number for number, row in enumerate(rows.to_pylist())}


def questions(selected: Selected) -> Iterator[tuple[int, int]]:
    """Ids from and to of some million calls at a time, in order: whole streams, or parts of a long one."""
    streams = selected.run.sql(
        "select min(id) as first, max(id) as last, count(*) as calls"
        f" from calls where {selected.where} group by stream order by first"
    ).to_pylist()
    begin, held = None, 0
    for row, after in zip(streams, [*streams[1:], None], strict=True):
        begin = row["first"] if begin is None else begin
        held += row["calls"]
        if after and held + after["calls"] <= QUESTION:
            continue
        step = max(1, -(-(row["last"] + 1 - begin) // max(1, -(-held // QUESTION))))
        if held > QUESTION:  # one stream alone
            for first in range(begin, row["last"] + 1, step):
                yield first, min(first + step - 1, row["last"])
        else:
            yield begin, row["last"]
        begin, held = None, 0


def pieces(selected: Selected, ops: dict[Op, int]) -> Iterator[Calls]:
    """All calls, in the order of ids."""
    for first, last in questions(selected):
        statement = ROWS.format(where=selected.where, first=first, last=last, shift=selected.shift)
        for batch in selected.batches(statement, beside=True):
            if len(batch):
                yield _calls(batch, ops)


def _calls(batch: pa.RecordBatch, ops: dict[Op, int]) -> Calls:
    columns = {
        name: batch[name].to_numpy(zero_copy_only=False)
        for name in batch.schema.names
        if name not in ("layer", "op")
    }
    layer, op = (batch[name].dictionary_encode() for name in ("layer", "op"))
    known = len(op.dictionary)
    both = layer.indices.to_numpy().astype(np.int64) * known + op.indices.to_numpy()
    pairs, place = np.unique(both, return_inverse=True)
    numbers = [
        ops[
            Op(layer.dictionary[int(one) // known].as_py(), op.dictionary[int(one) % known].as_py())
        ]
        for one in pairs
    ]
    return Calls(**columns, op=np.array(numbers, np.uint32)[place])
