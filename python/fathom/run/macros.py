"""The macros of analysis/sql: a database gets those that a statement names, when it names them.

A file there is a list of `create or replace macro` statements, each below its comment. Nothing is made when a database
is opened, since to make one macro costs as much as to plan it.
"""

import hashlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

import duckdb

from fathom.files import listed

FOLDER = Path(__file__).resolve().parents[1] / "analysis" / "sql"
OF_LAKE = "lake"  # the file of macros about a lake's tables, which a run has not
PLANS = "FATHOM_PLANS"  # in the environment: statements are printed with their plans
_DEFINITION = re.compile(
    r"((?:^--.*\n)+)(create or replace macro (\w+)\(([^)]*)\)[^;]*(?:;(?! *\n(?:\n|\Z))[^;]*)*;)",
    re.M,
)
_ALONE = re.compile(r"\s*from (\w+)\(((?:\$\w+(?:, )?)*)\)\s*")
_CALLED = re.compile(r"(\w+)\(")
_WORD = re.compile(r"'[^']*'|--.*|(?<![\w.$])[a-z_]\w*")  # or a text, or a comment
_ROWS = re.compile(r"\b(\w+)\(\)")
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Macro:
    """One definition, as its file has it."""

    name: str
    parameters: str
    comment: str
    sql: str
    file: str

    @property
    def rows(self) -> str:
        """The statement that a macro of rows stands for."""
        return self.sql.split(" as table\n", 1)[1].rstrip().removesuffix(";")

    @property
    def is_table(self) -> bool:
        """Does it give rows, not a value?"""
        return " as table\n" in self.sql


def definitions(text: str, file: str = "") -> Iterator[Macro]:
    """Those of one file's text."""
    for comment, sql, name, parameters in _DEFINITION.findall(text):
        words = " ".join(line.removeprefix("--").strip() for line in comment.splitlines())
        yield Macro(name, " ".join(parameters.split()), words, sql, file)


@cache
def macros() -> dict[str, Macro]:
    """All, by name, in the order of files and of their places in these."""
    files = listed(FOLDER, "*.sql")
    every = [one for file in files for one in definitions(file.read_text("utf-8"), file.stem)]
    return {one.name: one for one in every}


def of_run() -> list[str]:
    """Names of those about a run's tables, not a lake's."""
    return [one.name for one in macros().values() if one.file != OF_LAKE]


@cache
def version() -> str:
    """Tells these definitions from others: what a statement gives depends on them."""
    text = "".join(one.sql for one in macros().values())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def needed(name: str) -> tuple[Macro, ...]:
    """A macro and all that it stands on, each after what it needs itself."""
    known = macros()
    words = _CALLED.findall(known[name].sql)
    below = [one for word in words if word in known and word != name for one in needed(word)]
    return tuple(dict.fromkeys([*below, known[name]]))


@dataclass
class Loaded:
    """Names of the macros that one connection finds."""

    everywhere: set[str] = field(default_factory=set)  # in its database, so that others find them
    alone: set[str] = field(default_factory=set)
    tables: dict[str, str] = field(default_factory=dict)  # of those whose rows it has, the table

    def __contains__(self, name: str) -> bool:
        return name in self.everywhere or name in self.alone


_LOADED: WeakKeyDictionary[duckdb.DuckDBPyConnection, Loaded] = WeakKeyDictionary()


def _loaded_in(connection: duckdb.DuckDBPyConnection) -> Loaded:
    return _LOADED.setdefault(connection, Loaded())


