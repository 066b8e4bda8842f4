"""DuckDB over the Parquet files of one run: read-only, no other file within reach."""

import contextlib
import os
import re
import stat
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from fathom.errors import DamagedRun, DamagedTable, FathomError, UsageError, printable
from fathom.files import facts, is_folder, listed
from fathom.run import arrow, macros, manifest, scratch, site
from fathom.run.arrow import compute as pc
from fathom.run.arrow import parquet as pq
from fathom.run.columns import FIRST, LATER, PARTED
from fathom.text.quoting import shell

if "fathom.__main__" in sys.modules:
    arrow.leave_pandas_out()
# `ask` knows that; `many` is there for those to whom it matters.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result makes an extra copy")

#: Bytes of tables together, the smallest first, that are held in memory rather than read again for each question; and
#: rows that one may have: those of many ranks are alike, so few bytes can be millions of rows.
SMALL, FEW = 16 << 20, 1_000_000
#: The same of one who may ask once only: to read these takes less time than a few statements are planned in.
LITTLE, FEWER = 1 << 20, 200_000
#: Of so few rows most of a question's time is its plan: these optimisers look for an order of joins, and for ranges of
#: values, longer than that saves.
UNUSED = "join_order,statistics_propagation"
#: Tables that have the run-time's rows beside the program's.
APART = frozenset(("calls", "counters", "files", "tops"))
#: Of these of them the run-time's rows can be read too, as `runtime_NAME`.
RUNTIME = ("calls", "counters", "files")
ALL = "*.parquet"  # files of a table that has several
#: A table's. Others in the folder are nobody's: a name becomes part of statements.
NAME = re.compile("[a-z_]+", re.ASCII)
_REASON = re.compile(r'"errno":"(\d+)"')
# What a reader gets beside the stored columns.
COMPUTED = {"calls": ", duration - nested as exclusive"}
WORDS = ("VARCHAR", "BOOLEAN")  # types that are no numbers
#: What Arrow raises of a file whose bytes are none of a table's; of names that are no UTF-8 Python's own.
UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)
#: So few values are converted here: to load what Arrow converts them by takes longer.
BRIEF = 1000
#: DuckDB's HUGEINT as Arrow has it.
SUM = pa.decimal128(38, 0)


def table_files(directory: Path) -> dict[str, Path]:
    """Name of each table to the file, or the pattern of files, that holds it."""
    return {name: path for name, (path, _) in table_parts(directory).items()}


def table_parts(directory: Path) -> dict[str, tuple[Path, list[Path]]]:
    """The same, each with its files."""
    files = {path.stem: path for path in listed(directory, ALL)}
    files.update({name: directory / name / ALL for name in PARTED})
    parts = {name: (path, parts_of(path)) for name, path in files.items() if NAME.fullmatch(name)}
    return {name: of for name, of in parts.items() if of[1]}


def parts_of(pattern: Path) -> list[Path]:
    """The files of a table. Errors: DamagedRun of what is no file of the run; OSError."""
    found = [(one, facts(one, follow=False)) for one in listed(pattern.parent, pattern.name)]
    parts = [one for one, known in found if known]  # others are gone meanwhile
    folders = [pattern.parent, pattern.parent.parent] if pattern.name == ALL else [pattern.parent]
    strange = [one for one in folders if parts and one.is_symlink()]
    strange += [one for one, known in found if known and not stat.S_ISREG(known.st_mode)]
    if strange:
        raise DamagedRun(f"{printable(strange[0])}: is no file of this run, so it is not read")
    return parts


def damaged(table: Path, what: str) -> DamagedTable:
    """A table, or the pattern of its files, that cannot be used, and what to do about it."""
    tables = table.parent.parent if table.name == ALL else table.parent
    run = tables.parent
    again = f"make it anew: {shell(['fathom', 'pack', '--force', str(run)])}"
    is_there = is_folder(run / "streams")
    return DamagedTable(
        f"{table}: {what}; {again if is_there else 'what it was made of is not here: get the run again'}"
    )


def quoted(text: str) -> str:
    """Text as SQL writes it; it has no form for a null character."""
    return "'" + text.replace("\0", "").replace("'", "''") + "'"


def of_path(glob: str) -> str:
    """Of rows that have a path: it fits; a name alone fits in any directory."""
    return f"(path glob {quoted(glob)} or path glob {quoted('*/' + glob)})"


