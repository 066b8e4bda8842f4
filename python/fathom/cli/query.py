"""fathom query: ask a run how long its calls took where (IOPro's queries), or its tables by SQL (DuckDB's), read-only.

queries ([sets] may be left out at the end; as 0-3,7 or all; calls are numbered from 0 among those asked about):
  latency breakdown inclusive|exclusive [procs] [calls]
  latency operation list|max|min|avg [procs] [calls] [subcalls] [servers]
  latency collective [procs] [calls]
  throughput [procs] [calls] [subcalls] [servers]
  energy ACTIVE INACTIVE [procs] [calls] [subcalls] [servers]
  call [procs] [calls] [subcalls] [servers]

examples:
  fathom query s3d.1 latency breakdown inclusive 0-1 1-10
  fathom query s3d.1 latency breakdown exclusive all 0-3 --function MPI_File_write_all
  fathom query s3d.1 latency operation max all all all 1-3 --plot max.png
  fathom query s3d.1 throughput --region checkpoint --json
  fathom query s3d.1 energy 11.5 8 --lines write.c:100-250
  fathom query s3d.1 --schema
  fathom query s3d.1 --shell
  fathom query s3d.1 --sql "select op, sum(bytes) as bytes from counters group by op"
  fathom query s3d.1 --csv --sql "from calls where layer = 'mpiio' order by duration desc limit 20"
  fathom query s3d.1 --json < slow.sql
  fathom query s3d.1 throughput --cluster local:4
  fathom query s3d.1 --cluster scheduler.json --sql "select op, max(duration) as longest from calls group by op" \\
    --combine "select op, max(longest) as longest from partials group by op"
"""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from fathom.analysis.latency import language, model
from fathom.analysis.latency import segment as segments
from fathom.cli.arguments import Newest, add_run, add_with_runtime
from fathom.errors import UsageError, nearest, unknown
from fathom.files import is_there
from fathom.pages import bars, latency, written
from fathom.run import cluster, confined, shell
from fathom.run.directory import find
from fathom.run.limitations import explain_missing, reads_and_writes
from fathom.run.store import Run, as_json, open_run
from fathom.run.where import FORMS
from fathom.text import tables
from fathom.text.quoting import json_text
from fathom.text.tables import Column, text

#: What a query begins with.
BEGIN = frozenset(name.partition(" ")[0] for name in model.VIEWS_OF)
#: Longest calls and requests where nobody says how many.
TOP = 1000


def whole(word: str) -> int:
    """A whole number; 0: all."""
    if not (word.isascii() and word.isdigit()):
        raise argparse.ArgumentTypeError(f"'{word}' is no whole number")
    return int(word)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, the question, the part of the run, the form of the answer."""
    add_run(parser, last=True)
    add_with_runtime(parser)
    parser.add_argument("words", nargs="*", metavar="QUERY", help="one of the queries above")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--sql", metavar="TEXT", help="the statement (default: read from stdin)")
    what.add_argument("--schema", action="store_true", help="all tables and their columns")
    what.add_argument(
        "--shell", action="store_true", help="DuckDB's own shell, with all tables and macros"
    )
    part = parser.add_argument_group("of which calls a query is (the program's own I/O calls)")
    part.add_argument("--lines", metavar="FILE:A-B", help="made from these source lines")
    part.add_argument("--region", metavar="NAME", help="inside this region of the program")
    part.add_argument("--time", metavar="A-B", help="that began in these seconds of the run")
    part.add_argument("--layer", metavar="LAYER", help="of this layer, as mpiio")
    part.add_argument("--function", metavar="NAME", help="of this function")
    part.add_argument("--files", metavar="GLOB", help="on such files")
    wide = parser.add_argument_group("of a large run")
    wide.add_argument(
        "--cluster",
        metavar="WHERE",
        help=f"ask the workers of a Dask cluster, each for some ranks: {FORMS}",
    )
    wide.add_argument(
        "--combine",
        metavar="TEXT",
        help="of --sql that is asked in parts: the statement on all their rows, table partials",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--csv", action="store_true", help="comma-separated values; of a query one table"
    )
    form.add_argument("--json", action="store_true", help="as data; u64 ids as text")
    form.add_argument(
        "--plot", type=Path, metavar="FILE", help="a picture of the answer: .png, .svg, .pdf"
    )
    parser.add_argument("--view", metavar="TABLE", help="only this table of a query's answer")
    parser.add_argument(
        "--top",
        type=whole,
        metavar="N",
        help=f"how many calls or requests, the longest; 0: all (default: {TOP}; page: {latency.FEW})",
    )


SCHEMA = """
    select table_name as "table", column_name as "column", data_type as "type"
    from information_schema.columns
    order by table_name, ordinal_position
