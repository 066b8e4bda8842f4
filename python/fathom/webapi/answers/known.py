"""What many statements stand on is worked out once for each open run: these macros then give the rows of a table."""

import duckdb

from fathom.run import macros

MACROS = ("lanes", "servers_traced", "server_processes", "server_files", "kernel_calls")
SCHEMA = "known"


def wanted(text: str) -> list[str]:
    """Those that a statement stands on."""
    return [one.name for one in macros.named(text) if one.name in MACROS]


def make(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Works one out."""
    connection.execute(f"create schema if not exists {SCHEMA}")
    rows = macros.written_out(connection, f"from {name}()")
    macros.execute(connection, f"create table {SCHEMA}.{name} as {rows}")
    macros.replace(connection, name, f"from {SCHEMA}.{name}")
