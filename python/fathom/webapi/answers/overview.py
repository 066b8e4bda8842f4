"""`overview` and `findings`: what `fathom show` says, in the same words and figures, and where it can be seen."""

import statistics
from typing import Any

from fathom.analysis import findings as conclusions
from fathom.analysis import summary
from fathom.analysis.findings import Findings
from fathom.analysis.part import HEAT_OF_ALL, is_all_own
from fathom.analysis.selection import Selection
from fathom.cache import conclusions as cached
from fathom.cache.statements import CachedStatements
from fathom.pages import answers, coverage_footer, facts, page
from fathom.pages import findings as words
from fathom.pages.part import Page
from fathom.run import cost
from fathom.run.background import in_background
from fathom.run.limitations import reads_and_writes
from fathom.run.manifest import command_line
from fathom.text import numbers
from fathom.webapi.answers import account, answer
from fathom.webapi.answers.captured import Captured
from fathom.webapi.answers.lanes import lanes
from fathom.webapi.answers.servers import totals_of
from fathom.webapi.answers.session import View
from fathom.webapi.answers.span import duration
from fathom.webapi.answers.table import Table
from fathom.webapi.answers.tile import has_calls, outliers

# What stands out: this much above the median.
ABOVE = 1.5
# Of the run's time: less is no loss.
WORTH = 0.01
# A call that spends this share of its time in another is named by the other.
NEARLY_ALL = 0.9
# Servers that did less than this part of the mean are left out: of a slow one that was hardly asked nothing is won.
HARDLY = 0.25
# Seconds that a finding loses, as a share of the run, from which on it is high, or medium.
HIGH, MEDIUM = 0.1, 0.02


def page_of(view: View) -> Page:
    """What `fathom show` says of the run."""
    source = view if view.run.with_runtime else CachedStatements(view, view.run.path)
    return page.compute(
        view.opened.name,
        view.run.manifest,
        source,
        cost.per_call,
        lambda: page.worst(source, lambda: conclusions_of(view)),
    )


def _facts(shown: Page) -> list[list[Any]]:
    runs, manifest = shown.runs, shown.manifest
    end = manifest.get("exit", {})
    ended = f"signal {end['signal']}" if "signal" in end else end.get("status")
    by_choice = manifest.get("configuration", {}).get("counted", [])
    seen = summary.coverage(shown.source, by_choice)
    return [
        ["command", command_line(manifest), "text"],
        ["started", numbers.moment(runs["started"]) or "not recorded", "text"],
        ["ran", runs["duration"], "ns"],
        ["ranks", runs["ranks"], "count"],
        ["processes", runs["processes"], "count"],
        *([["nodes", runs["nodes"], "count"]] if facts.knows_nodes(shown) else []),
        ["calls recorded in full", seen["recorded"], "count"],
        ["calls only counted", seen["counted"], "count"],
        *(
            [f"calls of layer {layer}, by choice only counted", calls, "count"]
            for layer, calls in seen["by_choice"]
        ),
        ["exit status", ended, "text"],
    ]


def _longest_call(view: View) -> list[dict[str, Any]]:
    talk = view.rows("select layer, op from ops where kind = 'comm'")  # MPI_Init, too, is no I/O
    none = {(row["layer"], row["op"]) for row in talk}
    own = [
        longest
        for longest in outliers(view)
        if longest["layer"] not in ("fathom", "user", "threads")
        and (longest["layer"], longest["op"]) not in none
    ]
    if not own:
        return []
    longest = _innermost(own[0], own)
    took, began = (
        numbers.seconds(longest["duration"] / 1e9),
        numbers.seconds(longest["start"] / 1e9),
    )
    inside = "" if longest is own[0] else f", in {own[0]['op']}"
    return [{
        "kind": "call", "screen": "call", "selection": {"call": longest["call"]},
        "sentence": f"{longest['op']} of {_label(view, longest['lane'])} took {took}, {began} into the run{inside}",
    }]  # fmt: skip


