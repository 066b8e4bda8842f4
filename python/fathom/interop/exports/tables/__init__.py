"""A table of the store as a file of rows: one module per format, each with `write`."""

from collections.abc import Iterator

import pyarrow as pa

from fathom.errors import UsageError
from fathom.interop.exports.pieces import questions
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected

#: Rows of a batch, and of a row group.
ROWS = 131_072
#: A call with what its numbers stand for. Its layer, op and rank it has itself.
CALLS = """
select c.*, f.path, o.name as object_name, n.host, s.function, s.source, s.line
from (select * from calls where {where} and id between {first} and {last}) as c
left join files as f on f.file = c.file left join objects as o on o.object = c.object
left join sites as s on s.site = c.site join processes as p on p.process = c.process
join nodes as n on n.node = p.node
order by c.id"""
#: Which rows of a table belong to selected calls.
BELONGS = {
    "args": "call in (select id from chosen)",
    "collectives": "collective in (select collective from chosen)",
    "files": "file in (select file from chosen)",
    "links": "from_call in (select id from chosen) or to_call in (select id from chosen)",
    "objects": "object in (select object from chosen)",
    "processes": "process in (select process from chosen)",
    "selections": "selection in (select selection from chosen)",
    "sites": "site in (select site from chosen)",
    "streams": "stream in (select stream from chosen)",
}


def rows(selected: Selected, progress: Progress) -> pa.RecordBatchReader:
    """The rows of the table that was asked for, as they come."""
    batches = _calls(selected, progress) if selected.table == "calls" else _others(selected)
    first = next(batches)
    return pa.RecordBatchReader.from_batches(first.schema, _with(first, batches))


def _with(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others


def _calls(selected: Selected, progress: Progress) -> Iterator[pa.RecordBatch]:
    for first, last in questions(selected):
        statement = CALLS.format(where=selected.where, first=first, last=last)
        for batch in selected.batches(statement, ROWS):
            yield batch
            progress.add(len(batch))


def _others(selected: Selected) -> Iterator[pa.RecordBatch]:
    table, belongs = selected.table, BELONGS.get(selected.table)
    statement = f'from "{table}"'
    if any(selected.part.conditions()):
        if belongs is None:
            raise UsageError(
                f"export: a row of table {table} is of no one call: leave out --time, --ranks, --layers, --files"
                f" (tables of which a part can be had: calls, {', '.join(BELONGS)})"
            )
        statement = (
            f"with chosen as (from calls where {selected.where}) {statement} where {belongs}"
        )
    empty = selected.run.sql(f"{statement} limit 0")
    yield pa.RecordBatch.from_pylist([], empty.schema)
    yield from selected.batches(statement, ROWS)
