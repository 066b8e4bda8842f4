"""`account`: where the run's time went, by cause, in the slowest process and in the median one."""

from typing import Any

from fathom.analysis.account import CAUSES, REFERENCES, Bar, Share, bar
from fathom.analysis.selection import Selection
from fathom.pages.account import who
from fathom.run.background import in_background
from fathom.webapi.answers import answer, table
from fathom.webapi.answers.session import View
from fathom.webapi.answers.stoppable import Stoppable
from fathom.webapi.answers.table import Table

NOTHING = "No I/O call of the program itself was timed, so there is no time to split by cause."


def _shares(split: Bar) -> dict[str, Share]:
    shares = {"slowest": split.slowest, "median": split.median}
    return {which: share for which, share in shares.items() if share and share.seconds}


def _cells(run: Stoppable, shares: dict[str, Share]) -> Table:
    processes = ", ".join(str(share.process) for share in shares.values())
    sql = f"""select a.process, p.rank, cause, sum(time)::bigint as time, sum(time) / any_value(r.duration) as share
from account() as a join processes as p using (process), runs as r
where a.process in ({processes or "null"})
group by all having sum(time) > 0
order by process, time desc, cause"""
    note = None if shares else NOTHING
    return table.of(run.sql(sql), sql, {"cause": "text"}, note=note)


def _account(view: View) -> dict[str, Any]:
    run = Stoppable(view)
    split = bar(run)
    shares = _shares(split)
    cells = _cells(run, shares)
    view.stop.check()
    return {
        "seconds": split.run_seconds,
        "causes": [[cause, meaning] for cause, meaning in CAUSES.items()],
        "processes": [
            {
                "which": which, "process": share.process, "label": who(share), "seconds": share.seconds,
                "causes": share.causes,
            }
            for which, share in shares.items()
        ],
        "prices": [REFERENCES[name] for name in split.references],
        "table": cells,
    }  # fmt: skip


@answer("account")
def account(view: View, _: Selection) -> dict[str, Any]:
    """The seconds of the program's own I/O calls, each with its cause; of the whole run, whatever is selected."""
    return in_background(lambda: _account(view))
