"""One call of a run: `call` with all around it, `tree` with all below it, `slowest` to begin with."""

import statistics
from typing import Any

import pyarrow as pa

from fathom.analysis import conditions
from fathom.analysis.latency.layers import stack
from fathom.analysis.selection import Selection
from fathom.errors import UsageError
from fathom.run.database import quoted
from fathom.webapi.answers import answer, choice, number, table
from fathom.webapi.answers.lines import around
from fathom.webapi.answers.longest import how_many, least
from fathom.webapi.answers.session import View
from fathom.webapi.answers.table import Table
from fathom.webapi.answers.time_index import narrowed

Row = dict[str, Any]
#: More children of one call than this are bundled.
CHILDREN = 200
#: Calls that `tree` gives at most.
NODES = 5000
#: A thread of at most so many calls is read once for all that is asked of one of them.
THREAD = 200_000
#: Members of a collective that are named: the longest.
MEMBERS = 512
#: What lists show of a call, but for names.
OWN = (
    "rank", "process", "depth", "layer", "op", "kind", "start", "duration", "nested", "exclusive", "bytes", "file",
)  # fmt: skip


def briefs(view: View, chosen: str) -> list[Row]:
    """Calls of a statement over `calls`, as lists show them, in the order of their starts: what brief_calls() gives,
    with names that are asked once a run."""
    rows = view.rows(f"select id, parent, {', '.join(OWN)} {chosen}")
    return _named(view, sorted(rows, key=lambda row: (row["start"], row["id"])))


def _named(view: View, rows: list[Row]) -> list[Row]:
    lanes = view.once("lane of process", lambda: _lanes(view))
    files = _files(view, {row["file"] for row in rows} - {None})
    return [_listed(row, lanes[row["process"]], files.get(row["file"], {})) for row in rows]


def _listed(row: Row, lane: Row, file: Row) -> Row:
    return {
        "call": str(row["id"]), "parent": None if row["parent"] is None else str(row["parent"]), "lane": lane["lane"],
        **{name: row[name] for name in OWN},
        "path": file.get("path"), "server": file.get("server") or lane["server"],
    }  # fmt: skip


def _lanes(view: View) -> dict[int, Row]:
    """Lane and server of each process."""
    processes = view.rows(
        "select process, lane, server from lanes() left join server_processes() using (process)"
    )
    return {row["process"]: row for row in processes}


def _files(view: View, wanted: set[int]) -> dict[int, Row]:
    """Path and server of at least these files: what was asked before is kept with the run."""
    known: dict[int, Row] = view.once("names of files", dict)
    new = wanted - known.keys()
    if new:
        named = view.rows(
            "select f.file, path, server from files as f left join server_files() using (file)"
            f" where f.file in ({_list(sorted(new))})"
        )
        known.update({row["file"]: row for row in named})
    return known


def _stream(call: int) -> int:
    """Calls of a thread lie together: what names the stream is found without looking through the others."""
    return call >> 40


def _brief(view: View, row: Row) -> Row:
    """One row of `calls` as lists show it."""
    return _named(view, [row])[0]


def _thread(view: View, call: int) -> str:
    """The table that has the calls of a call's thread: each look at all calls costs more than one at these, which are
    held for the calls of it that are looked at next."""
    stream = _stream(call)
    events = view.value(f"select events from streams where stream = {stream}")
    if events is None or events > THREAD:
        return "calls"
    text = f"from calls where stream = {stream}"
    held = view.opened.latest(text, lambda: view.sql(text), view.stop.check)
    view.cursor.register("thread", held)
    return "thread"


def _row_of(view: View, call: int, thread: str) -> Row:
    rows = view.rows(f"from {thread} where id = {call} and stream = {_stream(call)}")
    rows = rows or view.rows(f"from calls where id = {call}")
    if not rows:
        raise UsageError(f"call={call}: this run has no such call; slowest lists some")
    return rows[0]


def bundles(rows: list[Row], most: int) -> list[Row]:
    """The rows themselves, or of too many one for each layer, op and server."""
    if len(rows) <= most:
        return rows
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["layer"], row["op"], row["server"]), []).append(row)
    return [
        {
            "layer": layer, "op": op, "server": server, "calls": len(alike),
            "time": sum(row["duration"] for row in alike),
            "median": statistics.median_low(row["duration"] for row in alike),
            "longest": max(row["duration"] for row in alike),
            "call": max(alike, key=lambda row: row["duration"])["call"],
        }
        for (layer, op, server), alike in groups.items()
    ]  # fmt: skip


