"""What reached servers: `latency operation`, `throughput`, `energy`, `call`, seen from the process and the server."""

from typing import Any

import pyarrow as pa

from fathom.analysis.latency.ask import Answer, Question, chosen

Columns = dict[str, str]


def _extremes(who: str, which: str) -> dict[str, Columns]:
    """Views of `latency operation max` (`longest`) and `min` (`shortest`)."""
    call = {who: "who", "call": "call"}
    named = {"function": "op", "start_seconds": "start"}
    there = {"seconds": which, "server": f"{which}_number", "server_name": f"{which}_number"}
    server = {"server": "number", "server_name": "number", "calls": "calls", "subcalls": "subcalls"}
    return {
        "call": call | named | {"subcalls": "subcalls", "servers": "servers"} | there | {"subcall": f"{which}_subcall"},
        "server": server | {"seconds": which, who: f"{which}_who", "call": f"{which}_call",
                            "subcall": f"{which}_subcall", f"most_{who}": "most_who", "most_seconds": "most_time"},
        "pair": {who: "who"} | server | {"seconds": which},
        "subcall": call | {"subcall": "subcall"} | named | {"servers": "servers"} | there,
    }  # fmt: skip


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
    if name in ("latency operation max", "latency operation min"):
        return _extremes(who, "longest" if name.endswith("max") else "shortest")
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
    rows = ask.requests("request_list", values, base="picked")
    columns = {
        ask.part.who: "who", "call": "call", "subcall": "subcall", "server": "number", "server_name": "number",
        "function": "op", "id": "id", "start_seconds": "start", "seconds": "time",
        "after_return_seconds": "after", "bytes": "bytes", "accesses": "accesses",
    }  # fmt: skip
    return Answer(ask.part.who, {"request": ask.table(rows, columns)})


def _server_rows(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
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
        out.append(row)
    return out


def _place(ask: Question, rows: list[dict[str, Any]], which: str) -> None:
    """Adds where the longest or the shortest request of each was: the first such of the lowest process."""
    times = ", ".join(str(time) for time in sorted({row[which] for row in rows}))
    found = ask.requests("extremes", {}, times=times).to_pylist()
    first: dict[tuple[int, int], dict[str, Any]] = {}
    for each in sorted(found, key=lambda each: each["who"]):
        first.setdefault((each["number"], each["time"]), each)
    mine = [first[row["number"], row[which]] for row in rows]
    values = {
        "processes": [each["process"] for each in mine],
        "ordinals": [each["call"] for each in mine],
        "ids": [each["id"] for each in mine],
    }
    places = {row["id"]: row for row in ask.requests("places", values, base="picked").to_pylist()}
    for row, each in zip(rows, mine, strict=True):
        row |= {f"{which}_{name}": places[each["id"]][name] for name in ("who", "call", "subcall")}


def _of_servers(ask: Question, watts: dict[str, float]) -> dict[str, pa.Table]:
    """Views `pair` and `server`."""
    pairs = ask.requests("pair_view", watts)
    if not pairs.num_rows:
        return {}
    rows = _server_rows(pairs.to_pylist())
    which = {"max": "longest", "min": "shortest"}.get(ask.query.name.rpartition(" ")[2])
    if which:
        _place(ask, rows, which)
    # Null in all rows would have no type.
    table = pa.Table.from_pylist(rows)
    for name in ("best_rate", "server_rate", "best_who"):
        kind = pa.int64() if name == "best_who" else pa.float64()
        values = pa.array([row[name] for row in rows], kind)
        table = table.set_column(table.column_names.index(name), name, values)
    return {"server": table, "pair": pairs}


def operations(ask: Question, views: frozenset[str]) -> Answer:
    """The views asked for; of `latency operation list` always `request`."""
    query = ask.query
    if query.name == "latency operation list":
        return _list(ask)
    watts = {"active": query.active, "inactive": query.inactive}
    columns = _columns(query.name, ask.part.who)
    rows: dict[str, pa.Table] = {}
    calls = chosen(ask.requests("longest_calls", {"top": ask.top}))
    near = ask.near(calls)
    if "call" in views:
        rows["call"] = near.requests("call_view", calls | watts, base="picked")
    if views & {"server", "pair"}:
        rows |= _of_servers(ask, watts)
    if "subcall" in views & columns.keys():
        rows["subcall"] = near.requests("subcall_view", calls | {"top": ask.top}, base="picked")
    if "detail" in views & columns.keys():
        rows["detail"] = near.requests("detail_view", calls | watts, base="picked")
    return Answer(ask.part.who, {name: ask.table(rows[name], columns[name]) for name in rows})