def one_of(column: str, values: Iterable[str | int]) -> str:
    """The column is one of these texts or whole numbers."""
    literals = ", ".join(quoted(one) if isinstance(one, str) else str(int(one)) for one in values)
    return f"{column} in ({literals})" if literals else "false"


def connect(
    directory: Path,
    memory: str | None = None,
    threads: int | None = None,
    with_runtime: bool = False,
) -> duckdb.DuckDBPyConnection:
    """A view for each table in `directory`; then the database is locked to that directory. `memory`: its limit, of one
    who asks many times: more tables are then read once. `threads`: null: as many as there are processors.
    `with_runtime`: also the run-time's rows, not the program's alone."""
    while True:
        version = _version(directory)
        try:
            return _connected(directory, table_parts(directory), memory, threads, with_runtime)
        except (DamagedRun, FileNotFoundError):
            if _version(directory) == version:
                raise  # else a packer has put others in their place


def _version(directory: Path) -> tuple[int, int] | None:
    """Another one where names of it went or came."""
    known = facts(directory)
    return known and (known.st_ino, known.st_mtime_ns)


def _connected(
    directory: Path,
    tables: dict[str, tuple[Path, list[Path]]],
    memory: str | None,
    threads: int | None,
    with_runtime: bool,
) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(":memory:")
    # In a notebook without ipywidgets DuckDB has no bar, and will not hear of one.
    with contextlib.suppress(duckdb.InvalidInputException):
        con.execute("set enable_progress_bar = false")
    if memory:
        con.execute(f"set memory_limit = {quoted(memory)}")
    if threads:
        con.execute(f"set threads = {threads}")
    con.execute(f"set temp_directory = {quoted(str(scratch.spill()))}")
    con.execute(f"set allowed_directories = [{quoted(str(directory) + '/')}]")
    con.execute("set enable_external_access = false")
    con.execute(f"set parquet_metadata_cache = {bool(memory)}")
    little = _small(con, tables, LITTLE, FEWER)
    if len(little) == len(tables):
        con.execute(f"set threads = 1; set disabled_optimizers = '{UNUSED}'")
    held = _small(con, tables, SMALL, FEW) if memory else little
    _add_views(con, directory, tables, held, with_runtime)
    if rows := site_rows():
        macros.replace(con, "site_references", rows)
    con.execute("set lock_configuration = true")
    return con


def _small(
    con: duckdb.DuckDBPyConnection,
    tables: dict[str, tuple[Path, list[Path]]],
    most: int,
    few: int,
) -> frozenset[str]:
    """Names of the tables that are to be held in memory: together of so many bytes, each of so few rows."""
    sizes = {
        name: sum(part.stat().st_size for part in parts) for name, (_, parts) in tables.items()
    }
    small, total = set(), 0
    for name, size in sorted(sizes.items(), key=lambda one: one[1]):
        total += size
        if total <= most:
            small.add(name)
    rows = _footers(con, "parquet_file_metadata", "num_rows", [tables[name][1] for name in small])
    return frozenset(
        name
        for name in small
        if sum(rows.get(str(one), [few + 1])[0] for one in tables[name][1]) <= few
    )


def _footers(
    con: duckdb.DuckDBPyConnection, function: str, column: str, parts: Iterable[Iterable[Path]]
) -> dict[str, list[Any]]:
    """What a function of DuckDB's reads at the end of files of tables, by file; of all nothing where one is damaged:
    whoever reads that says what is wrong. To load Arrow's reader takes three times as long."""
    files = ", ".join(quoted(str(file)) for one in parts for file in one)
    found: dict[str, list[Any]] = {}
    with contextlib.suppress(duckdb.Error):
        for file, value in con.execute(
            f"select file_name, {column} from {function}([{files}])"
        ).fetchall():
            found.setdefault(file, []).append(value)
    return found


def add_views(con: duckdb.DuckDBPyConnection, directory: Path, with_runtime: bool = False) -> None:
    """A view for each table in `directory`, and for those that this run is too old to have. `with_runtime`: as in
    `connect`."""
    _add_views(con, directory, table_parts(directory), frozenset(), with_runtime)


