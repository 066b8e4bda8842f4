"""What pictures of a run show: how much its calls did on which process and when, and what each process was at. By the
macros that `fathom view` draws from (analysis/sql/tiles.sql, pictures.sql). Errors: `fathom.errors.RunError`."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.own import is_complete, own, own_values, sums
from fathom.catalog.layers import FATHOM
from fathom.errors import NotRecorded
from fathom.run.database import one_of, quoted

#: Rows and columns of a map, at most; calls of a timeline that are drawn one by one; its lanes, and bins of more calls.
ROWS, BINS, SPANS, LANES, WIDTH = 64, 200, 10_000, 16, 1024
#: Calls whose time no other call of their layer has too. While a run is looked at that still runs that is not known.
OUTERMOST = "coalesce(topmost, true)"


@dataclass(frozen=True)
class Lane:
    """A row of a picture: neighbouring processes, by rank where there are ranks."""

    first: str
    processes: int


@dataclass(frozen=True)
class Cells:
    """`table`: row, bin, time (ns), bytes, calls; a bin is `width` ns. `what`: of which calls."""

    table: pa.Table
    lanes: list[Lane]
    bins: int
    width: int
    what: str


@dataclass(frozen=True)
class Strips:
    """`table`: lane, layer, start, duration (ns), busy (share of the duration), one row for each call where there are
    few, else for each part of the time in which a layer was busy. `lanes`: by number, the names of those shown;
    `processes`: how many there are."""

    table: pa.Table
    lanes: dict[int, str]
    processes: int
    span: tuple[int, int]


def cells(source: Source, layer: str | None) -> Cells:
    """Of the calls of a layer, or of the program's own."""
    rows, what = _of_layer(source, layer) if layer else _of_program(source)
    names = _names(source)
    each = max(1, -(-len(names) // ROWS))
    width = max(1, -(-_duration(source) // BINS))
    table = source.sql(
        f"with rows_ as not materialized (from {rows})"
        ' select "row", bin, sum(time)::double as time, sum(bytes)::double as bytes, sum(calls)::double as calls'
        f" from tile_cells('rows_', {width}, {each}, 0, {BINS}) group by all order by all"
    )
    if not table.num_rows:
        raise NotRecorded(f"when {what} were made is not known")
    grouped = [names[at : at + each] for at in range(0, len(names), each)]
    return Cells(table, [Lane(some[0], len(some)) for some in grouped], BINS, width, what)


def _of_layer(source: Source, layer: str) -> tuple[str, str]:
    which = f"layer = {quoted(layer)}"
    if source.sql(f"select exists(from calls where {which}) as there")["there"][0].as_py():
        return f"tile_calls({which} and {OUTERMOST})", f"calls of {layer}"
    return f"tile_heat({which})", f"reads and writes of {layer}"


def _of_program(source: Source) -> tuple[str, str]:
    """All of them where each was recorded in full, else what is counted by time of the layer with the most time."""
    if is_complete(source):
        values = own_values(source)
        calls = f"own_calls({values['regions']}, {values['talk']})"
        return f"tile_calls(id in (select id from {calls}))", "the program's own I/O calls"
    layer = sums(own(source), "layer", "time")[0][0]
    return f"tile_heat(layer = {quoted(layer)})", f"reads and writes of {layer}"


def strips(
    source: Source,
    which: str,
    layers: list[str] | None,
    time: tuple[int, int] | None,
    bins: int | None = None,
) -> Strips:
    """Of the calls for which a condition holds, of these layers (else all but Fathom's own), that last into a time
    (ns). `bins`: in so many parts of the time, however few calls there are."""
    first, last = time or (0, max(1, _duration(source)))
    of_layers = one_of("layer", layers) if layers else f"layer <> {quoted(FATHOM)}"
    shown = f"({which}) and {of_layers} and start < {last} and start + duration > {first}"
    busy = f"select lane from lanes() where process in (select process from calls where {shown})"
    lanes = source.sql(f"{busy} order by lane")["lane"].to_pylist()
    if not lanes:
        raise NotRecorded("no call that was chosen was recorded in full")
    some = ", ".join(map(str, lanes[:LANES]))
    shown += f" and process in (select process from lanes() where lane in ({some}))"
    table = _spans(source, shown) if bins is None else None
    if table is None:
        table = _bins(source, shown, (first, last), bins or WIDTH)
    names = _names(source)
    return Strips(table, {lane: names[lane] for lane in lanes[:LANES]}, len(lanes), (first, last))


def _spans(source: Source, shown: str) -> pa.Table | None:
    """None: there are too many."""
    few = source.sql(
        f"select lane, layer, start, duration, 1::double as busy from strip_spans({shown}, {SPANS + 1})"
    )
    return few if few.num_rows <= SPANS else None


def _bins(source: Source, shown: str, span: tuple[int, int], bins: int) -> pa.Table:
    first, last = span
    width = (last - first) / bins
    return source.sql(
        f"select lane, layer, ({first} + bin * {width})::bigint as start, {width}::bigint as duration,"
        f" least(1, busy / {width})::double as busy from strip_bins({shown}, {first}, {last}, {bins})"
    )


def _names(source: Source) -> list[str]:
    """Of each lane."""
    text = "with sums_ as (from lane_sums()) select label from lane_rows(true, 'sums_')"
    return list(source.sql(text)["label"].to_pylist())


def _duration(source: Source) -> int:
    return int(source.sql("select duration from runs")["duration"][0].as_py())
