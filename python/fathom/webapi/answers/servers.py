"""`servers`: what each server was asked, in all and over time; `samples`: what agents read from the system."""

from dataclasses import replace
from typing import Any

from fathom.analysis import conditions
from fathom.analysis.latency.servers import are_traced
from fathom.analysis.selection import Selection
from fathom.run.database import one_of, quoted
from fathom.webapi.answers import answer, number, text
from fathom.webapi.answers.breakdown import NONE, holders
from fathom.webapi.answers.captured import missing, no_files
from fathom.webapi.answers.session import View
from fathom.webapi.answers.span import bins_of
from fathom.webapi.answers.table import Table, notes
from fathom.webapi.answers.time_index import narrowed

MOST = 40  # servers drawn by name
HARDLY = 0.01  # of the most; web/src/screens/servers/query.ts has the same
UNITS = {"read": "bytes", "written": "bytes", "of the mean": "share"}
NO_SAMPLES = "not captured: no agent read the system; run with --sample 1"
TRACKS = 16  # of each group of measures and unit: as many as the page draws


def totals_of(selected: str) -> str:
    """What each server was asked by what is selected of the whole run."""
    return f"from server_loads({selected}, {HARDLY})"


@answer("servers", bins=number(1, 512))
def servers(view: View, selection: Selection, bins: int = 256) -> dict[str, Any]:
    """`stands`: what a server is here; `totals` of every level that knows files; `bins` of calls."""
    begin, width = bins_of(view, selection, bins)
    totals = totals_of(conditions.calls(replace(selection, t=None)))
    traced = view.once("traced", lambda: are_traced(view))
    stands, whose, reached = _reached(view, traced)
    over_time = (
        f"with stands_ as (select *, {whose} as what from {stands}()) from server_bins("
        f"{conditions.calls(selection)}, 'stands_', c.{whose}, {reached}, {_named(view)}, {begin}, {width}, {bins})"
    )
    every = view.remembered(totals, lambda: view.table(totals, UNITS, limit=5000))
    folded = every["total"] - MOST
    together = f"{folded:,} servers are together" if folded > 0 else None
    return {
        "stands": "process" if traced else "storage",
        "begin": begin,
        "width": width,
        "totals": every if every["rows"] else {**every, "note": no_files(view)},
        "bins": narrowed(view, selection).table(
            over_time, UNITS, note=notes(missing(view, selection), together)
        ),
    }


def _reached(view: View, traced: bool) -> tuple[str, str, str]:
    """What stands for servers, by which column, and which calls a server had to do."""
    if traced:
        # What servers had others do is their work.
        return "server_processes", "process", "layer = 'server' and kind <> 'comm'"
    holding = holders(view, "server")
    # Of most runs none: two looks at all calls are not planned then.
    unheld = (
        "true"
        if holding == NONE
        else f"(parent is null or parent not in (select id from calls where {holding}))"
    )
    return "server_files", "file", f"(is_system(layer) or is_store(layer)) and {unheld}"


def _named(view: View) -> str:
    """Of rows with a `server`: it is drawn by its name."""
    text = f"from servers_with_most_time({MOST})"
    names = tuple(row["server"] for row in view.once("servers named", lambda: view.rows(text)))
    return one_of("server", names)


def _left_out(view: View, shown: Table, chosen: str) -> str | None:
    """Of more than are shown one line."""
    text = f"select count(distinct (node, what, device)) from samples where process is null and {chosen}"
    every = view.once(text, lambda: view.value(text))
    if every <= len({tuple(row[:3]) for row in shown.rows}):
        return None
    return f"of {every:,} that were sampled, of each unit the {TRACKS} that reach highest; choose a node for others"


@answer("samples", width=number(1, 2048), what=text, node=number())
def samples(
    view: View, selection: Selection, width: int = 256, what: str = "", node: int | None = None
) -> Table:
    """What was sampled of nodes: counters as rates, least and most in each of `width` bins; `what` is a glob."""
    begin, step = bins_of(view, selection, width)
    chosen = ["true"]
    if what:
        chosen.append(f"what glob {quoted(what)}")
    if node is not None:
        chosen.append(f"node = {node}")
    table = view.table(
        f"from sample_bins({' and '.join(chosen)}, {begin}, {step}, {width}, {TRACKS})",
        {"node": "count", "least": "count", "most": "count"},
    )
    if table.rows:
        return replace(table, note=_left_out(view, table, " and ".join(chosen)))
    any_row = view.value("select count(*) from samples")
    return replace(table, note="filtered out: no sample is of this" if any_row else NO_SAMPLES)
