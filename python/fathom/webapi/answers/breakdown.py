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
from fathom.webapi.answers.statements import statement
from fathom.webapi.answers.table import Table, notes
from fathom.webapi.answers.time_index import narrowed

KEYS = {
    "layer": "c.layer",
    "op": "c.layer || ':' || c.op",
    "lane": "lane.lane",
    "server": "coalesce(server_process.server, server_file.server)",
}
#: Whose each call is, where keys need it.
WHOSE = {
    "layer": "",
    "op": "",
    "lane": "left join lane using (process)",
    "server": "left join server_process using (process) left join server_file using (file)",
}
UNITS = {"sub-calls": "count"}
DIRECTORIES = "no server was recorded: each directory stands for one, with the calls on its files"
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


def _parts(view: View, selection: Selection, by: str, of: str) -> dict[str, str]:
    counted = is_counted(selection, by, of)
    of_files = selection.files is not None or selection.servers is not None
    layers = ", ".join(quoted(name) for name in ("server", *STORAGE))
    reached = f"layer in ({layers})" if by == "server" else "true"
    has_key = "key is not null and not inside" if by == "server" else "key is not null"
    storage = f"(layer = 'server' or {statement('latency/of_storage')}\n)"
    return {
        "by": by,
        "key": KEYS[by],
        "whose": WHOSE[by],
        "holds": _holds(view),
        "selected": conditions.calls(selection),
        "inside": "c.enclosing_layer is not distinct from c.layer"
        if by in ("layer", "lane")
        else "false",
        "reached": reached,
        "reaches": (storage if counted else reached) if by == "server" else "true",
        "exclusive": str(of == "exclusive" and by != "server").lower(),
        "holders": holders(view, by),
        "same": "true" if by == "server" else "h.layer = c.layer",
        "has_key": has_key,
        "picked_has_key": has_key.replace("key", "p.key"),
        "near_calls": _near_calls(view, selection),
        "below_known": str(not counted or not (of_files or by == "server")).lower(),
    }


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
    parts = _parts(view, selection, by, of)
    counted = is_counted(selection, by, of)
    traced = view.once("traced", lambda: are_traced(view))
    text = statement(
        "breakdown",
        **parts,
        of_server=statement("breakdown_traced" if traced else "breakdown_untraced", **parts),
        sums=statement("breakdown_counted" if counted else "breakdown_calls", **parts),
        covered=statement("breakdown_covered" if covered else "breakdown_uncovered", **parts),
        limit=str(limit),
    )
    stand_in = None if traced else DIRECTORIES
    beside = stand_in if by == "server" else _talk(view, of, counted)
    # What a server did for a call may be after it.
    of_calls = view if traced else narrowed(view, selection, inside=True)
    return _with(of_calls.table(text, note=_notes(coverage, counted, covered), units=UNITS), beside)


def _with(table: Table, beside: str | None) -> Table:
    """The same, with what is to be said of its rows, if there are any."""
    return replace(table, note=notes(table.note, beside)) if table.rows else table


def by_call(view: View, selection: Selection, of: str, limit: int) -> Table:
    """The longest of the selected calls that no other I/O call holds, each with the layers below it."""
    chosen = statement(
        "outermost_calls",
        selected=conditions.calls(selection),
        least=least(view, selection, limit, "enclosing_layer is null"),
        limit=str(limit),
    )
    roots = narrowed(view, selection).rows(chosen)
    text = statement(
        "breakdown_by_call",
        roots=_listed(str(row["id"]) for row in roots),
        streams=_listed(sorted({str(row["stream"]) for row in roots})),
        begin=str(min((row["start"] for row in roots), default=0)),
        end=str(max((row["start"] + row["duration"] for row in roots), default=0)),
        exclusive=str(of == "exclusive").lower(),
    )
    longest = view.table(text, note=missing(view, selection), units={"key": "call"})
    return _with(longest, _talk(view, of, counted=False))


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "null"