def _add_views(
    con: duckdb.DuckDBPyConnection,
    directory: Path,
    tables: dict[str, tuple[Path, list[Path]]],
    held: frozenset[str],
    with_runtime: bool,
) -> None:
    """Of those to be `held` in memory, a table of the same rows."""
    files = {name: path for name, (path, _) in tables.items()}
    grown = [tables[name][1][:1] for name in LATER.keys() & tables.keys()]
    stored = _footers(con, "parquet_schema", "name", grown)
    for name, (path, parts) in tables.items():
        form = "table" if name in held else "view"
        try:
            rows = rows_of(name, parts, stored.get(str(parts[0])))
            if name == "files":
                rows = _mounted(rows, manifest.read(directory.parent).get("mounts", {}))
            shown = rows if with_runtime else of_program(name, rows)
            con.execute(f'create {form} "{name}" as {shown}')
            if name in RUNTIME:
                left_out = "false" if with_runtime else "runtime"
                con.execute(f"create view runtime_{name} as from ({rows}) where {left_out}")
        except duckdb.Error as error:
            raise damaged(path, first_line(error)) from error
    _check_columns(con, files)
    if "counters" in files:
        try:
            _add_beside(con)
        except duckdb.Error as error:
            raise damaged(files["counters"], first_line(error)) from error
    for name in LATER.keys() - files.keys():
        con.execute(f'create view "{name}" as select {_nulls(LATER[name])} limit 0')


def _check_columns(con: duckdb.DuckDBPyConnection, files: Mapping[str, Path]) -> None:
    """Have the tables the columns that all readers take for given?"""
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in _columns(con, files):
        found.setdefault(table, {})[column] = kind
    for name in files.keys() & FIRST.keys():
        for column, kind in (FIRST[name] | LATER.get(name, {})).items():
            stored = found[name].get(column)
            if stored is None or _form(stored) != _form(kind.upper()):
                what = f"has no column {column}" if stored is None else f"{column} is {stored}"
                raise damaged(files[name], f"{what}, where {kind} is expected")


def _columns(con: duckdb.DuckDBPyConnection, files: Mapping[str, Path]) -> list[tuple[str, ...]]:
    """Table, column and type. Of all tables at once DuckDB would first make the views of its own."""
    each = {name: f"select '{name}', name, type from pragma_table_info('{name}')" for name in files}
    try:
        return con.execute(" union all ".join(each.values())).fetchall() if each else []
    except duckdb.Error as error:
        whole = error
    for name, statement in each.items():
        try:
            con.execute(statement).fetchall()
        except duckdb.Error as error:
            raise damaged(files[name], first_line(error)) from error
    raise damaged(next(iter(files.values())).parent, first_line(whole)) from whole


def _form(kind: str) -> str:
    """What values of a type of SQL's can be used as."""
    bare = kind.removesuffix("[]")
    use = "VARCHAR" if bare.startswith("ENUM") else bare if bare in WORDS else "number"
    return use + kind[len(bare) :]


def site_rows() -> str | None:
    """The statement of what the site's file says, for the macro site_references(); None where there is nothing."""
    path = site.named()
    references = site.read(path) if path else []
    rows = [", ".join(map(_literal, astuple(one))) for one in references]
    names = ", ".join(field.name for field in fields(site.Reference))
    return f"from (values ({'), ('.join(rows)})) as t ({names})" if rows else None


def _literal(value: str | float | None) -> str:
    if value is None:
        return "null::double"
    return quoted(value) if isinstance(value, str) else repr(value)


def _add_beside(con: duckdb.DuckDBPyConnection) -> None:
    """View `beside`: what the views leave out, in one row. The file is looked at once more."""
    con.execute(
        "create view beside as select count(distinct file) as files, coalesce(sum(calls), 0) as calls,"
        " coalesce(sum(time) filter (enclosing is null), 0) as time,"
        " coalesce(list(distinct layer), []) as layers from runtime_counters"
    )


def rows_of(name: str, files: Sequence[Path], stored: Sequence[str] | None = None) -> str:
    """The statement of a table's rows, of these of its files. `stored`: names of their columns, where known."""
    # Each by its name: a pattern would read `s3d.12[3]`, a job array's, as one, too.
    parts = ", ".join(quoted(str(file)) for file in files)
    rows = f"read_parquet([{parts}])"
    return f"select *{COMPUTED.get(name, '')}{_absent(name, files[0], stored)} from {rows}"


