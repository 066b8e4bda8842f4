"""fathom landscape LAKE: the jobs of a centre, from the lake that fathom collect makes."""

import argparse
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from fathom.analysis import lake as analysis
from fathom.errors import UsageError, unknown
from fathom.pages import lake as view
from fathom.pages import landscapes
from fathom.run import database
from fathom.run.lake import Lake, Reader
from fathom.text import tables
from fathom.text.quoting import json_text

#: Options of runs that have no meaning here.
RUNS = ("baseline", "group", "layer", "interference", "site", "plot", "with_runtime")


def check(arguments: argparse.Namespace, lakes: int) -> None:
    """Errors: UsageError where a lake is asked like runs, or beside others."""
    if len(arguments.runs) > lakes or lakes > 1:
        raise UsageError("landscape: a lake goes alone; collect runs into one lake")
    wrong = next((name for name in RUNS if getattr(arguments, name)), None)
    if arguments.rank is not None:
        wrong = "rank"
    if wrong:
        option = wrong.replace("_", "-")
        raise UsageError(
            f"landscape: --{option} is of runs; this is a lake: --by, --history, --since"
        )
    if arguments.by and arguments.by not in analysis.TABLES:
        raise UsageError(unknown("landscape: --by: a lake has no", arguments.by, analysis.TABLES))
    if arguments.by and arguments.history:
        raise UsageError("landscape: --history goes without --by")


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def _print_json(content: Mapping[str, Any]) -> None:
    print(json_text({"format": 1, **content}, _text))


def run(lake: Lake, arguments: argparse.Namespace) -> int:
    """Prints the screen, one of its tables, or a job beside its program's earlier runs."""
    reader = lake.reading(lake.since(arguments.since))
    total = analysis.total(reader)
    if not total["jobs"]:
        raise UsageError(f"{lake.path}: no job is in it since then; fathom collect adds some")
    if arguments.history:
        return _job(reader, arguments)
    if arguments.jobs:
        tables.write_csv(database.table_of([landscapes.job(row) for row in analysis.jobs(reader)]))
        return 0
    if arguments.csv:
        rows = analysis.rows(reader, arguments.by or "jobs", arguments.top)
        tables.write_csv(database.table_of(rows))
        return 0
    if arguments.by:
        chosen = {arguments.by: arguments.top}
    else:
        chosen = {table: arguments.top or rows for table, rows in view.SCREEN.items()}
    chosen_rows = {table: analysis.rows(reader, table, top) for table, top in chosen.items()}
    if arguments.json:
        _print_json({"total": total, **chosen_rows})
    elif arguments.by:
        view.show_table(arguments.by, chosen_rows[arguments.by][: arguments.top or 20])
    else:
        view.show_screen(total, chosen_rows)
    return 0


def _job(reader: Reader, arguments: argparse.Namespace) -> int:
    beside = analysis.beside(reader, arguments.history)
    if beside is None:
        raise UsageError(
            unknown(
                "landscape: --history: no job",
                arguments.history,
                analysis.names(reader),
                "--by jobs lists them",
            )
        )
    if arguments.json:
        _print_json(
            {
                "job": beside.job,
                "runs": beside.runs,
                "ranks": beside.ranks,
                "measures": beside.measures,
            }
        )
    elif arguments.csv:
        tables.write_csv(database.table_of(beside.measures))
    else:
        view.show_beside(beside, arguments.top)
    return 0
