"""Answers to queries: `answer(source, query, segment, top)`.

Equations 2.1 to 2.4 of the thesis: what servers do side by side for one call counts as its slowest server's, sub-calls
add up, each part is clipped to the call that it serves (what is left is `after_return_seconds`); throughput of servers
adds up. Inclusive: time in a layer, what lies below included; exclusive: less the recorded calls inside, Fathom's own
among them, and less the servers' work.
"""

from fathom.analysis.latency import segment as segments
from fathom.analysis.latency.ask import Answer, Question
from fathom.analysis.latency.collectives import collectives
from fathom.analysis.latency.language import Query, forms
from fathom.analysis.latency.layers import breakdown
from fathom.analysis.latency.operations import operations
from fathom.analysis.latency.pieces import statement
from fathom.analysis.latency.segment import Segment
from fathom.analysis.own import own
from fathom.errors import UsageError
from fathom.run.store import Run


def _views_of(name: str) -> tuple[str, ...]:
    if "breakdown" in name:
        return "call", "process", "layer"
    if name.endswith("list"):
        return ("request",)
    if name.endswith("collective"):
        return ("collective",)
    return "call", "server", "pair", "subcall" if name.endswith(("max", "min")) else "detail"


#: Views of each kind of query, the one that says most first.
VIEWS_OF = {name: _views_of(name) for name in forms()}
VIEWS = frozenset(view for views in VIEWS_OF.values() for view in views)


def _nothing(ask: Question) -> UsageError:
    """Why no request is left."""
    query = ask.query
    if query.name == "latency collective":
        return UsageError("query: of none of these calls is it known which ranks made it together")
    if query.servers.ranges is not None and not any(n in query.servers for n in ask.servers):
        numbered = [f"{number}: {name}" for number, name in ask.servers.items()][: segments.MOST]
        listed = ", ".join(numbered) or "none in this run"
        return query.wrong("servers", f"no such server; there are {listed}")
    if query.subcalls.ranges is not None:
        counted = statement("any_subcall", servers_set="true")
        most = ask.ask("most_subcalls", counted=counted)["most"][0].as_py()
        known = f"; of these calls there are 0-{most - 1}" if most else ""
        return query.wrong("subcalls", f"no such sub-call of these calls on these servers{known}")
    if query.servers.ranges is not None:
        return query.wrong("servers", "these calls did not reach these servers")
    return UsageError("query: these calls reached no server and no file")


def _notes(ask: Question, answer: Answer) -> list[str]:
    notes = []
    if ask.run.workers and ask.traced:
        notes.append(
            "a server was traced: calls of several ranks belong together, so the cluster was not asked"
        )
    own_calls = own(ask.source)
    calls, recorded = sum(own_calls["calls"].to_pylist()), sum(own_calls["recorded"].to_pylist())
    if recorded < calls:
        notes.append(
            f"{recorded:,} of {calls:,} I/O calls were recorded in full; the others are not in this answer"
            " and have no number"
        )
    if ask.part.who == "rank":
        others = ask.source.sql(
            "select coalesce(sum(recorded), 0) as n from counters as c join processes as p using (process)"
            " where p.rank is null and enclosing is null and is_own_layer(layer, kind)"
        )["n"][0].as_py()
        if others:
            notes.append(f"{others:,} calls of processes that are no ranks are left out")
    for name in ("call", "request", "collective"):
        if ask.top and name in answer.views and answer.views[name].num_rows >= ask.top:
            notes.append(
                f"the {ask.top:,} longest {name}s; --top N gives more or fewer, --top 0 all"
            )
    if answer.servers and not ask.traced:
        notes.append("no server was traced: the OSTs of a file stand for one, or its file system")
    return notes


def answer(
    run: Run, query: Query, segment: Segment, top: int, views: frozenset[str] = VIEWS
) -> Answer:
    """The answer; of calls and requests the `top` longest, 0: all; of its `views` those named.

    Errors: `UsageError` where nothing is left of the run, with the place in the query and what there is; `RunError`
    where no call was recorded in full.
    """
    ask = Question(run, query, segments.select(run, query, segment), top)
    if query.name.startswith("latency breakdown"):
        reply = breakdown(ask, views)
    else:
        reply = collectives(ask) if query.name == "latency collective" else operations(ask, views)
    if not any(table.num_rows for table in reply.views.values()):
        raise _nothing(ask)
    numbering = ask.part.numbering
    if numbering is not None:
        reply.views = numbering.renumber(reply.views)
    if any("server" in table.column_names for table in reply.views.values()):
        reply.servers = list(ask.servers.items())
    reply.notes += _notes(ask, reply)
    return reply