def _mounted(files: str, mounts: Mapping[str, Sequence[str | None]]) -> str:
    """Files of a log that knows them by name alone, with the file systems that it says folders are on (run.json)."""
    if not mounts:
        return files
    known = ", ".join(
        f"({', '.join('null' if word is None else quoted(word) for word in (at.rstrip('/'), *on))})"
        for at, on in mounts.items()
    )
    # Of a path and the folders above it the longest one that is known.
    above = "list_transform(range(1, len(parts) + 1), lambda n: array_to_string(parts[:n], '/'))"
    return f"""
        with stored as ({files}),
        known(folder, kind, point) as (values {known}),
        pathed as (select file, string_split(path, '/') as parts from stored where path <> ''),
        found as (
            select file, max_by({{'kind': kind, 'point': point}}, length(folder)) as found
            from (select file, unnest({above}) as folder from pathed) join known using (folder)
            group by file
        )
        select * exclude (found)
            replace (coalesce(file_system, found.kind) as file_system, coalesce(mount, found.point) as mount)
        from stored left join found using (file)"""


def of_program(name: str, rows: str) -> str:
    """Those of a table's rows (`rows_of`) that are not a run-time's."""
    return f"from ({rows}) where runtime is not true" if name in APART else rows


def _nulls(columns: dict[str, str]) -> str:
    return ", ".join(f"null::{kind} as {column}" for column, kind in columns.items())


def _absent(name: str, file: Path, stored: Sequence[str] | None) -> str:
    """Later columns that the stored table lacks, to be selected after its own."""
    later = LATER.get(name)
    if not later:
        return ""
    if stored is None:
        try:
            stored = pq.read_schema(file).names
        except UNREADABLE:
            return ""  # DuckDB says what is wrong with it
    absent = {column: kind for column, kind in later.items() if column not in stored}
    return f", {_nulls(absent)}" if absent else ""


def first_line(error: Exception) -> str:
    """What is wrong; behind it are places in a statement that the user may not have written. What DuckDB's writer says
    of a system call is JSON that names a file of its own: its reason alone."""
    reason = _REASON.search(str(error))
    return os.strerror(int(reason[1])) if reason else str(error).strip().partition("\n")[0]


def _wrong(error: duckdb.Error) -> UsageError:
    """What is wrong with a statement, where, and the names there are."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    if re.search("does not have a column named|column .* not found", lines[0]):
        lines.append("fathom query RUN --schema names the columns of each table")
    return UsageError("\n  ".join(["SQL: " + lines[0], *lines[1:]]))


def _names(con: duckdb.DuckDBPyConnection) -> str:
    """The tables that there are."""
    tables = con.execute(
        "select table_name from information_schema.tables where table_schema = 'main' order by all"
    )
    return ", ".join(name for (name,) in tables.fetchall())


def _explained(con: duckdb.DuckDBPyConnection, error: duckdb.Error) -> FathomError:
    """What went wrong, and whose fault it is."""
    message = first_line(error)
    if re.match("Catalog Error: Table with name .* does not exist", message):
        return UsageError(f"SQL: {message}\n  There are: {_names(con)}")
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException) and (
        table := re.search(r"/[^\"']*?/tables/[^\"']+\.parquet", str(error))
    ):
        part = Path(table[0])
        return damaged(part.with_name(ALL) if part.parent.name in PARTED else part, message)
    if isinstance(error, duckdb.IOException):
        return DamagedTable(message)
    if isinstance(error, duckdb.OutOfMemoryException):
        used = re.search(r"/(\S+ \S+) used\)", message)
        return UsageError(
            f"this needs more memory than the {used[1] if used else message} that it may use here; ask it"
            " where there is more, of a part of the run, or of the workers of a cluster (docs/scale.md)"
        )
    if re.search(r"INT128 with value|Overflow in \w+ of (INT|HUGEINT)", message):
        return DamagedRun(
            "sizes, offsets or times of this run sum to more than 64 bits, which no program can do; look for them with"
            " fathom query RUN --sql 'select * from calls order by greatest(bytes, duration) desc limit 10'"
            f" ({message[:150]})"
        )
    return _wrong(error)


def reading(con: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """One statement that only reads, or UsageError."""
    # SHOW, DESCRIBE and SUMMARIZE count as SELECT; EXPLAIN ANALYZE would run a COPY.
    return _one(con, text, duckdb.StatementType.SELECT)


def _one(con: duckdb.DuckDBPyConnection, text: str, kind: duckdb.StatementType) -> duckdb.Statement:
    try:
        statements = con.extract_statements(text)
    except duckdb.Error as error:
        raise _wrong(error) from error
    if len(statements) != 1:
        raise UsageError(f"SQL: one statement is expected, {len(statements)} given")
    if statements[0].type != kind:
        raise UsageError(f"SQL: only reading is allowed, this is {statements[0].type.name}")
    return statements[0]


def as_doubles(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers as doubles, rounded where they pass 2^53: pyarrow's own cast refuses those."""
    return pc.cast(column, pa.float64(), safe=False)