def _ancestors(view: View, row: Row, thread: str) -> list[Row]:
    """From the outermost down."""
    above: list[Row] = []
    while row["parent"] is not None:
        row = _row_of(view, row["parent"], thread)
        above.append(row)
    return _named(view, above[::-1])


def _has_links(view: View) -> bool:
    return bool(view.once("links", lambda: view.value("select 1 from links limit 1")))


def _links(view: View, call: int) -> list[Row]:
    if not _has_links(view):
        return []
    rows = view.rows(
        f"select kind, if(from_call = {call}, 'to', 'from') as direction, bytes, confidence,"
        f" if(from_call = {call}, to_call, from_call) as other from links"
        f" where from_call = {call} or to_call = {call} order by kind, other limit {CHILDREN}"
    )
    others = {int(row["call"]): row for row in briefs(view, _of(row["other"] for row in rows))}
    return [
        {**{name: row[name] for name in ("kind", "direction", "bytes", "confidence")},
         "call": others.get(row["other"], str(row["other"]))}
        for row in rows
    ]  # fmt: skip


def _of(calls: Any) -> str:
    """A statement that gives these calls."""
    named = sorted({call for call in calls if call is not None})
    streams = sorted({_stream(call) for call in named})
    inside = f"stream in ({_list(streams)}) and id in ({_list(named)})" if named else "false"
    return f"from calls where {inside}"


def _list(numbers: Any) -> str:
    return ", ".join(map(str, numbers))


def _collective(view: View, number_of: int | None) -> Row | None:
    if number_of is None:
        return None
    return view.once(("collective", number_of), lambda: _members(view, number_of))


def _members(view: View, number_of: int) -> Row | None:
    rows = view.rows(f"from collectives where collective = {number_of}")
    if not rows:
        return None
    operation = rows[0]
    chosen = (
        f"from calls where collective = {number_of} and start between {operation['first_enter']} and"
        f" {operation['last_enter']} order by duration desc limit {MEMBERS}"
    )
    return {
        **operation,
        "group_hash": str(operation["group_hash"]),
        "members": sorted(briefs(view, chosen), key=lambda operation: operation["lane"]),
    }


def _siblings(view: View, row: Row, thread: str) -> Row:
    """Calls of the same function in the same call, of outermost ones in the same thread: those that differ most, the
    usual one, and those beside this one."""
    within = "parent is null" if row["parent"] is None else f"parent = {row['parent']}"
    (siblings,) = view.rows(
        f"from siblings('{thread}', {row['id']}, {row['stream']}, {row['start']}, {row['duration']},"
        f" layer = {quoted(row['layer'])} and op = {quoted(row['op'])} and {within})"
    )
    return {
        name: value if name == "count" or value is None else str(value)
        for name, value in siblings.items()
    }


def _breakdown(view: View, row: Row, holds: bool, thread: str) -> dict[str, Any]:
    """Exclusive time of the call and of those inside it, by layer from the top of the stack."""
    if not holds:
        return {"layers": [[row["layer"], row["exclusive"]]]}
    stop = row["start"] + row["duration"]
    rows = view.rows(
        f"from exclusive_inside('{thread}', {row['id']}, {row['stream']}, {row['start']}, {stop})"
    )
    spent = {one["layer"]: int(one["exclusive"]) for one in rows}
    return {"layers": [[layer, spent[layer]] for layer in stack(spent)]}


def _details(view: View, row: Row) -> Row:
    """Every column, with names for numbers."""
    args = view.rows(f"select name, value, text from args where call = {row['id']} order by name")
    thing = _one_of(view, "select class, name from objects where object", row["object"])
    site = _one_of(view, "select function, source, line, module from sites where site", row["site"])
    rest = {name: value for name, value in row.items() if name not in ("id", "parent")}
    return {
        **rest, **_brief(view, row),
        "args": {arg["name"]: arg["value"] if arg["text"] is None else arg["text"] for arg in args},
        "object": thing,
        "site": site and {"site": row["site"], **site},
        "hints": _hints(view, row),
    }  # fmt: skip


def _one_of(view: View, text: str, number: int | None) -> Row | None:
    """The row that a number stands for; what was asked before is kept with the run."""
    if number is None:
        return None
    matches = view.once((text, number), lambda: view.rows(f"{text} = {number}"))
    return matches[0] if matches else None


def _hints(view: View, row: Row) -> list[Row]:
    given = [f"{name} = {row[name]}" for name in ("object", "file") if row[name] is not None]
    text = (
        f"select source, key, value from hints_in_force where process = {row['process']}"
        f" and ({' or '.join(given)}) order by key, source"
    )
    return view.once(text, lambda: view.rows(text)) if given else []