"""
ONLY = ("lines", "region", "time", "layer", "function", "files", "plot", "view", "top")


def _statement(arguments: argparse.Namespace) -> str:
    given = [name for name in ONLY if getattr(arguments, name) is not None]
    if given:
        raise UsageError(f"query: --{given[0]} goes with a query, as call; SQL says that itself")
    if arguments.schema:
        return SCHEMA
    if arguments.sql is not None:
        return str(arguments.sql)
    if sys.stdin.isatty():
        raise UsageError(
            "query: which question? A query such as: call; or --sql TEXT, or SQL on stdin; --help lists all"
        )
    return sys.stdin.read()


@contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[Run]:
    """The run; with workers, who say at the end what it took."""
    run = open_run(arguments.run, with_runtime=arguments.with_runtime)
    if arguments.cluster is None:
        yield run
        return
    if arguments.with_runtime:
        raise UsageError(
            "query: --with-runtime goes without --cluster: workers look at the program's own calls"
        )
    with cluster.workers(arguments.cluster) as workers:
        run.workers = workers
        yield run
        print(f"fathom: {workers.summary()}", file=sys.stderr)


def _print(rows: pa.Table) -> None:
    numeric = [
        pa.types.is_integer(field.type)
        or pa.types.is_floating(field.type)
        or pa.types.is_decimal(field.type)
        for field in rows.schema
    ]
    columns = [
        Column(name, name, text, right=right)
        for name, right in zip(rows.column_names, numeric, strict=True)
    ]
    tables.show(columns, rows)


def _segment(arguments: argparse.Namespace) -> segments.Segment:
    given = {option: getattr(arguments, option.removeprefix("--")) for option in segments.OPTIONS}
    return segments.of({option: value for option, value in given.items() if value is not None})


def _views(arguments: argparse.Namespace) -> frozenset[str]:
    """Only what is going to be shown is asked."""
    if arguments.view is not None:
        return frozenset({arguments.view})
    if arguments.csv:
        return frozenset({"call"})
    if arguments.json:
        return model.VIEWS
    return bars.VIEWS if arguments.plot else frozenset(latency.PAGE)


def _ask(arguments: argparse.Namespace) -> int:
    if arguments.sql is not None or arguments.schema or arguments.combine is not None:
        raise UsageError("query: a query or SQL, not both")
    query = language.parse(" ".join(arguments.words))
    segment = _segment(arguments)
    if arguments.plot:
        if arguments.view is not None:
            raise UsageError("query: --plot draws the whole answer; not with --view")
        bars.check(arguments.plot)
    there = model.VIEWS_OF[query.name]
    if arguments.view is not None and arguments.view not in there:
        raise UsageError(unknown("query: this query has no table", arguments.view, there))
    top = TOP if arguments.top is None else arguments.top
    with _opened(arguments) as run, explain_missing(run.manifest, reads_and_writes):
        answer = model.answer(run, query, segment, top, _views(arguments))
    one = arguments.view or next(iter(answer.views))
    if arguments.plot:
        most = bars.most_of(arguments.plot)
        bars.save(arguments.plot, bars.picture(query, answer, most))
        print(f"picture: {arguments.plot}", file=sys.stderr)
    elif arguments.json:
        content = {"query": str(query)} | latency.as_json(answer, as_json)
        rows = as_json(answer.views[one])
        print(json_text(rows if arguments.view else content))
    elif arguments.csv:
        tables.write_csv(answer.views[one])
    elif arguments.view:
        tables.show(
            latency.columns(answer.views[one], answer.layers, named=True), answer.views[one]
        )
    else:
        latency.show(answer, arguments.top or latency.FEW)
    for note in answer.notes:
        print(f"fathom: {note}", file=sys.stderr)
    return 0


def _apart(rows: pa.Table) -> pa.Table:
    """Columns of one name under names of their own: `op`, `op_2`."""
    names: list[str] = []
    for name in rows.column_names:
        number, unique = 2, name
        while unique in names or (number > 2 and unique in rows.column_names):
            unique, number = f"{name}_{number}", number + 1
        names.append(unique)
    return rows.rename_columns(names)


def _shell(arguments: argparse.Namespace) -> int:
    if arguments.words or arguments.cluster or arguments.json or arguments.csv:
        raise UsageError("query: --shell goes with a run alone")
    with _opened(arguments) as opened:
        return shell.open_shell(opened)


def _without_run(arguments: argparse.Namespace) -> None:
    """A query may begin where RUN stands, unless there is a run of that name."""
    run = arguments.run
    if isinstance(run, str) and nearest(run, BEGIN) and not find(run) and not is_there(Path(run)):
        arguments.words = [arguments.run, *arguments.words]
        arguments.run = Newest()


def run(arguments: argparse.Namespace) -> int:
    """Prints the rows."""
    _without_run(arguments)
    if arguments.shell:
        return _shell(arguments)
    if arguments.words:
        return _ask(arguments)
    statement = _statement(arguments)
    if arguments.cluster and arguments.combine is None:
        raise UsageError(
            "query: SQL on a cluster needs --combine TEXT, the statement on `partials`"
        )
    try:
        with confined.limited(confined.machine() * 9 // 10):
            return _show(arguments, statement)
    except MemoryError:
        raise UsageError("query: this needs more memory than there is here; ask for less") from None


def _show(arguments: argparse.Namespace, statement: str) -> int:
    """Asks, and prints the rows."""
    with _opened(arguments) as opened:
        combine = arguments.combine
        rows = _apart(opened.in_parts(statement, combine) if combine else opened.many(statement))
        gone = _dropped(opened, statement)
    if arguments.json:
        written.show(rows)
    elif arguments.csv:
        tables.write_csv(rows)
    else:
        _print(rows)
    for line in gone:
        print(f"fathom: {line}", file=sys.stderr)
    return 0


def _dropped(opened: Run, statement: str) -> list[str]:
    """Why calls that a statement asks for are not there (`--keep-calls-if`)."""
    asked = re.search(r"\b(calls|args|links)\b", statement)
    if not asked or "keep_calls_if" not in opened.manifest.get("configuration", {}):
        return []
    rows = opened.sql(
        "select detail, sum(value) as calls from marks where kind = 'calls dropped' group by detail order by calls desc"
    )
    return [f"{row['calls']:,} calls dropped: {row['detail']}" for row in rows.to_pylist()]