def doubles(values: Iterable[float | None]) -> pa.Array:
    """A column of numbers, however large."""
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def table_of(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """A table of rows; of columns whose whole numbers pass 64 bits as doubles."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except OverflowError:
        return doubles(values)


def added(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    """Their sums: whole numbers where all fit into 64 bits, else doubles."""
    if first.type == second.type == pa.int64():
        with contextlib.suppress(pa.ArrowInvalid):
            return pc.add_checked(first, second)
    return pc.add(as_doubles(first), as_doubles(second))


def _narrowed(rows: pa.Table) -> pa.Table:
    """Sums of 64-bit numbers have 128 bits in SQL, which nobody else computes with: 64 bits where all of a column fit,
    else doubles."""
    for place, field in enumerate(rows.schema):
        if field.type == SUM:
            rows = rows.set_column(place, field.name, _narrow(rows.column(place)))
    return rows


def _narrow(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if len(column) <= BRIEF:
        whole = [None if one is None else int(one) for one in column.to_pylist()]
        try:
            return pa.chunked_array([pa.array(whole, pa.int64())])
        except (OverflowError, pa.ArrowInvalid):
            return pa.chunked_array([doubles(whole)])
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.float64())


def ask(con: duckdb.DuckDBPyConnection, text: str, values: object = None) -> pa.Table:
    """Runs one reading statement and gives its rows. Anything that would write is refused.

    It is planned once, and its rows are there twice for a moment: of millions `many` is better. One thread at a time.
    """
    checked = reading(con, macros.written_out(con, text))
    try:
        return _narrowed(macros.execute(con, checked, values).to_arrow_table())
    except duckdb.Error as error:
        raise _explained(con, error) from error


def many(con: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
    """As `ask`, for millions of rows: they are there once, but the statement is planned twice, up to 0.1 s."""
    text = macros.with_tables(con, text)
    reading(con, text)
    try:
        macros.load(con, text)
        relation = con.sql(text)
        if relation is None:
            raise UsageError("SQL: the statement gives no rows")
        return _narrowed(relation.to_arrow_table())
    except duckdb.Error as error:
        raise _explained(con, error) from error


def write(con: duckdb.DuckDBPyConnection, text: str, file: Path) -> None:
    """As `ask`, for rows that need not be in memory: into a Parquet file."""
    reading(con, text)
    try:
        macros.execute(con, f"copy ({text}) to {quoted(str(file))} (format parquet)")
    except duckdb.Error as error:
        raise _explained(con, error) from error


def rows(con: duckdb.DuckDBPyConnection, text: str) -> list[dict[str, Any]]:
    """As `ask`, by name and as Python has them."""
    checked = reading(con, macros.with_tables(con, text))
    try:
        done = macros.execute(con, checked)
        names = [one[0] for one in done.description or ()]
        return [dict(zip(names, row, strict=True)) for row in done.fetchall()]
    except duckdb.Error as error:
        raise _explained(con, error) from error


def keep(con: duckdb.DuckDBPyConnection, name: str, text: str, values: object = None) -> None:
    """Keeps the rows of one reading statement as a table of this connection."""
    text = f'create temp table "{name}" as {macros.written_out(con, text)}'
    checked = _one(con, text, duckdb.StatementType.CREATE)
    try:
        macros.execute(con, checked, values)
    except duckdb.Error as error:
        raise _explained(con, error) from error


def combined(partials: Sequence[pa.Table], text: str, values: dict[str, Any]) -> pa.Table:
    """Rows of one reading statement on `partials`: what the same statement gave of each part of a run."""
    together = pa.concat_tables(partials, promote_options="permissive")
    given = {name: value for name, value in values.items() if f"${name}" in text}
    return over(text, given, partials=together)


def over(text: str, values: dict[str, Any] | None = None, **tables: pa.Table) -> pa.Table:
    """Rows of one reading statement on tables in memory, by their names."""
    con = duckdb.connect(":memory:", config={"enable_external_access": False})
    for name, table in tables.items():
        con.register(name, table)
    return ask(con, text, values)
