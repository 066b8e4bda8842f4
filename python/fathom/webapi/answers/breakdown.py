"""`breakdown`: time by layer, op, lane, server or call; of counters where they know what is asked, else of calls."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fathom.analysis import conditions
from fathom.analysis.latency.servers import are_traced
from fathom.analysis.selection import Selection
from fathom.run.database import one_of, quoted
from fathom.webapi.answers import answer, choice, number
from fathom.webapi.answers.captured import Captured, captured, missing
from fathom.webapi.answers.longest import least
from fathom.webapi.answers.session import View
from fathom.webapi.answers.table import Table, notes
from fathom.webapi.answers.time_index import narrowed

KEYS = {
    "layer": "c.layer",
    "op": "c.layer || ':' || c.op",
    "lane": "lane.lane",
    "server": "coalesce(server_process.server, server_file.server)",
}
#: Whose each call is, where keys need it.
LANE = "left join lanes() as lane using (process)"
SERVER = (
    "left join server_processes() as server_process using (process)"
    " left join server_files() as server_file using (file)"
)
WHOSE = {"layer": "", "op": "", "lane": LANE, "server": SERVER}
UNITS = {"sub-calls": "count"}
STORAGE_STANDS = "no server was recorded: the OSTs or the file system of a file stand for one, with the calls on it"
ASIDE = "communication inside I/O calls is in the time of the layer that called it: "
STORAGE = ("posix", "stdio", "aio", "dfs", "daos")
#: Calls of which the union of times is worked out; sorting more takes longer than a look may.
SORTED = 1_000_000
#: Condition of no call.
NONE = "false"


def is_counted(selection: Selection, by: str, of: str) -> bool:
    """Do counters know it? They know no times, nor on which file the call was that holds another."""
    if selection.t is not None:
        return False
    of_files = selection.files is not None or selection.servers is not None
    return of == "inclusive" or by == "server" or not of_files


def holders(view: View, by: str) -> str:
    """Ops of which calls hold calls that count once with them, as SQL; few, and costly to look for."""
    layers = ", ".join(quoted(name) for name in STORAGE)
    if by == "server":
        where = (
            f"layer in ({layers}) and (enclosing_layer in ({layers})"
            " or (enclosing_layer, enclosing) in (select (layer, op) from ops where kind = 'comm'))"
        )
    else:
        where = "layer = enclosing_layer" if by in ("layer", "lane") else "false"
    nested = view.once(
        ("holders", where),
        lambda: view.rows(
            f"select distinct enclosing_layer, enclosing from counters where {where} order by all"
        ),
    )
    pairs = [f"({quoted(r['enclosing_layer'])}, {quoted(r['enclosing'])})" for r in nested]
    return f"(layer, op) in ({', '.join(pairs)})" if pairs else NONE


def _holds(view: View) -> str:
    """Ops of which calls hold calls: of most calls nothing is to be looked for below."""
    text = "select distinct enclosing from counters where enclosing is not null order by all"
    nested = view.once(text, lambda: view.rows(text))
    return one_of("op", (row["enclosing"] for row in nested))


def _near_calls(view: View, selection: Selection) -> str:
    """When calls inside the selected ones can have begun: no call outlasts the longest."""
    if selection.t is None:
        return "true"
    longest = view.once("longest", lambda: view.value("select max(longest) from counters")) or 0
    return f"b.start between {selection.t[0] - longest} and {selection.t[1] + longest}"


def _keyed(rows: str, where: str, by: str, whose: str | None = None, more: str = "") -> str:
    """Rows `c` for which a condition holds, each with the key that it counts for."""
    return (
        f"select c.*, {KEYS[by]} as key{more} from (select * from {rows} as c"
        f" where {where} and is_io(c.layer, c.kind)) as c {WHOSE[by] if whose is None else whose}"
    )


def _of_calls(view: View, selection: Selection, by: str, exclusive: str) -> dict[str, str]:
    """Sums from the calls themselves, and what they stand on, by name."""
    has_key = "key is not null and not inside" if by == "server" else "key is not null"
    same = "true" if by == "server" else "h.layer = c.layer"
    return {
        "timed_": _keyed("calls", f"{conditions.calls(selection)} and {_reached(by)}", by),
        "picked_": f"from key_calls('timed_', {holders(view, by)}, {same})",
        "sums_": f"from key_call_sums('picked_', {exclusive}, {has_key})",
        "inner_": f"from key_call_inner('picked_', {_holds(view)}, {_near_calls(view, selection)})",
        "counting_": f"select * from picked_ where {has_key}",
        "longest_": "from key_longest('counting_', 'sums_')",
        "of_files_": f"from key_call_servers('picked_', {has_key})",
    }


def _of_counters(selection: Selection, by: str, exclusive: str) -> dict[str, str]:
    """The same from counters, so of every level."""
    selected = conditions.calls(selection)
    of_calls = f"{selected} and {_reached(by)}"
    storage = "(layer = 'server' or is_storage_access(layer, enclosing_layer, enclosing))"
    which = f"{selected} and {storage if by == 'server' else 'true'}"
    inside = "false"
    if by in ("layer", "lane"):
        inside = "c.enclosing_layer is not distinct from c.layer"
    whose = f"{LANE} {SERVER}"
    more = f", {inside} as inside, server_file.server"
    of_longest = f"{of_calls} and duration in (select longest from sums_)"
    return {
        "inside_": _keyed("counters_inside()", selected, by, whose),
        "inner_": "from key_counter_inner('inside_')",
        "keyed_": _keyed("counters", which, by, whose, more),
        "sums_": f"from key_counter_sums('keyed_', 'inner_', {exclusive})",
        "counting_": _keyed("calls", of_longest, by),
        "longest_": "from key_longest('counting_', 'sums_')",
        "of_files_": "select key, layer, server, time from keyed_ where key is not null",
        "timed_": _keyed("calls", of_calls, by),
    }


def _reached(by: str) -> str:
    """Of calls: they can have reached a server, where that is asked."""
    layers = ", ".join(quoted(name) for name in ("server", *STORAGE))
    return f"layer in ({layers})" if by == "server" else "true"


def _text(
    view: View, selection: Selection, by: str, of: str, counted: bool, covered: bool, most: int
) -> str:
    """The statement of the rows."""
    exclusive = str(of == "exclusive" and by != "server").lower()
    of_files = selection.files is not None or selection.servers is not None
    inner_known = str(not counted or not (of_files or by == "server")).lower()
    rows = (
        _of_counters(selection, by, exclusive)
        if counted
        else _of_calls(view, selection, by, exclusive)
    )
    served = ""
    if view.once("traced", lambda: are_traced(view)):
        of_servers = _keyed("served_calls()", conditions.calls(selection), by)
        served = (
            f" union all select c.key, c.layer, s.server, c.spent from ({of_servers}) as c"
            " join server_processes() as s on s.process = c.worker"
        )
    rows |= {
        "servers_": f"from of_files_{served}",
        "unions_": "from key_unions('timed_')" if covered else "from no_key_unions()",
    }
    parts = ",\n".join(
        f"{name} as {'materialized ' if name == 'picked_' else ''}({text})"
        for name, text in rows.items()
    )
    names = "'sums_', 'inner_', 'longest_', 'servers_', 'unions_'"
    return f"with {parts}\nfrom key_rows({names}, {exclusive}, {inner_known}, {most})"


def _talk(view: View, of: str, counted: bool) -> str | None:
    """Why what the libraries communicated is no part of its own; none where it is, or nobody could."""
    configuration = view.run.manifest.get("configuration", {})
    if of == "inclusive" or "mpi" in configuration.get("layers", ["mpi"]):
        return None
    if view.once("ranks", lambda: view.value("select ranks from runs")) is None:
        return None
    if "mpi" not in configuration.get("counted", []):
        return f"{ASIDE}not recorded (--layers +mpi)"
    return None if counted else f"{ASIDE}only counted, of the whole run (--layers +mpi records it)"


def _notes(coverage: Captured, counted: bool, covered: bool) -> str | None:
    least = f"overlap is worked out for up to {SORTED:,} calls that are all recorded in full"
    return notes(
        None if counted else coverage.note, least if not covered and coverage.events else None
    )


@answer(
    "breakdown",
    by=choice(*KEYS, "call"),
    of=choice("inclusive", "exclusive"),
    limit=number(1, 5000),
)
def breakdown(
    view: View, selection: Selection, by: str = "layer", of: str = "inclusive", limit: int = 500
) -> Any:
    """One row per key and layer, the keys with the most time first."""
    if by == "call":
        return by_call(view, selection, of, min(limit, 100))
    coverage = captured(view, selection)
    covered = coverage.complete and coverage.events <= SORTED
    counted = is_counted(selection, by, of)
    traced = view.once("traced", lambda: are_traced(view))
    text = _text(view, selection, by, of, counted, covered, limit)
    stand_in = None if traced else STORAGE_STANDS
    beside = stand_in if by == "server" else _talk(view, of, counted)
    # What a server did for a call may be after it.
    of_calls = view if traced else narrowed(view, selection, inside=True)
    return _with(of_calls.table(text, note=_notes(coverage, counted, covered), units=UNITS), beside)


def _with(table: Table, beside: str | None) -> Table:
    """The same, with what is to be said of its rows, if there are any."""
    return replace(table, note=notes(table.note, beside)) if table.rows else table


def by_call(view: View, selection: Selection, of: str, limit: int) -> Table:
    """The longest of the selected calls that no other I/O call holds, each with the layers below it."""
    shortest = least(view, selection, limit, "enclosing_layer is null")
    chosen = f"from outermost_longest({conditions.calls(selection)}, {shortest}, {limit})"
    roots = narrowed(view, selection).rows(chosen)
    ids = _listed(str(row["id"]) for row in roots)
    streams = _listed(sorted({str(row["stream"]) for row in roots}))
    begin = min((row["start"] for row in roots), default=0)
    end = max((row["start"] + row["duration"] for row in roots), default=0)
    near = f"stream in ({streams}) and start between {begin} and {end}"
    text = f"from layers_inside(id in ({ids}), {near}, {of == 'exclusive'})"
    longest = view.table(text, note=missing(view, selection), units={"key": "call"})
    return _with(longest, _talk(view, of, counted=False))


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "null"
