"""The page of `fathom show`: what a run did, in one screen."""

import json
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from fathom.analysis import Source, summary
from fathom.store import as_json
from fathom.view import numbers
from fathom.view.tables import Column, heading, printable, show, text

LAYERS = (
    Column("layer", "layer", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("inclusive", "inclusive_seconds", numbers.seconds),
    Column("exclusive", "exclusive_seconds", numbers.seconds),
    Column("share", "share", numbers.percent),
    Column("MB/s", "mb_per_s", numbers.rate),
)
FUNCTIONS = (
    Column("function", "op", text, right=False),
    Column("layer", "layer", text, right=False),
    Column("called from", "caller", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("mean", "mean_seconds", numbers.seconds),
    Column("longest", "longest_seconds", numbers.seconds),
    Column("MB/s", "mb_per_s", numbers.rate),
)
RANKS = (
    Column("rank", "rank", numbers.count),
    Column("process", "pid", str),
    Column("host", "host", text, right=False),
    Column("ended", "ended", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("share", "share", numbers.percent),
    Column("program", "program", text, right=False),
)
FILES = (
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("calls", "calls", numbers.count),
    Column("opens", "opens", numbers.count),
    Column("processes", "processes", numbers.count),
    Column("file", "path", text, right=False),
)
VARIABLES = (
    Column("layer", "layer", text, right=False),
    Column("reads", "reads", numbers.count),
    Column("writes", "writes", numbers.count),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("POSIX read", "system_read", numbers.size),
    Column("written", "system_written", numbers.size),
    Column("calls", "system_calls", numbers.count),
    Column("processes", "processes", numbers.count),
    Column("variable", "variable", text, right=False),
    Column("file", "path", text, right=False),
)
MEMORY = (
    Column("HDF5's", "memory", text, right=False),
    Column("reads", "reads", numbers.count),
    Column("writes", "writes", numbers.count),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("file", "path", text, right=False),
)
EXCHANGE = (
    Column("function", "op", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("time", "seconds", numbers.seconds),
    Column("exchange", "exchange_seconds", numbers.known_seconds),
    Column("POSIX", "posix_seconds", numbers.seconds),
    Column("rest", "rest_seconds", numbers.known_seconds),
)
COMMUNICATION = (
    Column("function", "op", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("least", "least_seconds", numbers.seconds),
    Column("most", "most_seconds", numbers.seconds),
    Column("rank", "slowest", numbers.count),
    Column("longest", "longest_seconds", numbers.seconds),
)
WAITS = (
    Column("function", "op", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count),
    Column("time", "seconds", numbers.seconds),
    Column("mean", "mean_seconds", numbers.seconds),
    Column("longest", "longest_seconds", numbers.seconds),
    Column("processes", "processes", numbers.count),
)
REGIONS = (
    Column("region", "region", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("time", "seconds", numbers.seconds),
    Column("mean", "mean_seconds", numbers.seconds),
    Column("longest", "longest_seconds", numbers.seconds),
    Column("its I/O", "own_seconds", numbers.seconds),
    Column("share", "own_share", numbers.percent),
    Column("processes", "processes", numbers.count),
)
BY = {
    "layer": (LAYERS, summary.layers),
    "function": (FUNCTIONS, summary.functions),
    "rank": (RANKS, summary.ranks),
    "file": (FILES, summary.files),
    "variable": (VARIABLES, summary.variables),
    "memory": (MEMORY, summary.memory),
    "region": (REGIONS, summary.regions),
    "exchange": (EXCHANGE, summary.exchange),
    "communication": (COMMUNICATION, summary.communication),
    "wait": (WAITS, summary.waits),
}


@dataclass(frozen=True)
class Page:
    """All tables of the page, computed once."""

    name: str
    manifest: dict[str, Any]
    runs: dict[str, Any]
    layers: pa.Table
    functions: pa.Table
    ranks: pa.Table
    spread: pa.Table
    files: pa.Table
    variables: pa.Table
    memory: pa.Table
    regions: pa.Table
    exchange: pa.Table
    communication: pa.Table
    waits: pa.Table
    collectives: pa.Table
    missing: pa.Table
    tracing: pa.Table
    coverage: dict[str, Any]
    killed: int
    alive: int
    per_call: float | None  # seconds that recording adds to a call, measured on this machine


def compute(name: str, manifest: dict[str, Any], source: Source, per_call: float | None) -> Page:
    """Asks everything the page needs."""
    ended = source.sql("select ended, count(*) as n from processes group by ended").to_pylist()
    how = {row["ended"]: row["n"] for row in ended}
    ranks = summary.ranks(source)
    return Page(
        name=name,
        manifest=manifest,
        runs=source.sql("from runs").to_pylist()[0],
        layers=summary.layers(source),
        functions=summary.functions(source),
        ranks=ranks,
        spread=summary.spread(ranks),
        files=summary.files(source),
        variables=summary.variables(source),
        memory=summary.memory(source),
        regions=summary.regions(source),
        exchange=summary.exchange(source),
        communication=summary.communication(source),
        waits=summary.waits(source),
        collectives=summary.collectives(source),
        missing=summary.missing(source),
        tracing=summary.tracing(source),
        coverage=summary.coverage(source, manifest.get("configuration", {}).get("counted", [])),
        killed=how.get("killed", 0),
        alive=how.get("open", 0),
        per_call=per_call,
    )


def _facts(page: Page) -> None:
    runs, manifest = page.runs, page.manifest
    command = [str(word) for word in manifest.get("command", [])]
    started = datetime.fromtimestamp(runs["started"] / 1e9, UTC)
    ranks = f", {numbers.things(runs['ranks'], 'rank')}" if runs["ranks"] else ""
    if runs["ranks"] and runs["ranks_seen"] < runs["ranks"]:
        ranks += f" ({runs['ranks_seen']:,} recorded)"
    heading(f"{printable(page.name)}: {printable(shlex.join(command)) or 'batch environment'}")
    print(
        f"{started:%Y-%m-%d %H:%M:%S} UTC, ran {numbers.seconds(runs['duration'] / 1e9)}"
        f"{ranks}, {numbers.things(runs['processes'], 'process', 'processes')} "
        f"on {numbers.things(runs['nodes'], 'node')}{_exit(manifest)}"
    )


def _exit(manifest: dict[str, Any]) -> str:
    end = manifest.get("exit", {})
    if "signal" in end:
        return f", killed by signal {end['signal']}"
    return f", exit status {end['status']}" if "status" in end else ""


def _spread_line(row: dict[str, Any]) -> str:
    write = {"calls": numbers.count, "bytes": numbers.size, "seconds": numbers.seconds}
    quantity = row["quantity"]
    least, median, most = (write[quantity](row[key]) for key in ("least", "median", "most"))
    who = (
        f"process {row['slowest_process']}" if row["slowest"] is None else f"rank {row['slowest']}"
    )
    name = {"seconds": "time in I/O"}.get(quantity, quantity)
    return f"  {name:12} {least} / {median} / {most}, most: {who}"


def _unknown_exchange(page: Page) -> None:
    """Why some exchange is not known: then a layer's exclusive time holds it."""
    unknown = [row for row in page.exchange.to_pylist() if row["exchange_seconds"] is None]
    if not unknown:
        return
    configuration = page.manifest.get("configuration", {})
    on = {*configuration.get("layers", ["mpi"]), *configuration.get("counted", [])}
    why = (
        "this MPI-IO shows only a part of it to others (OMPIO: --mca io romio321 shows all)"
        if "mpi" in on
        else "layer mpi was off"
    )
    seen = sum(row["seen_seconds"] for row in unknown)
    part = f"; at least {numbers.seconds(seen)}" if seen else ""
    print(f"  exchange unknown: {why}{part}. mpiio's exclusive time holds it")


def _coverage(page: Page) -> None:
    runs = page.runs
    asked = page.coverage["recorded"] + page.coverage["counted"]
    heading("\nCoverage")
    print(
        f"  {page.coverage['recorded']:,} of {asked:,} calls recorded in full "
        f"({numbers.percent(page.coverage['recorded'] / asked if asked else 1)}), "
        f"{page.coverage['counted']:,} in counters only"
    )
    for layer, calls in page.coverage["by_choice"]:
        print(f"  layer {layer} is counted only: {calls:,} calls; --layers +{layer} records them")
    print(f"  cost of tracing: {_cost(page)}")
    size = numbers.size(runs["stream_bytes"])
    per = f", {runs['stream_bytes'] / runs['events']:.1f} B per call" if runs["events"] else ""
    print(f"  streams: {size}{per}")
    configuration = page.manifest.get("configuration", {})
    asked = configuration.get("layers", []) if configuration.get("layers_asked") else []
    seen = {*page.layers["layer"].to_pylist(), "user"}  # its regions need not be there
    if page.waits.num_rows:
        seen.add("threads")
    silent = [name for name in asked if name not in seen]
    if silent:
        print(f"  no call seen of: {', '.join(silent)}")


def _cost(page: Page) -> str:
    own = page.tracing.to_pylist()[0]
    rows = f"{numbers.seconds(own['seconds'])} in {numbers.things(own['calls'], 'row')} of Fathom's own work"
    if page.per_call is None:
        return f"{rows}; what each call adds could not be measured here"
    calls = page.runs["events"] + page.runs["counted"]
    total = own["seconds"] + calls * page.per_call
    return (
        f"{numbers.seconds(total)} summed over processes: {rows}, and {calls:,} calls at "
        f"{numbers.seconds(page.per_call)}, as measured on this machine"
    )


def _collectives(page: Page) -> None:
    if not page.collectives.num_rows:
        return
    heading("\nCollectives")
    for row in page.collectives.to_pylist():
        ranks = numbers.things(row["ranks_expected"], "rank")
        line = f"  {row['op']}: {numbers.things(row['operations'], 'operation')} of {ranks}"
        if row["incomplete"]:
            line += f", {row['incomplete']:,} not seen of all (least {row['ranks_seen']:,})"
        if row["disagreeing"]:
            line += f", {row['disagreeing']:,} where ranks disagree"
        print(line)


def _missing(page: Page) -> None:
    runs = page.runs
    said = [
        (page.killed, "process", "did not end in order: killed, aborted, or its node was lost"),
        (page.alive, "process", "still ran when the run was packed"),
        (runs["unfinished"], "call", "had not ended, or its row is lost"),
        (runs["chunks_skipped"], "damaged stretch", "skipped"),
        (runs["chunks_missing"], "chunk", "missing"),
    ]
    lines = [
        f"  {numbers.things(count, what, None if what[-1] in 'lk' else what + 'es')} {how}"
        for count, what, how in said
        if count
    ]
    for row in page.missing.to_pylist():
        detail = f": {printable(row['detail'])}" if row["detail"] else ""
        lines.append(f"  {printable(row['kind'])}{detail} ({row['marks']:,} times)")
    heading("\nMissing" if lines else "\nMissing: nothing")
    for line in lines[:20]:
        print(line)
    if len(lines) > 20:
        print(f"  and {len(lines) - 20:,} more: fathom query {page.name} --sql 'from marks'")


def _top(title: str, columns: tuple[Column, ...], rows: pa.Table, top: int) -> None:
    rest = f", {top} of {rows.num_rows:,}" if rows.num_rows > top else ""
    heading(f"\n{title}{rest}")
    show(columns, rows.slice(0, top))


def print_page(page: Page, top: int) -> None:
    """The whole page, to stdout."""
    _facts(page)
    if page.layers.num_rows == 0:
        heading("\nNo I/O call was recorded")
        print("  a static program, or no process of this run was traced: fathom doctor says more")
    else:
        heading("\nLayers (times summed over processes; share and MB/s by the clock)")
        show(LAYERS, page.layers)
        _top("Functions", FUNCTIONS, page.functions, top)
        heading("\nRanks (least / median / most)" if page.runs["ranks"] else "\nProcesses")
        for row in page.spread.to_pylist():
            print(_spread_line(row))
        _top("Files", FILES, page.files, top)
        if page.variables.num_rows:
            _top("Variables", VARIABLES, page.variables, top)
        if page.memory.num_rows:
            _top("Raw data and metadata of HDF5, on POSIX", MEMORY, page.memory, top)
    if page.exchange.num_rows:
        title = (
            "Collective MPI-IO: of its time, the library's own communication (exchange) and POSIX"
        )
        _top(title, EXCHANGE, page.exchange, top)
        _unknown_exchange(page)
    if page.communication.num_rows:
        title = "MPI communication of the program (time: all ranks; least, most: of a rank)"
        _top(title, COMMUNICATION, page.communication, top)
    if page.waits.num_rows:
        _top("Threads and locks (summed over threads; no I/O)", WAITS, page.waits, top)
    if page.regions.num_rows:
        _top(
            "Regions (summed over processes; I/O in them, but in no region inside)",
            REGIONS,
            page.regions,
            top,
        )
    _collectives(page)
    _coverage(page)
    _missing(page)


def to_json(page: Page, top: int | None) -> str:
    """The page's tables with raw numbers; the names carry the units."""
    content = {
        "format": 1,
        "name": page.name,
        "manifest": page.manifest,
        "run": {key: value for key, value in page.runs.items() if key != "configuration"},
        "layers": as_json(page.layers),
        "functions": as_json(page.functions.slice(0, top)),
        "ranks": as_json(page.ranks.slice(0, top)),
        "spread": as_json(page.spread),
        "files": as_json(page.files.slice(0, top)),
        "variables": as_json(page.variables.slice(0, top)),
        "memory": as_json(page.memory.slice(0, top)),
        "regions": as_json(page.regions.slice(0, top)),
        "exchange": as_json(page.exchange.slice(0, top)),
        "communication": as_json(page.communication.slice(0, top)),
        "waits": as_json(page.waits.slice(0, top)),
        "collectives": as_json(page.collectives),
        "tracing": as_json(page.tracing)[0],
        "missing": as_json(page.missing),
        "seconds_per_recorded_call": page.per_call,
        "killed": page.killed,
        "alive": page.alive,
    }
    return json.dumps(content, indent=2, ensure_ascii=False)