@answer("call", required=("call",), call=number(0, 2**64 - 1), limit=number(1, 2000))
def call(view: View, _: Selection, *, call: int, limit: int = CHILDREN) -> Row:
    """One call, and all that stands around it."""
    thread = _thread(view, call)
    row = _row_of(view, call, thread)
    inside = briefs(view, f"from {thread} where parent = {call} and stream = {row['stream']}")
    return {
        "call": _details(view, row),
        "ancestors": _ancestors(view, row, thread),
        "children": bundles(inside, limit),
        "links": _links(view, call),
        "collective": _collective(view, row["collective"]),
        "siblings": _siblings(view, row, thread),
        "breakdown": _breakdown(view, row, bool(inside), thread),
        "source": None if row["site"] is None else around(view, row["site"]),
    }


TREE = (
    ("call", "call"), ("parent", "call"), ("relation", "text"), ("lane", "lane"), ("layer", "text"), ("op", "text"),
    ("start", "ns"), ("duration", "ns"), ("nested", "ns"), ("bytes", "bytes"), ("server", "text"), ("calls", "count"),
)  # fmt: skip


def _below(view: View, calls: list[int], thread: str) -> list[Row]:
    """The calls inside these, and those that serve or carry them: one row for each, with `under` and `relation`."""
    inside = briefs(view, f"from {thread} where stream in ({_list({_stream(one) for one in calls})})"
        f" and parent in ({_list(calls)})")  # fmt: skip
    rows = [{**row, "under": row["parent"], "relation": "calls"} for row in inside]
    if not _has_links(view):
        return rows
    links = view.rows(
        f"select kind, to_call, from_call from links where to_call in ({_list(calls)})"
        f" limit {NODES}"
    )
    others = {int(row["call"]): row for row in briefs(view, _of(one["from_call"] for one in links))}
    return rows + [
        {**others[one["from_call"]], "under": str(one["to_call"]), "relation": one["kind"]}
        for one in links
        if one["from_call"] in others
    ]


@answer("tree", required=("call",), call=number(0, 2**64 - 1), depth=number(1, 64))
def tree(view: View, _: Selection, *, call: int, depth: int = 8) -> Table:
    """What is below a call, level by level, flat."""
    thread = _thread(view, call)
    top = _brief(view, _row_of(view, call, thread))
    rows, level, seen = [{**top, "under": None, "relation": "", "calls": 1}], [call], {call}
    for _level in range(depth):
        if not level or len(rows) > NODES:
            break
        is_near = {_stream(call_row) for call_row in level} == {_stream(call)}
        below = _below(view, level, thread if is_near else "calls")
        below = [call_row for call_row in below if int(call_row["call"]) not in seen]
        level = []
        for under in dict.fromkeys(call_row["under"] for call_row in below):
            children = bundles(
                [call_row for call_row in below if call_row["under"] == under], CHILDREN
            )
            for call_row in children:
                is_call = "relation" in call_row
                rows.append(call_row | {"calls": 1} if is_call else _bundle(call_row, under))
                level += [int(call_row["call"])] if is_call else []
        seen.update(level)
    values = [
        [call_row.get("under" if name == "parent" else name) for name, _ in TREE]
        for call_row in rows
    ]
    note = f"more than {NODES:,} calls: deeper ones are left out" if len(rows) > NODES else None
    return Table(list(TREE), values, len(values), "", note)


def _bundle(bundled: Row, under: str) -> Row:
    return {
        **bundled, "under": under, "relation": "bundle", "lane": None, "start": None, "duration": bundled["time"],
        "nested": None, "bytes": None,
    }  # fmt: skip


@answer("slowest", limit=number(1, 2000), by=choice("duration", "exclusive"))
def slowest(view: View, selection: Selection, *, limit: int = 200, by: str = "duration") -> Table:
    """The longest I/O calls that are selected, or those that kept the most for themselves."""
    where = conditions.calls(selection)
    is_longest = by == "duration"
    shortest = least(view, selection, limit) if is_longest else "true"
    size = "duration" if is_longest else "duration - nested"
    sql = (
        f"with longest_ as (from longest_calls({where}, {shortest}, {size}, {limit}))"
        f" from brief_calls('longest_') order by {by} desc, call"
    )
    rows: pa.Table = narrowed(view, selection).sql(sql)
    total = how_many(view, selection) if rows.num_rows == limit else None
    return table.of(rows, sql, {"file": "file", "path": "text"}, total)
