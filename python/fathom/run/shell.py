"""DuckDB's own shell over a run: its tables as views, and all macros of analysis/sql with their comments."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from fathom.run import database, macros
from fathom.run.store import Run
from fathom.text import quoting

HOW = "curl https://install.duckdb.org | sh"


def init(run: Run) -> str:
    """The statements that load a run into any database of DuckDB."""
    with duckdb.connect(":memory:") as connection:
        database.add_views(connection, run.path / "tables", with_runtime=run.with_runtime)
        views = connection.execute(
            # As they were made: some name others.
            "select sql from duckdb_views() where not internal order by view_oid"
        ).fetchall()
    every = dict.fromkeys(one for name in macros.of_run() for one in macros.needed(name))
    of_site = database.site_rows()
    site = [f"create or replace macro site_references() as table {of_site};"] if of_site else []
    return "\n".join([*(sql for (sql,) in views), *map(_commented, every), *site]) + "\n"


def _commented(macro: macros.Macro) -> str:
    form = "macro table" if macro.is_table else "macro"
    return f"{macro.sql}\ncomment on {form} {macro.name} is {database.quoted(macro.comment)};"


def open_shell(run: Run) -> int:
    """Opens the shell, and gives its exit status. Where it is not installed the statements are printed."""
    program = shutil.which("duckdb")
    if program is None:
        print(
            f"fathom: query: no `duckdb` in PATH ({HOW}); what is printed loads the run:"
            f" fathom query {quoting.shell([run.name])} --shell > run.sql; duckdb -init run.sql",
            file=sys.stderr,
        )
        sys.stdout.write(init(run))
        return 0
    with tempfile.TemporaryDirectory(prefix="fathom-shell-") as folder:
        file = Path(folder) / "run.sql"
        file.write_text(init(run), encoding="utf-8")
        return subprocess.run([program, "-init", str(file)], check=False).returncode
