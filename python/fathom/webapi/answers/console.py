"""`sql` and `schema`: a run's tables, for questions that no screen asks."""

import re
from dataclasses import replace
from typing import Any

from fathom.analysis.selection import Selection
from fathom.catalog import columns
from fathom.errors import UsageError
from fathom.webapi.answers import answer, number, table, text
from fathom.webapi.answers.session import View
from fathom.webapi.answers.table import Table

ROWS = 10_000
EXACT = 2**53


@answer("sql", required=("q",), q=text, limit=number(1, ROWS))
def sql(view: View, _: Selection, *, q: str, limit: int = 1000) -> Table:
    """The first rows of one reading statement, and how many it has."""
    statement = q.strip().rstrip(";").strip()
    rows, total = view.confined(statement, limit)
    units = {name: "s" for name in rows.column_names if re.fullmatch(r"(.*[_ ])?seconds", name)}
    try:
        shown = table.of(rows, statement, units, total)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"SQL: a value that cannot be shown: {error}") from error
    return replace(shown, rows=[[_exact(value) for value in row] for row in shown.rows])


def _exact(value: Any) -> Any:
    """Whole numbers beyond what a reader's doubles hold, as text: ids and hashes are shown as they are."""
    return str(value) if isinstance(value, int) and abs(value) > EXACT else value


@answer("schema")
def schema(view: View, _: Selection) -> Table:
    """All tables and columns."""
    meanings = columns.meanings()
    sql = (
        'select table_name as "table", column_name as "column", data_type as "type"'
        " from information_schema.columns where table_catalog = 'memory' and table_schema = 'main'"
        " order by table_name, ordinal_position"
    )
    listed = view.table(sql)
    heads = [*listed.columns, ("meaning", "text")]
    rows = [[*row, meanings.get((row[0], row[1]))] for row in listed.rows]
    return Table(heads, rows, listed.total, sql)
