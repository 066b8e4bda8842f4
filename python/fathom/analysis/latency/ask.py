"""A query on a part of a run, ready to be asked; its answer."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from fathom.analysis import Remembered
from fathom.analysis.latency.language import Query
from fathom.analysis.latency.pieces import combining, statement
from fathom.analysis.latency.segment import INSIDE, WHOLE, Part
from fathom.analysis.latency.servers import are_traced, names
from fathom.analysis.own import SECOND, own_values
from fathom.run.store import Run


@dataclass
class Answer:
    """Tables by name, the one that says most first; columns are told in docs/commands/query.md."""

    who: str  # rank, process
    views: dict[str, pa.Table]
    layers: list[str] = field(default_factory=list)  # of a breakdown, from the top of the stack
    servers: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def chosen(rows: pa.Table) -> dict[str, list[int]]:
    """Outermost calls that a statement found, as others are given them."""
    return {"processes": rows["process"].to_pylist(), "ordinals": rows["call"].to_pylist()}


class Question:
    """A query on a part of a run; `top`: of calls and requests so many, the longest; 0: all."""

    def __init__(self, run: Run, query: Query, part: Part, top: int) -> None:
        self.run, self.query, self.part, self.top = run, query, part, top
        self.source = Remembered(run)

    def units(self, name: str, values: dict[str, Any], **parts: str) -> pa.Table:
        """Rows of one statement of this folder on units alone."""
        text = statement(name, **self._selected | parts)
        values = self.part.values | own_values(self.source) | values
        combine = combining(name) if self.spread else None
        if combine:
            return self.run.in_parts(text, combine, **values)
        return self.source.sql(text, **values)

    def ask(
        self, name: str, values: dict[str, Any] | None = None, base: str = "unit", **parts: str
    ) -> pa.Table:
        """Rows of one statement on units and what is inside them."""
        inside = {
            "parts": statement(f"{'' if self.traced else 'no_'}parts"),
            "reached": self._reached(),
            "base": base,
            "around": self.part.around if base == "unit" else INSIDE.format(base=base),
            "calls_inside": statement(f"{'packed' if self.own_packed else 'climbed'}_own"),
        }
        return self.units(name, values or {}, **inside, **parts)

    def requests(
        self, name: str, values: dict[str, Any], base: str = "unit", **parts: str
    ) -> pa.Table:
        """Rows of a statement on what reached servers, sub-calls and servers as the query says."""
        subcalls, servers_set = self.query.subcalls, self.query.servers.condition("number")
        some = "any_subcall" if subcalls.ranges is None else "some_subcalls"
        sets = {
            "servers_set": servers_set,
            "subcalls_set": subcalls.condition("subcall"),
            "first_set": "true" if 0 in subcalls else "false",
        }
        counted = statement(some, **sets)
        straight = self.own_packed and self.part.which == WHOLE
        lone = statement(f"lone{'_whole' * straight}", **self._selected, **sets)
        return self.ask(name, values, base=base, counted=counted, lone=lone, **sets, **parts)

    def _reached(self) -> str:
        if not self.traced:
            return statement("reached_files")
        relays = "true" if self.query.name.startswith("latency") else "not relayed"
        return statement("reached_servers", relays_set=relays)

    def narrowed(self, calls: dict[str, list[int]]) -> "Question":
        """The same, to be asked of these few outermost calls: they are read out of all once, not by each statement.

        What traced servers and signal handlers did stands elsewhere, so there it is asked of all.
        """
        if not self.top or not self.own_packed or self.traced:
            return self
        chosen, combine = statement("chosen_calls"), combining("chosen_calls")
        if self.spread and combine:
            narrowed = self.run.looking_at_rows(self.run.in_parts(chosen, combine, **calls))
        else:
            narrowed = self.run.looking_at(chosen, **calls)
        return Question(narrowed, self.query, self.part, self.top)

    @cached_property
    def _selected(self) -> dict[str, str]:
        """What each statement is told: the part that is asked about, and whether a server was traced."""
        return {
            "who": self.part.who,
            "which": self.part.which,
            "traced": str(self.traced).lower(),
        }

    @property
    def spread(self) -> bool:
        """Are there workers, and is what they need with each rank? What traced servers did is not."""
        return self.run.workers is not None and not self.traced

    @cached_property
    def traced(self) -> bool:
        """Was a server traced?"""
        return are_traced(self.source)

    @cached_property
    def own_packed(self) -> bool:
        """Do the tables say of all calls in which own call they lie?"""
        rows = self.source.sql(
            "select not exists (select 1 from streams where side)"
            " and coalesce((select topmost is not null from calls limit 1), true) as packed"
        )
        return bool(rows["packed"][0].as_py())

    @cached_property
    def servers(self) -> dict[int, str]:
        """Names of the run's servers."""
        return names(self.source)

    def table(self, rows: pa.Table, columns: dict[str, str]) -> pa.Table:
        """Columns under new names; those that end in `seconds` become them, `server_name` is the name of a number."""
        out = {}
        for new, old in columns.items():
            column = rows[old]
            if new.endswith(("seconds", "joules")):  # of ns; of watts times ns
                values = [None if v is None else float(v) / SECOND for v in column.to_pylist()]
                column = pa.array(values, pa.float64())
            elif new == "server_name":
                column = pa.array([self.servers.get(n) for n in column.to_pylist()], pa.string())
            out[new] = column
        return pa.table(out)
