"""What reached servers: `latency operation`, `throughput`, `energy`, `call`, seen from the process and the server."""

from typing import Any

import pyarrow as pa

from fathom.analysis.latency.ask import Answer, Question, chosen
from fathom.run import database

Columns = dict[str, str]


def _extremes(who: str, which: str) -> dict[str, Columns]:
    """Views of `latency operation max` (`longest`) and `min` (`shortest`)."""
    call = {who: "who", "call": "call"}
    named = {"function": "op", "start_seconds": "start"}
    request = {"seconds": which, "server": f"{which}_number", "server_name": f"{which}_number"}
    server = {"server": "number", "server_name": "number", "calls": "calls", "subcalls": "subcalls"}
    return {
        "call": call | named | {"subcalls": "subcalls", "servers": "servers"} | request
                | {"subcall": f"{which}_subcall"},
        "server": server | {"seconds": which, who: f"{which}_who", "call": f"{which}_call",
                            "subcall": f"{which}_subcall", f"most_{who}": "most_who", "most_seconds": "most_time"},
        "pair": {who: "who"} | server | {"seconds": which},
        "subcall": call | {"subcall": "subcall"} | named | {"servers": "servers"} | request,
    }  # fmt: skip


#: Which request of each server is told apart; times what it is the largest.
EXTREMES = {"latency operation max": ("longest", 1), "latency operation min": ("shortest", -1)}
#: Of the other queries: columns of all views, of `call` alone, of `server` alone.
MEASURES: dict[str, tuple[Columns, Columns, Columns]] = {
    "latency operation avg": ({"subcalls": "subcalls", "mean_seconds": "mean"}, {"servers": "servers"}, {}),
    "throughput": (
        {"bytes": "bytes", "server_seconds": "server_time", "server_mb_per_s": "server_rate"},
        {"seconds": "time", "mb_per_s": "rate"},
        {"best_{who}": "best_who", "best_mb_per_s": "best_rate"},
    ),
    "energy": ({"server_seconds": "server_time", "joules": "energy"}, {"seconds": "time"}, {}),
    "call": (
        {"subcalls": "subcalls", "requests": "requests", "accesses": "accesses", "bytes": "bytes"},
        {"servers": "servers"},
        {"processes": "processes"},
    ),
}  # fmt: skip


def _columns(name: str, who: str) -> dict[str, Columns]:
    """Of each view of a query its columns, and those of the rows they come from."""
    if name in EXTREMES:
        return _extremes(who, EXTREMES[name][0])
    measures, of_call, of_server = MEASURES[name]
    call = {who: "who", "call": "call"}
    server = {"server": "number", "server_name": "number"}
    of_server = {key.format(who=who): value for key, value in of_server.items()}
    return {
        "call": call | {"function": "op", "start_seconds": "start"} | measures | of_call,
        "server": server | {"calls": "calls"} | measures | of_server,
        "pair": {who: "who"} | server | {"calls": "calls"} | measures,
        "detail": call | server | measures,
    }


def _list(ask: Question) -> Answer:
    longest = ask.requests("longest_requests", {"top": ask.top})
    values = chosen(longest) | {
        "ids": longest["id"].to_pylist(),
        "numbers": longest["number"].to_pylist(),
    }
    rows = ask.narrowed(chosen(longest)).requests("request_list", values, base="picked")
    columns = {
        ask.part.who: "who", "call": "call", "subcall": "subcall", "server": "number", "server_name": "number",
        "function": "op", "id": "id", "start_seconds": "start", "seconds": "time",
        "after_return_seconds": "after", "bytes": "bytes", "accesses": "accesses",
    }  # fmt: skip
    return Answer(ask.part.who, {"request": ask.table(rows, columns)})


