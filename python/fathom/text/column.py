"""What one column of a table looks like."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column on the page: its heading, the table's column, how a value (and what `also` names) is written.

    On a terminal that is too narrow, columns with the highest `spare` are left out first, those of 0 last, and a
    path (`is_path`) loses its beginning. What tells rows apart (`is_key`) is never left out; `where_known`: not there
    where no row has a value.
    """

    heading: str
    name: str
    write: Callable[..., str] = str
    right: bool = True
    also: tuple[str, ...] = ()
    spare: int = 0
    is_path: bool = False
    is_key: bool = False
    where_known: bool = False