def _innermost(call: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the calls that nearly all of this one's time was spent in, the lowest."""
    stop = call["start"] + call["duration"]
    inside = [
        inner
        for inner in others
        if inner["lane"] == call["lane"] and call["start"] <= inner["start"]
        and inner["start"] + inner["duration"] <= stop and inner["duration"] >= NEARLY_ALL * call["duration"]
    ]  # fmt: skip
    return min(inside, key=lambda inner: inner["duration"])


def _every_lane(view: View) -> list[dict[str, Any]]:
    table: Table = view.once("lanes", lambda: lanes(view, Selection()))
    return table.records()


def _label(view: View, lane: int) -> str:
    return str(_every_lane(view)[lane]["label"])


def _straggler(view: View) -> list[dict[str, Any]]:
    """The rank with the most I/O time of its own, where it stands out: others wait for it. Nobody waits for a process
    without rank, as a script has for helpers."""
    own = {row["process"]: row["time"] for row in view.rows("from own_time()")}
    spent = [
        (own.get(row["process"], 0), row["lane"])
        for row in _every_lane(view)
        if row["calls"] and row["rank"] is not None
    ]
    if len(spent) < 3:
        return []
    most, lane = max(spent)
    middle = statistics.median(time for time, _ in spent)
    if most < ABOVE * middle or most - middle < WORTH * duration(view):
        return []
    return [{
        "kind": "rank", "screen": "heat", "selection": {"lanes": str(lane)},
        "sentence": f"{_label(view, lane)} spent {numbers.seconds(most / 1e9)} in I/O calls that are not collective, "
        f"{numbers.times(most / max(1, middle))} the median",
    }]  # fmt: skip


def _hot_server(view: View) -> list[dict[str, Any]]:
    """The server whose calls took the longest on average, where it stands out."""
    rows = view.table(totals_of("true")).records()
    common = [row for row in rows if row["calls"] and row["of the mean"] >= HARDLY]
    means = [(row["busy"] / row["calls"], row) for row in common]
    if len(means) < 3:
        return []
    slowest, row = max(means, key=lambda one: one[0])
    middle = statistics.median(one for one, _ in means)
    if slowest < ABOVE * middle:
        return []
    return [{
        "kind": "server", "screen": "servers", "selection": {"servers": row["server"]},
        "sentence": f"{row['server']} took {numbers.seconds(slowest / 1e9)} for a call, "
        f"{numbers.times(slowest / middle)} the median server",
    }]  # fmt: skip


def _names(view: View, calls: set[str]) -> dict[str, str]:
    """Call -> `MPI_File_write_all, rank 3, 1.42 s`."""
    rows = view.sql(
        "select id, op, lane, duration from calls join lanes() using (process)"
        f" where id in ({', '.join(calls) or 'null'})"
    ).to_pylist()
    return {
        str(
            row["id"]
        ): f"{row['op']}, {_label(view, row['lane'])}, {numbers.seconds(row['duration'] / 1e9)}"
        for row in rows
    }


def _finding(
    finding: conclusions.Finding, fields: dict[str, Any], names: dict[str, str], seconds: float
) -> dict[str, Any]:
    share = (finding.lost or 0) / seconds if seconds else 0
    level = "danger" if finding.lost is None else "low"
    level = "high" if share >= HIGH else "medium" if share >= MEDIUM else level
    chosen = {"call": fields["calls"][0]} if fields["calls"] else {}
    return {
        "name": fields["finding"], "title": fields["title"], "level": level, "seconds": finding.lost,
        "between": finding.between, "sure": finding.sure,
        "sentence": fields["says"], "advice": fields["fix"], "knob": fields["knob"],
        "proof": fields["proof"],
        "evidence": [[call, names[call]] for call in fields["calls"] if call in names],
        "sites": finding.lines, "selection": chosen, "screen": "call" if chosen else "heat",
        "sql": finding.rule.sql.strip(),
    }  # fmt: skip


def conclusions_of(view: View) -> Findings:
    """What loses time. Of a large run that takes minutes, and gives way to gestures."""
    return view.once("findings", lambda: in_background(lambda: _find(view)), view.stop.check)


def _find(view: View) -> Findings:
    ranked = cached.find(view.run, conclusions.rules(), lambda: account.take(view))
    view.stop.check()  # a rule that was interrupted counts as broken, and the others as all
    return ranked


@answer("findings")
def findings(view: View, _: Selection) -> dict[str, Any]:
    """All that was found, the most seconds first, and which rules could not be asked."""
    ranked = conclusions_of(view)
    seconds = view.value("select duration / 1e9 from runs")
    described = words.listed(view, view.run.manifest, ranked.conclusions)
    names = _names(view, {call for fields in described for call in fields["calls"]})
    return {
        "asked": ranked.rules_asked - sum(map(len, ranked.without.values())),
        "findings": [
            _finding(finding, fields, names, seconds)
            for finding, fields in zip(ranked.conclusions, described, strict=True)
        ],
        "not asked": words.not_asked(ranked),
    }


def _rate(view: View) -> Table:
    note = None
    rows = view.table("from transfer_rate()")
    if not rows.rows:
        moved = "select exists(from counters where kind in ('read', 'write') and bytes > 0)"
        again = reads_and_writes(view.run.manifest, Captured.again)
        note = (
            f"not captured: when bytes moved; {again}"
            if view.value(moved)
            else "not captured: no call of this run moved bytes of a file"
        )
    elif not has_calls(view) and not is_all_own(view):
        note = HEAT_OF_ALL
    return Table(rows.columns, rows.rows, rows.total, rows.sql, note)


@answer("overview")
def overview(view: View, _: Selection) -> dict[str, Any]:
    """Of the whole run, whatever is selected. What loses time takes longer, so it is an answer of its own."""
    shown = view.opened.page or page_of(view)
    by_question = answers.sentences(shown.answers, shown.name, shown.manifest)
    return {
        "facts": _facts(shown),
        "verdict": by_question[0][1][0],
        "sentences": [
            f"{question} {line}" for question, lines in by_question[1:] for line in lines[:3]
        ],
        "landmarks": [*_longest_call(view), *_straggler(view), *_hot_server(view)],
        "layers": view.table("from layer_totals()"),
        "rate": _rate(view),
        "missing": [line.strip() for line in coverage_footer.missing(shown)],
        "cost": coverage_footer.one_line(shown),
    }
