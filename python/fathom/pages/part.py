"""What the page is made of: parts, each a table of its own or a few lines of words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from fathom.analysis import Remembered, Source
from fathom.analysis.answers import Answers, answers
from fathom.analysis.findings import Findings
from fathom.text.tables import Column


class Page:
    """What the page is made from. A table is computed when it is first asked for, each question asked once."""

    def __init__(
        self,
        name: str,
        manifest: dict[str, Any],
        source: Source,
        parts: Sequence["Part"],
        per_call: Callable[[], float | None],
        find: Callable[[], Findings | None],
    ) -> None:
        """`per_call` gives seconds that recording adds to a call, measured on this machine. `find` gives
        what loses time, or none where that would take longer than the page.
        """
        self.name = name
        self.manifest = manifest
        self.source = Remembered(source)
        self._measure = per_call
        self._find = find
        self.runs: dict[str, Any] = self.source.sql("from runs").to_pylist()[0]
        self._analyse = {part.name: part.analyse for part in parts}
        self._tables: dict[str, pa.Table] = {}

    def table(self, part: str) -> pa.Table:
        """The rows of one part."""
        if part not in self._tables:
            self._tables[part] = self._analyse[part](self.source)
        return self._tables[part]

    def rows(self, part: str) -> list[dict[str, Any]]:
        """The same, row by row."""
        return list(self.table(part).to_pylist())

    @cached_property
    def is_empty(self) -> bool:
        """Was no call recorded?"""
        return not self.source.sql("from layer_totals()").num_rows

    @cached_property
    def answers(self) -> Answers:
        """The first questions."""
        return answers(self.source)

    @cached_property
    def findings(self) -> Findings | None:
        """What loses time, the most first; none: not asked."""
        return self._find()

    @cached_property
    def per_call(self) -> float | None:
        """Seconds that recording adds to a call here; none where it cannot be measured."""
        return self._measure()

    @cached_property
    def servers(self) -> int:
        """How many are no processes of the program: what records a server, or is one, also where nobody asked it."""
        sql = "select count(*) as n from processes where exe like '%/fathom-engine'"
        servers: int = self.source.sql(sql)["n"][0].as_py()
        return servers

    @cached_property
    def ended(self) -> dict[tuple[str, int | None], int]:
        """How many processes ended in which way, and by which signal."""
        rows = self.source.sql(
            "select ended, signal, count(*) as n from processes group by all order by n desc, signal"
        )
        return {(row["ended"], row["signal"]): row["n"] for row in rows.to_pylist()}

    def how_many(self, ended: str) -> int:
        """Processes that ended so."""
        return sum(count for (how, _), count in self.ended.items() if how == ended)


@dataclass(frozen=True)
class Part:
    """One table: `name` in the JSON, `--by BY` alone, under `title` on the page.

    `columns` is how people see it (none: words only), `words` what is said below it. The page has it when the
    part that it `needs` has rows (by default itself; "": always), and not where its title is empty. A part without
    title is in the JSON only.
    `whole`: never cut to the top rows. `alone`: has so many rows that only `--by` prints it, not the page's JSON.
    """

    name: str
    analyse: Callable[[Source], pa.Table]
    title: str | Callable[[Page], str] = ""
    by: str = ""
    columns: tuple[Column, ...] = ()
    words: Callable[[Page], Sequence[str]] | None = None
    needs: str | None = None
    whole: bool = False
    alone: bool = False

    def heading(self, page: Page) -> str:
        """The title of this run's page."""
        return self.title if isinstance(self.title, str) else self.title(page)

    def shown(self, page: Page) -> bool:
        """Has this run's page the part?"""
        needed = self.name if self.needs is None else self.needs
        return (
            bool(self.title)
            and bool(self.heading(page))
            and (not needed or page.table(needed).num_rows > 0)
        )
