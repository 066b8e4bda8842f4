"""Calls of a run: `call` with all around it, `tree` with all below it, `slowest` to begin with.

Of many calls, as a report has them, each table is asked once: statements cost more than rows.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from fathom.analysis import conditions
from fathom.analysis.latency.layers import stack
from fathom.analysis.selection import Selection
from fathom.pages.answers import place
from fathom.webapi.answers import answer, answer_each, choice, number, table
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
#: Threads of together at most so many calls are read once for all that is asked of these.
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
    files = _known(
        view, "file", "select f.file, path, server from files as f left join server_files() using (file)",
        (row["file"] for row in rows),
    )  # fmt: skip
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


def _known(view: View, key: str, text: str, wanted: Iterable[int | None]) -> dict[int, Row]:
    """Rows of a statement by `key`, of at least these: what was asked before is kept with the run."""
    known: dict[int, Row] = view.once(text, dict)
    new = {one for one in wanted if one is not None} - known.keys()
    if new:
        # The condition stands outside: the statement may be a join.
        rows = view.rows(f"from ({text}) where {key} in ({_list(sorted(new))})")
        known.update({row[key]: row for row in rows})
    return known


def _stream(call: int) -> int:
    """Calls of a thread lie together: what names the stream is found without looking through the others."""
    return call >> 40


def _threads(view: View, calls: Iterable[int]) -> str:
    """The table that has the calls of these calls' threads: each look at all calls costs more than one at these, which
    are held for the calls of them that are looked at next."""
    streams = sorted({_stream(call) for call in calls})
    rows = view.rows(
        f"select count(*) as streams, sum(events) as events from streams where stream in ({_list(streams)})"
    )
    if rows[0]["streams"] != len(streams) or rows[0]["events"] > THREAD:
        return "calls"
    text = f"from calls where stream in ({_list(streams)})"
    held = view.opened.latest(text, lambda: view.sql(text), view.stop.check)
    view.cursor.register("threads", held)
    return "threads"


def _rows_of(view: View, calls: Iterable[int], threads: str) -> dict[int, Row]:
    """Their rows, as far as there are: looked for in their threads first."""
    wanted = set(calls)
    rows = {row["id"]: row for row in view.rows(_of(wanted, threads))}
    missing = sorted(wanted - rows.keys())
    if missing:
        elsewhere = view.rows(f"from calls where id in ({_list(missing)})")
        rows |= {row["id"]: row for row in elsewhere}
    return rows


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


def _ancestors(view: View, rows: Iterable[Row], threads: str) -> dict[int, list[Row]]:
    """Of each call from the outermost down."""
    of = {row["id"]: row["parent"] for row in rows}
    above: dict[int, Row] = {}
    wanted = set(of.values()) - {None}
    while wanted:
        above |= _rows_of(view, wanted, threads)
        wanted = {above[call]["parent"] for call in wanted} - {None} - above.keys()
    listed = dict(zip(above, _named(view, list(above.values())), strict=True))
    chains: dict[int, list[Row]] = {}
    for call, parent in of.items():
        chain = []
        while parent is not None:
            chain.append(listed[parent])
            parent = above[parent]["parent"]
        chains[call] = chain[::-1]
    return chains


def _has_links(view: View) -> bool:
    return bool(view.once("links", lambda: view.value("select 1 from links limit 1")))


def _links(view: View, calls: Sequence[int]) -> dict[int, list[Row]]:
    linked: dict[int, list[Row]] = defaultdict(list)
    if not _has_links(view):
        return linked
    rows = view.rows(f"from links_of(list_contains([{_list(calls)}], from_call),"
        f" list_contains([{_list(calls)}], to_call), {CHILDREN})")  # fmt: skip
    others = {int(row["call"]): row for row in briefs(view, _of(row["other"] for row in rows))}
    for row in rows:
        linked[row["call"]].append(
            {**{name: row[name] for name in ("kind", "direction", "bytes", "confidence")},
             "call": others.get(row["other"], str(row["other"]))}
        )  # fmt: skip
    return linked


def _of(calls: Iterable[int | None], source: str = "calls") -> str:
    """A statement that gives these calls."""
    named = sorted({call for call in calls if call is not None})
    streams = sorted({_stream(call) for call in named})
    inside = f"stream in ({_list(streams)}) and id in ({_list(named)})" if named else "false"
    return f"from {source} where {inside}"


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _collectives(view: View, rows: Iterable[Row]) -> dict[int, Row]:
    """By number, with their members; what was asked before is kept with the run."""
    known: dict[int, Row] = view.once("collectives", dict)
    new = {row["collective"] for row in rows} - {None} - known.keys()
    if new:
        known.update(_members(view, sorted(new)))
    return known


def _members(view: View, numbers: list[int]) -> dict[int, Row]:
    chosen = f"collective in ({_list(numbers)})"
    operations = view.rows(f"from collectives where {chosen}")
    if not operations:
        return {}
    first = min(one["first_enter"] for one in operations)
    last = max(one["last_enter"] for one in operations)
    members: dict[int, list[Row]] = defaultdict(list)
    rows = view.rows(
        f"select id, parent, collective, {', '.join(OWN)} from calls"
        f" where {chosen} and start between {first} and {last}"
        f" qualify row_number() over (partition by collective order by duration desc) <= {MEMBERS}"
    )
    for row, listed in zip(rows, _named(view, rows), strict=True):
        members[row["collective"]].append(listed)
    return {
        one["collective"]: {
            **one,
            "group_hash": str(one["group_hash"]),
            "members": sorted(members[one["collective"]], key=lambda member: member["lane"]),
        }
        for one in operations
    }


def _siblings(view: View, calls: Sequence[int], threads: str) -> dict[int, Row]:
    """Calls of the same function in the same call, of outermost ones in the same thread: those that differ most, the
    usual one, and those beside each."""
    rows = view.rows(f"from siblings('{threads}', id in ({_list(calls)}))")
    return {
        row["id"]: {
            name: value if name == "count" or value is None else str(value)
            for name, value in row.items()
            if name != "id"
        }
        for row in rows
    }


def _breakdowns(
    view: View, rows: Iterable[Row], with_children: set[int], threads: str
) -> dict[int, dict[str, Any]]:
    """Exclusive time of each call and of those inside it, by layer from the top of the stack."""
    spent = {row["id"]: {row["layer"]: row["exclusive"]} for row in rows}
    outer = [row for row in rows if row["id"] in with_children]
    if outer:
        first = min(row["start"] for row in outer)
        last = max(row["start"] + row["duration"] for row in outer)
        streams = _list(sorted({row["stream"] for row in outer}))
        near = f"stream in ({streams}) and start between {first} and {last}"
        which = f"id in ({_list(row['id'] for row in outer)})"
        spent |= {row["id"]: {} for row in outer}
        for one in view.rows(f"from exclusive_inside('{threads}', {near}, {which})"):
            spent[one["call"]][one["layer"]] = int(one["exclusive"])
    return {
        call: {"layers": [[layer, times[layer]] for layer in stack(times)]}
        for call, times in spent.items()
    }


def _has_kernel(view: View) -> bool:
    return bool(view.once("kernel", lambda: view.value("select 1 from kernel_events limit 1")))


def _kernel(view: View, calls: Sequence[int], threads: str) -> dict[int, Row]:
    """What the kernel did in each call and those inside it, where that was recorded."""
    if not _has_kernel(view):
        return {}
    rows = view.rows(f"from kernel_inside('{threads}', id in ({_list(calls)}))")
    return {row.pop("call"): row for row in rows}


def _details(view: View, rows: Sequence[Row]) -> list[Row]:
    """Every column, with names for numbers."""
    args: dict[int, dict[str, Any]] = defaultdict(dict)
    text = f"select call, name, value, text from args where call in ({_list(row['id'] for row in rows)}) order by name"
    for arg in view.rows(text):
        args[arg["call"]][arg["name"]] = arg["value"] if arg["text"] is None else arg["text"]
    things = _known(
        view, "object", "select object, class, name from objects", (row["object"] for row in rows)
    )
    sites, hints = _sites(view, rows), _hints(view, rows)
    return [
        {
            **{name: value for name, value in row.items() if name not in ("id", "parent")},
            **brief,
            "args": args[row["id"]],
            "object": _without(things.get(row["object"]), "object"),
            "site": sites.get(row["site"]),
            "hints": hints(row),
        }
        for row, brief in zip(rows, _named(view, list(rows)), strict=True)
    ]


def _without(row: Row | None, key: str) -> Row | None:
    return row and {name: value for name, value in row.items() if name != key}


def _sites(view: View, rows: Iterable[Row]) -> dict[int, Row]:
    text = "select site, function, source, line, module from sites"
    sites = _known(view, "site", text, (row["site"] for row in rows))
    new = [number for number, row in sites.items() if "path" not in row]
    if new:
        for row in view.rows(f"from site_paths(frames := true, wanted := [{_list(new)}])"):
            sites[row["site"]]["path"] = [place(frame) for frame in row["path"]]
    return sites


def _hints(view: View, rows: Iterable[Row]) -> Callable[[Row], list[Row]]:
    """What gives the hints in force at a call, each once."""
    files = {row["file"] for row in rows} - {None}
    objects = {row["object"] for row in rows} - {None}
    inside = [
        f"{name} in ({_list(sorted(numbers))})"
        for name, numbers in (("object", objects), ("file", files))
        if numbers
    ]
    given: dict[int, list[Row]] = defaultdict(list)
    if inside:
        text = "select process, object, file, source, key, value from hints_in_force"
        for hint in view.rows(f"{text} where {' or '.join(inside)} order by key, source, value"):
            given[hint["process"]].append(hint)

    def of(row: Row) -> list[Row]:
        names = ("source", "key", "value")
        given_hints = [
            tuple(hint[name] for name in names)
            for hint in given[row["process"]]
            if any(row[name] is not None and row[name] == hint[name] for name in ("object", "file"))
        ]
        # A file has the same of many of its objects: once is enough.
        return [dict(zip(names, hint, strict=True)) for hint in dict.fromkeys(given_hints)]

    return of


def _source(view: View, site: Row | None) -> Row | None:
    if not site:
        return None
    return view.once(("source", site["site"]), lambda: around(view, site["source"], site["line"]))


NONE = "this run has no such call; slowest lists some"


@answer_each("call", "call", NONE, call=number(0, 2**64 - 1), limit=number(1, 2000))
def call(view: View, _: Selection, *, call: list[int], limit: int = CHILDREN) -> dict[int, Row]:
    """Calls, each with all that stands around it."""
    threads = _threads(view, call)
    rows = _rows_of(view, call, threads)
    calls, every = list(rows), list(rows.values())
    if not rows:
        return {}
    inside = _inside(view, calls, {row["stream"] for row in every}, threads)
    details, sites = _details(view, every), _sites(view, every)
    above, links = _ancestors(view, every, threads), _links(view, calls)
    collectives, siblings = _collectives(view, every), _siblings(view, calls, threads)
    spent = _breakdowns(view, every, set(inside), threads)
    kernel = _kernel(view, calls, threads)
    return {
        row["id"]: {
            "call": detail,
            "ancestors": above[row["id"]],
            "children": bundles(inside[row["id"]], limit),
            "links": links[row["id"]],
            "collective": collectives.get(row["collective"]),
            "siblings": siblings[row["id"]],
            "breakdown": spent[row["id"]],
            "kernel": kernel.get(row["id"]),
            "source": _source(view, sites.get(row["site"])),
        }
        for row, detail in zip(every, details, strict=True)
    }


def _inside(
    view: View, calls: Sequence[int], streams: set[int], threads: str
) -> dict[int, list[Row]]:
    """Calls that these made, which are in these streams."""
    children: dict[int, list[Row]] = defaultdict(list)
    text = (
        f"from {threads} where stream in ({_list(sorted(streams))}) and parent in ({_list(calls)})"
    )
    for row in briefs(view, text):
        children[int(row["parent"])].append(row)
    return children


TREE = (
    ("call", "call"), ("parent", "call"), ("relation", "text"), ("lane", "lane"), ("layer", "text"), ("op", "text"),
    ("start", "ns"), ("duration", "ns"), ("nested", "ns"), ("bytes", "bytes"), ("server", "text"), ("calls", "count"),
)  # fmt: skip


def _below(view: View, calls: Sequence[int], threads: str, most: int) -> list[Row]:
    """The calls inside these, and those that serve or carry them, so many at most: one row for each, with `under` and
    `relation`."""
    inside = _inside(view, calls, {_stream(one) for one in calls}, threads)
    rows = [
        {**row, "under": row["parent"], "relation": "calls"}
        for children in inside.values()
        for row in children
    ]
    if not _has_links(view):
        return rows
    links = view.rows(
        f"select kind, to_call, from_call from links where to_call in ({_list(calls)}) limit {most}"
    )
    others = {int(row["call"]): row for row in briefs(view, _of(one["from_call"] for one in links))}
    return rows + [
        {**others[one["from_call"]], "under": str(one["to_call"]), "relation": one["kind"]}
        for one in links
        if one["from_call"] in others
    ]


class Tree:
    """What is below one call, as far as it was looked at."""

    def __init__(self, top: Row) -> None:
        """`top`: the call itself, as lists show it."""
        self.rows = [{**top, "under": None, "relation": "", "calls": 1}]
        self.deepest = [int(top["call"])]
        self.seen = {int(top["call"])}

    def add(self, below: Iterable[Row]) -> None:
        """One level more: `below` are calls under those of the last one."""
        by_parent: dict[str, list[Row]] = {}
        for row in below:
            if int(row["call"]) not in self.seen:
                by_parent.setdefault(row["under"], []).append(row)
        self.deepest = []
        for under, children in by_parent.items():
            for row in bundles(children, CHILDREN):
                is_call = "relation" in row
                self.rows.append(row | {"calls": 1} if is_call else _bundle(row, under))
                self.deepest += [int(row["call"])] if is_call else []
        self.seen.update(self.deepest)
        if len(self.rows) > NODES:
            self.deepest = []

    def table(self) -> Table:
        """Flat."""
        values = [
            [row.get("under" if name == "parent" else name) for name, _ in TREE]
            for row in self.rows
        ]
        is_cut = len(self.rows) > NODES
        note = f"more than {NODES:,} calls: deeper ones are left out" if is_cut else None
        return Table(list(TREE), values, len(values), "", note)


@answer_each("tree", "call", NONE, call=number(0, 2**64 - 1), depth=number(1, 64))
def tree(view: View, _: Selection, *, call: list[int], depth: int = 8) -> dict[int, Table]:
    """What is below each call, level by level, flat."""
    threads = _threads(view, call)
    tops = _named(view, list(_rows_of(view, call, threads).values()))
    trees = {int(top["call"]): Tree(top) for top in tops}
    near = {_stream(one) for one in call}
    for _level in range(depth):
        deepest = sorted({one for tree in trees.values() for one in tree.deepest})
        if not deepest:
            break
        is_near = {_stream(one) for one in deepest} <= near
        below: dict[int, list[Row]] = defaultdict(list)
        for row in _below(view, deepest, threads if is_near else "calls", NODES * len(trees)):
            below[int(row["under"])].append(row)
        for tree in trees.values():
            tree.add(row for one in tree.deepest for row in below.get(one, ()))
    return {one: tree.table() for one, tree in trees.items()}


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