def _server_rows(pairs: list[dict[str, Any]], which: str | None) -> list[dict[str, Any]]:
    """Sums of each server over the processes, and who was most in it; ties go to the lowest number."""
    of: dict[int, list[dict[str, Any]]] = {}
    for row in pairs:
        of.setdefault(row["number"], []).append(row)
    summed = (
        "calls",
        "subcalls",
        "requests",
        "accesses",
        "bytes",
        "server_time",
        "after",
        "energy",
    )
    out = []
    for number, rows in sorted(of.items()):
        most = max(rows, key=lambda row: (row["server_time"], -row["who"]))
        moving = [row for row in rows if row["server_rate"]]
        best = max(moving, key=lambda row: (row["server_rate"], -row["who"]), default=None)
        data_time = sum(row["data_time"] or 0 for row in rows)
        row = {"number": number} | {name: sum(row[name] for row in rows) for name in summed}
        row |= {
            "processes": len(rows), "mean": row["server_time"] / row["subcalls"],
            "most_who": most["who"], "most_time": most["server_time"],
            "longest": max(row["longest"] for row in rows),
            "shortest": min(row["shortest"] for row in rows),
            "server_rate": row["bytes"] / data_time * 1e3 if data_time else None,
            "best_who": best["who"] if best else None, "best_rate": best["server_rate"] if best else None,
        }  # fmt: skip
        if which:
            lasted = [one for one in rows if one[which] == row[which]]
            row["first_id"] = min(lasted, key=lambda one: one["who"])["first_id"]
        out.append(row)
    return out


def _holders(ask: Question, servers: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Outermost calls that hold each server's longest or shortest request."""
    ids = ", ".join(str(row["first_id"]) for row in servers)
    return chosen(ask.source.sql(f"select process, call from calls where id in ({ids})"))


def _place(
    narrowed: Question, servers: list[dict[str, Any]], held: dict[str, list[int]], which: str
) -> None:
    """Adds where the longest or the shortest request of each server stands, in the calls that hold them."""
    values = held | {"ids": [row["first_id"] for row in servers]}
    rows = narrowed.requests("places", values, base="picked").to_pylist()
    places = {row["id"]: row for row in rows}
    for row in servers:
        place = places[row["first_id"]]
        row |= {f"{which}_{name}": place[name] for name in ("who", "call", "subcall")}


def _server_table(servers: list[dict[str, Any]]) -> pa.Table:
    """Null in all rows would have no type."""
    table = database.table_of(servers)
    for name in ("best_rate", "server_rate", "best_who"):
        kind = pa.int64() if name == "best_who" else pa.float64()
        values = pa.array([row[name] for row in servers], kind)
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def operations(ask: Question, views: frozenset[str]) -> Answer:
    """The views asked for; of `latency operation list` always `request`."""
    query = ask.query
    if query.name == "latency operation list":
        return _list(ask)
    which, sign = EXTREMES.get(query.name, (None, 0))
    watts = {"active": query.active, "inactive": query.inactive}
    columns = _columns(query.name, ask.part.who)
    calls = chosen(ask.requests("longest_calls", {"top": ask.top}))
    pairs, servers, held = None, [], dict[str, list[int]]()
    if views & {"server", "pair"}:
        pairs = ask.requests("pair_view", watts | {"sign": sign})
        servers = _server_rows(pairs.to_pylist(), which)
    if servers and which:
        held = _holders(ask, servers)
    narrowed = ask.narrowed({key: each + held.get(key, []) for key, each in calls.items()})
    rows: dict[str, pa.Table] = {}
    if "call" in views:
        rows["call"] = narrowed.requests("call_view", calls | watts, base="picked")
    if servers:
        if which:
            _place(narrowed, servers, held, which)
        rows |= {"server": _server_table(servers), "pair": pairs}
    if "subcall" in views & columns.keys():
        rows["subcall"] = narrowed.requests("subcall_view", calls | {"top": ask.top}, base="picked")
    if "detail" in views & columns.keys():
        rows["detail"] = narrowed.requests("detail_view", calls | watts, base="picked")
    return Answer(ask.part.who, {name: ask.table(rows[name], columns[name]) for name in rows})
