"""What the page is made of: parts, each a table of its own or a few lines of words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fathom.analysis import Source
from fathom.view.tables import Column


@dataclass(frozen=True)
class Page:
    """All tables of the page, computed once."""

    name: str
    manifest: dict[str, Any]
    runs: dict[str, Any]
    tables: dict[str, pa.Table]  # by the name of their part
    coverage: dict[str, Any]
    killed: int
    alive: int
    per_call: float | None  # seconds that recording adds to a call, measured on this machine

    def rows(self, part: str) -> list[dict[str, Any]]:
        """The rows of one part."""
        return list(self.tables[part].to_pylist())


@dataclass(frozen=True)
class Part:
    """One table: `name` in the JSON, `--by BY` alone, under `title` on the page.

    `columns` is how people see it (none: words only), `words` what is said below it. The page has it when the
    part that it `needs` has rows (by default itself; "": always). A part without title is in the JSON only.
    `whole`: never cut to the top rows.
    """

    name: str
    analyse: Callable[[Source], pa.Table]
    title: str | Callable[[Page], str] = ""
    by: str = ""
    columns: tuple[Column, ...] = ()
    words: Callable[[Page], Sequence[str]] | None = None
    needs: str | None = None
    whole: bool = False

    def heading(self, page: Page) -> str:
        """The title of this run's page."""
        return self.title if isinstance(self.title, str) else self.title(page)

    def shown(self, page: Page) -> bool:
        """Has this run's page the part?"""
        needed = self.name if self.needs is None else self.needs
        return bool(self.title) and (not needed or page.tables[needed].num_rows > 0)
