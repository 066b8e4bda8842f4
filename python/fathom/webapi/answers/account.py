"""`account`: where the run's time went, by cause, in the slowest process or chain and in the median one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fathom.analysis.account import bar, prepare
from fathom.analysis.causes import CAUSES, REFERENCES, Bar, Share
from fathom.analysis.selection import Selection
from fathom.pages.account import kernel_words, who
from fathom.run.background import in_background
from fathom.text import numbers
from fathom.webapi.answers import answer, table
from fathom.webapi.answers.session import View
from fathom.webapi.answers.stoppable import Stoppable
from fathom.webapi.answers.table import Table

#: Part of a process's I/O time from which on a cause is named.
NAMED = 0.01
OTHERS, NOT_IO = "others", "not in I/O"
#: What is in a bar beside the causes, and what it is.
BESIDE = {
    OTHERS: "causes of less than 1 % of the I/O time each",
    NOT_IO: "computing, communicating, waiting",
}
NOTHING = "No I/O call of the program itself was timed, so there is no time to split by cause."


@dataclass
class Accounted:
    """The answer, and the database that holds the account's cells until the findings take it."""

    answer: dict[str, Any]
    run: Stoppable | None


def _shares(split: Bar) -> dict[str, Share]:
    shares = {"slowest": split.slowest, "median": split.median}
    return {which: share for which, share in shares.items() if share and share.seconds}


def split_bars(shares: Sequence[Share], run_seconds: float) -> list[dict[str, float]]:
    """Seconds of the parts of each process's bar, all in one order: causes, most time of the first process first; the
    little ones together; what was no I/O."""
    causes = {cause for share in shares for cause in share.causes}

    def spent(cause: str) -> list[float]:
        return [-share.causes.get(cause, 0.0) for share in shares]

    ranked = sorted(causes, key=lambda cause: (spent(cause), cause))
    little = [
        cause
        for cause in ranked
        if all(one.causes.get(cause, 0.0) < NAMED * one.seconds for one in shares)
    ]
    together = little if len(little) > 1 else []
    bars = []
    for share in shares:
        parts = {cause: share.causes.get(cause, 0.0) for cause in ranked if cause not in together}
        parts[OTHERS] = sum(share.causes.get(cause, 0.0) for cause in together)
        parts[NOT_IO] = max(0.0, run_seconds - share.seconds)
        bars.append({cause: took for cause, took in parts.items() if took > 0})
    return bars


def _title(which: str, share: Share, shares: dict[str, Share], run_seconds: float) -> str:
    """Above a bar: whose it is, and how much of the run was I/O."""
    name = who(share)
    if share.is_chain:
        name = f"{which} chain, {share.in_turn:,} processes one after another"
    elif len(shares) > 1:
        name = f"{which} process, {name}"
    part = numbers.percent(share.seconds / run_seconds if run_seconds else None)
    kernel = kernel_words(share)
    return (
        f"{name[:1].upper()}{name[1:]}: {numbers.seconds(share.seconds)} in I/O, {part} of the run"
        + (f"; {kernel}" if kernel else "")
    )


def _cells(run: Stoppable, shares: dict[str, Share]) -> Table:
    processes = ", ".join(str(share.process) for share in shares.values())
    sql = f"""select k.process, k.rank, cause, sum(a.time)::bigint as time, sum(a.time) / any_value(r.duration) as share
from account_and_beside() as a join chains() using (process) join account_chains() as k using (chain), runs as r
where k.process in ({processes or "null"})
group by all having sum(a.time) > 0
order by process, time desc, cause"""
    note = None if shares else NOTHING
    return table.of(run.sql(sql), sql, {"cause": "text"}, note=note)


def _accounted(view: View) -> Accounted:
    run = Stoppable(view)
    split = bar(run)
    shares = _shares(split)
    cells = _cells(run, shares)
    run.release()
    view.stop.check()
    bars = split_bars(list(shares.values()), split.run_seconds)
    processes = [
        {
            "which": which, "process": share.process, "label": who(share), "seconds": share.seconds,
            "title": _title(which, share, shares, split.run_seconds),
            "causes": share.causes,
            "parts": [{"cause": cause, "seconds": took} for cause, took in parts.items()],
        }
        for (which, share), parts in zip(shares.items(), bars, strict=True)
    ]  # fmt: skip
    reply = {
        "seconds": split.run_seconds,
        "width": max([split.run_seconds, *(share.seconds for share in shares.values())]),
        "causes": list((CAUSES | BESIDE).items()),
        "processes": processes,
        "prices": [REFERENCES[name] for name in split.references],
        "table": cells,
    }
    return Accounted(reply, run)


def _once(view: View) -> Accounted:
    """Made by the first who asks for the account or for findings: they stand on the same cells."""
    accounted: Accounted = view.once(
        "account", lambda: in_background(lambda: _accounted(view)), view.stop.check
    )
    return accounted


def take(view: View) -> Stoppable:
    """The run whose account is worked out; who takes it may change its cells, so the next has another."""
    accounted = _once(view)
    run, accounted.run = accounted.run, None
    if run is None:
        return in_background(lambda: Stoppable(view))
    run.hold(view)
    return run


@answer("account")
def account(view: View, _: Selection) -> dict[str, Any]:
    """The seconds of the program's own I/O calls, each with its cause; of the whole run, whatever is selected."""
    return _once(view).answer


@answer("account_over_time")
def account_over_time(view: View, _: Selection) -> dict[str, Any]:
    """When each cause took its seconds, of all processes together; of the whole run, whatever is selected."""
    sql = "select time, cause, spent::bigint as spent from account_over_time()"

    def asked() -> Table:
        run = Stoppable(view)
        prepare(run, sql)
        rows = table.of(run.sql(sql), sql, {"time": "ns", "cause": "text", "spent": "ns"})
        run.release()
        return rows

    rows: Table = view.once("account over time", lambda: in_background(asked), view.stop.check)
    return {"table": rows}