def cursor(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """One more connection to the same database: it finds what was made there."""
    another = connection.cursor()
    _LOADED[another] = Loaded(_loaded_in(connection).everywhere)
    return another


def load(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Makes the macros that a statement (`with_tables`) names, and those that they stand on, unless they are there."""
    loaded = _loaded_in(connection)
    if all(macro.name in loaded for macro in _called(text)):
        return
    # Where some give the rows of this connection's own tables, what stands on them is no other's.
    is_alone = loaded.alone or loaded.tables
    form, names = ("temp ", loaded.alone) if is_alone else ("", loaded.everywhere)
    with _LOCK:
        for macro in _absent(text, loaded):
            head, start, body = macro.sql.partition("(")
            new = head.replace("create or replace macro", f"create {form}macro if not exists", 1)
            connection.execute(new + start + _with(loaded.tables, body))
            names.add(macro.name)


def _absent(text: str, loaded: Loaded) -> Iterator[Macro]:
    """Those that are not there, each after what it needs itself; what one that is there stands on is not looked for."""
    for macro in _called(text):
        if macro.name not in loaded:
            body = macro.sql.partition("(")[2]
            yield from _absent(_with(loaded.tables, body), loaded)
            yield macro


def keep(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> None:
    """From here on a table of this connection's has the rows of a macro without parameters."""
    loaded = _loaded_in(connection)
    if name in loaded:  # others may stand on it already
        replace(connection, name, f"from {table}", temporary=True)
    loaded.tables[name] = table


def with_tables(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """A statement that reads the tables of what is kept: to make a macro of each took a statement more."""
    return _with(_loaded_in(connection).tables, text)


def _with(tables: dict[str, str], text: str) -> str:
    return _ROWS.sub(lambda call: tables.get(call[1], call[0]), text) if tables else text


def replace(
    connection: duckdb.DuckDBPyConnection, name: str, rows: str, temporary: bool = False
) -> None:
    """A macro without parameters gives these rows from here on, in this database; `temporary`: in this connection."""
    form = "temp macro" if temporary else "macro"
    loaded = _loaded_in(connection)
    with _LOCK:
        connection.execute(f"create or replace {form} {name}() as table {rows}")
        (loaded.alone if temporary else loaded.everywhere).add(name)


def named(text: str) -> tuple[Macro, ...]:
    """The macros that a statement stands on, each after what it needs itself."""
    return tuple(dict.fromkeys(one for macro in _called(text) for one in needed(macro.name)))


@lru_cache(1024)
def _called(text: str) -> tuple[Macro, ...]:
    """Those that it names itself."""
    known = macros()
    return tuple(known[word] for word in dict.fromkeys(_CALLED.findall(text)) if word in known)


def written_out(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """A statement `with_tables`; of `from name(…)` the macro's own statement, if it was not made before: it is then
    planned once, not twice."""
    text = with_tables(connection, text)
    found = _ALONE.fullmatch(text)
    macro = macros().get(found[1]) if found else None
    if not found or not macro or not macro.is_table or macro.name in _loaded_in(connection):
        return text
    return with_tables(connection, _with_values(macro, found[2]))


def _with_values(macro: Macro, values: str) -> str:
    """Its statement with these in place of its parameters."""
    names = [one.partition(" := ") for one in macro.parameters.split(", ") if one]
    given = [one.strip() for one in values.split(",") if one.strip()]
    value_of = {name: default for name, _, default in names}
    value_of |= dict(zip(value_of, given, strict=False))
    return _WORD.sub(lambda word: value_of.get(word[0], word[0]), macro.rows)


def execute(
    connection: duckdb.DuckDBPyConnection,
    statement: str | duckdb.Statement,
    values: object = None,
) -> duckdb.DuckDBPyConnection:
    """Runs a statement that may name macros."""
    if isinstance(statement, str):
        statement = with_tables(connection, statement)
    text = statement if isinstance(statement, str) else statement.query
    load(connection, text)
    if PLANS in os.environ:
        _print_plan(connection, text, values)
    return connection.execute(statement, values)


def _print_plan(connection: duckdb.DuckDBPyConnection, text: str, values: object) -> None:
    """What a statement costs, for who looks why an answer is slow: it runs once more for that."""
    try:
        rows = connection.execute(f"explain analyze {text}", values).fetchall()
    except duckdb.Error:
        return  # it is no question, or one that fails
    print(text.strip(), rows[0][1], sep="\n", file=sys.stderr)


def documentation() -> str:
    """docs/macros.md: each macro with the first sentence of its comment."""
    lines = [INTRODUCTION]
    files = dict.fromkeys(one.file for one in macros().values())
    for file in files:
        about = (FOLDER / f"{file}.sql").read_text("utf-8").partition("\n\n")[0]
        words = " ".join(line.removeprefix("--").strip() for line in about.splitlines())
        lines += ["", f"## {file}", "", words, "", "| macro | gives |", "|---|---|"]
        for one in macros().values():
            if one.file == file:
                first = (
                    re.split(r"(?<=[.?:;]) (?![^()]*\))", one.comment)[0]
                    .rstrip(".:;")
                    .replace("|", "\\|")
                )
                lines.append(f"| `{one.name}({one.parameters})` | {first} |")
    return "\n".join(lines) + "\n"


INTRODUCTION = """# Macros

Made by `make facts` from `python/fathom/analysis/sql/`; the comments there say more.
`fathom query RUN --sql` and `fathom query RUN --shell` have all of them but those of `lake`, which are about
[a lake's tables](centre.md#its-tables).
A macro that gives rows is used as a table: `from layer_totals()`.
`has_regions` and `has_talk` may be left out.
They say what a run has none of, so that it is not looked for.
A parameter that ends in `_of` takes the name of rows, in quotes: a table, or one of the statement's own."""

if __name__ == "__main__":
    print(documentation(), end="")
