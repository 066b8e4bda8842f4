"""The account of a run: which cause took the seconds of the program's own I/O calls, and what is won without them.

Each process's cells (cause, layer, function, file) add up to the time of its own I/O calls (analysis/sql/account.sql).
A finding takes the cells that its mistake fills: what is won is the slowest process's time before and after.
Of reads, writes and syncs they say what the kernel did meanwhile, where it was asked.
What ran one after another counts as one process (analysis/sql/chains.sql).
Beside them stand what is in no own call: what the run-time read from a network's file system, cause `start-up`, and
page faults on mapped files, cause `faults`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from fathom.analysis.causes import CAUSES, KERNEL, REFERENCES, Bar, Share
from fathom.run import macros
from fathom.run.store import Run

T = TypeVar("T")

#: A process without a rank, and with less than this share of the slowest one's I/O, is no peer of it.
HELPER = 0.01
#: Macros of these files are worked out once for each run.
STORED = ("account", "chains", "findings_", "kernel", "servers", "stores")
#: Of these macros a table without rows makes none, which another macro gives sooner, `no_NAME()`.
EMPTY_WITHOUT = dict.fromkeys(("kernel_calls", "kernel_parts", "kernel_faults"), "kernel_events")


def in_order(causes: Mapping[str, T]) -> dict[str, T]:
    """The causes that are there, in the order of CAUSES."""
    return {cause: causes[cause] for cause in CAUSES if causes.get(cause)}


def prepare(run: Run, sql: str) -> None:
    """Macros that several statements stand on are worked out once, those that others need first."""
    for macro in macros.named(sql):
        if macro.file.startswith(STORED) and not macro.parameters:
            needed = EMPTY_WITHOUT.get(macro.name)
            is_empty = needed is not None and not run.has_rows(needed)
            run.keep_macro(macro.name, f"no_{macro.name}" if is_empty else None)


class Account:
    """The cells of a run, from which findings take theirs."""

    def __init__(self, run: Run) -> None:
        """All cells are there."""
        self.run = run
        self._places: dict[str | None, list[int]] = {}
        prepare(run, "account() account_and_beside() waited_for_others() chains()")
        run.keep("account_left", "from account_and_beside()")

    @cached_property
    def most(self) -> float:
        """Seconds of all cells of the slowest process or chain; of threads side by side no more than the run's."""
        row = self.run.sql(
            "select least(max(t), (select duration from runs)) / 1e9 as s"
            " from (select sum(time) as t from account_and_beside() join chains() using (process) group by chain)"
        )
        return float(row["s"][0].as_py() or 0)

    @cached_property
    def _has_chains(self) -> bool:
        """Did processes run one after another?"""
        rows = self.run.sql("select count(*) > count(distinct chain) as some from chains()")
        return bool(rows["some"][0].as_py())

    def in_turn(self, causes: frozenset[str], row: dict[str, Any]) -> float:
        """How many times what one process loses in such cells those lose together that ran one after another."""
        if not self._has_chains:
            return 1.0
        condition, values = self._is_taken(causes, row)
        measured = self.run.sql(
            f"""with each as (
                select process, sum(time) as cells from account_left where {condition} group by process
            )
            select max(together) / (select max(cells) from each) as times
            from (select sum(cells) as together from each join chains() using (process) group by chain)""",
            **values,
        )
        return measured["times"][0].as_py() or 1.0

    @cached_property
    def _most_of(self) -> dict[str, float]:
        """Cause -> seconds of the process or chain with the most."""
        rows = self.run.sql(
            "select cause, max(time) / 1e9 as seconds"
            " from (select cause, chain, sum(time) as time"
            " from account_and_beside() join chains() using (process) group by all) group by cause"
        ).to_pylist()
        return {row["cause"]: row["seconds"] for row in rows}

    def at_most(self, causes: frozenset[str]) -> float:
        """Seconds that no finding about these causes can win more than."""
        return sum(self._most_of.get(cause, 0.0) for cause in causes)

    @cached_property
    def waited(self) -> float | None:
        """Seconds that half of the ranks waited for others, and longer; None: not known."""
        row = self.run.sql("select median(waited) / 1e9 as s from waited_for_others()")
        return row["s"][0].as_py()  # type: ignore[no-any-return]

    def _is_taken(self, causes: frozenset[str], row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """A condition on cells: these causes, and the files, layer, direction and doing of the kernel of a row."""
        text = "list_contains($causes, cause)"
        values: dict[str, Any] = {"causes": sorted(causes)}
        if row.get("cell_files") is not None:
            text += " and list_contains($files, file)"
            values["files"] = row["cell_files"]
        elif files := self._files_of(row.get("path")):
            text += " and (file is null or list_contains($files, file))"
            values["files"] = files
        if row.get("cell_layer") is not None:
            text += " and layer = $layer"
            values["layer"] = row["cell_layer"]
        if row.get("cell_kernel") is not None:
            text += " and kernel = $kernel"
            values["kernel"] = row["cell_kernel"]
        if row.get("cell_way") is not None:
            text += " and coalesce(direction(kind, op), $way) = $way"
            values["way"] = row["cell_way"]
        return text, values

    def _files_of(self, path: str | None) -> list[int]:
        """Those that a finding's path stands for; none: it names no files."""
        if path not in self._places:
            text = "select file from places() where $path in (place, path, directory)"
            prepare(self.run, text)
            self._places[path] = self.run.sql(text, path=path)["file"].to_pylist() if path else []
        return self._places[path]

    def won(
        self, causes: frozenset[str], row: dict[str, Any], losses: Sequence[float]
    ) -> list[float]:
        """Seconds of run time won where whoever has the most of such cells, process or chain, does not spend a loss: of
        each of these losses.

        They are never more than is in them.
        """
        condition, values = self._is_taken(causes, row)
        measured = self.run.sql(
            f"""with each as (
                select sum(time) / 1e9 as io, coalesce(sum(time) filter ({condition}), 0) / 1e9 as cells
                from account_left join chains() using (process) group by chain
            ), part as (
                select number,
                    least(1, list_extract($losses, number) / nullif((select max(cells) from each), 0)) as part
                from range(1, 1 + len($losses)) as loss(number)
            )
            select max(io) - max(io - cells * part) as together, max(cells * part) as alone,
                arg_max(io, cells) >= max(io) / 2 as is_slow
            from part left join each on true group by number order by number""",
            losses=list(losses),
            **values,
        )
        return [self._won(one) for one in measured.to_pylist()]

    def _won(self, measured: dict[str, Any]) -> float:
        together, alone = measured["together"] or 0.0, measured["alone"] or 0.0
        if measured["is_slow"]:
            return together
        # Others may wait for one who does less I/O than they do, though not in calls of I/O.
        waited = (alone - together) / 2 if self.waited is None else self.waited
        return together + min(alone - together, waited)

    def take(self, causes: frozenset[str], row: dict[str, Any], lost: float) -> None:
        """Takes them: what follows from the same cells is not said again."""
        condition, values = self._is_taken(causes, row)
        macros.execute(
            self.run.connection,
            f"""update account_left set time = time * (1 - (
                select coalesce(least(1, $lost / nullif(max(cells), 0)), 0)
                from (
                    select coalesce(sum(time) filter ({condition}), 0) / 1e9 as cells
                    from account_left join chains() using (process) group by chain
                )
            )) where {condition}""",
            {"lost": lost, **values},
        )


def _sums(rows: list[dict[str, Any]], key: str) -> dict[str, float]:
    """Seconds of the rows by one of their columns."""
    sums: dict[str, float] = {}
    for row in rows:
        sums[row[key]] = sums.get(row[key], 0.0) + row["seconds"]
    return sums


def _share(run: Run, row: dict[str, Any]) -> Share:
    cells = run.sql(
        "select cause, kernel, sum(time) / 1e9 as seconds from account_and_beside() join chains() using (process)"
        # Of floating-point numbers a sum depends on their order.
        " where chain = $chain group by cause, kernel order by cause, kernel",
        chain=row["chain"],
    ).to_pylist()
    causes, kernel = in_order(_sums(cells, "cause")), _sums(cells, "kernel")
    return Share(
        row["process"],
        row["rank"],
        sum(causes.values()),
        causes,
        {name: kernel[name] for name in KERNEL if kernel.get(name)},
        row["in_turn"],
    )


def bar(run: Run) -> Bar:
    """The run's time by cause, for the slowest process or chain and the median one of its like that did I/O. What is
    beside the program's own calls is in it."""
    prepare(run, "account_and_beside() account_chains()")
    order = run.sql("from account_chains() order by time desc, process").to_pylist()
    seconds = run.sql("select duration / 1e9 as s from runs")["s"][0].as_py()
    learnt = run.sql(
        "select distinct learnt from account() as a join account_references() as r on r.file = a.file"
        " and r.kind = priced_way(a.kind, a.op)"
    )["learnt"].to_pylist()
    references = [name for name in REFERENCES if name in learnt]
    slowest = _share(run, order[0]) if order else None
    like = [row for row in order if _is_like(row, order[0])]
    median = _share(run, like[len(like) // 2]) if len(like) > 1 else None
    return Bar(seconds, slowest, median, references)


def _is_like(row: dict[str, Any], slowest: dict[str, Any]) -> bool:
    """Are two processes of a kind: ranks, or of a run without them no helper that hardly did any I/O?"""
    if slowest["rank"] is not None or row["rank"] is not None:
        return slowest["rank"] is not None and row["rank"] is not None
    return bool(row["time"] >= HELPER * slowest["time"])
