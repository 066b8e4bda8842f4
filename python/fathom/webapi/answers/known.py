"""What many statements begin with is worked out once for each run. Their text stays whole, so that it can be copied
and stands by itself; when it is run these parts of it are read from tables."""

from collections.abc import Callable

import duckdb

from fathom.webapi.answers.statements import statement

#: Parts, after `with`, and the names that they give.
PARTS = {
    statement("lane"): ("lane",),
    statement("latency/serving"): ("served", "server_process", "server_file"),
}
SCHEMA = "known"


def shortened(text: str, have: Callable[[str], None]) -> str:
    """The statement as it is run; `have` is asked for each part that it reads from tables."""
    for part, names in PARTS.items():
        if part in text:
            have(part)
            definitions = ",\n".join(f"{name} as (from {SCHEMA}.{name})" for name in names)
            text = text.replace(part, definitions)
    return text


def make(connection: duckdb.DuckDBPyConnection, part: str) -> None:
    """Works out a part."""
    connection.execute(f"create schema if not exists {SCHEMA}")
    for name in PARTS[part]:
        connection.execute(f"create table {SCHEMA}.{name} as with {part} from {name}")
