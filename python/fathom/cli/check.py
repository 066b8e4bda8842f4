"""fathom check: a run's I/O against limits: opens, requests, syncs, bytes, collective share, by files and region.

Exit status 1 when a limit is broken.

examples:
  fathom check s3d.1 --write io.toml
  fathom check s3d.2 --against io.toml
  fathom check s3d.2 --against io.toml --sarif io.sarif --junit io.xml
  fathom check s3d.2 --against io.toml --json | jq '.limits[] | select(.kept | not)'
"""

import argparse
import sys
from pathlib import Path

import pyarrow as pa

import fathom
from fathom.analysis.limits import Amounts
from fathom.assist import check, limits, sarif
from fathom.cli.arguments import add_run, save
from fathom.errors import UsageError, printable
from fathom.run.store import Run
from fathom.text import numbers, tables
from fathom.text.quoting import json_text
from fathom.text.tables import Column, text

COLUMNS = (
    Column("part", "part", text, right=False, is_key=True),
    Column("quantity", "quantity", text, right=False, is_key=True),
    Column("is", "is"),
    Column("limit", "limit", text, right=False),
    Column("of", "of", text, where_known=True, spare=1),
    Column("lines", "lines", text, right=False),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, the limits, and where to say what is broken."""
    add_run(parser, last=True)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--against", type=Path, metavar="FILE", help="limits, as --write makes them")
    what.add_argument(
        "--write", type=Path, metavar="FILE", help="make limits of this run, which it keeps just so"
    )
    parser.add_argument(
        "--with-seconds",
        action="store_true",
        help=f"with --write: limits on time too, {limits.SLACK:g} times as much as here",
    )
    parser.add_argument("--json", action="store_true", help="raw numbers, units in the names")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also as a report of tests")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="also for code hosts, by line")


def run(arguments: argparse.Namespace) -> int:
    """Prints what is broken; 1 if something is."""
    if arguments.write is not None:
        if arguments.json or arguments.junit or arguments.sarif:
            raise UsageError(
                "check: --write goes alone or with --with-seconds; nothing is checked then"
            )
        return _write(fathom.open(arguments.run), arguments.write, arguments.with_seconds)
    if arguments.against is None:
        raise UsageError("check: against which limits? --against FILE; --write FILE makes some")
    if arguments.with_seconds:
        raise UsageError(
            "check: --with-seconds goes with --write; a file of limits has seconds or not"
        )
    given = limits.read(arguments.against)
    opened = fathom.open(arguments.run)
    every = check.verdicts(Amounts(opened), given)
    if arguments.sarif:
        log = json_text(sarif.log(check.results(every)))
        save("check", arguments.sarif, log + "\n")
    if arguments.junit:
        seconds = opened.sql("select duration / 1e9 as s from runs")["s"][0].as_py()
        save("check", arguments.junit, check.junit(opened.name, every, seconds))
    if arguments.json:
        print(json_text(check.as_json(opened.name, every)))
    else:
        _print(opened.name, arguments.against, every)
    return 0 if all(one.holds for one in every) else 1


def _print(name: str, path: Path, every: list[check.Verdict]) -> None:
    broken = [one for one in every if not one.holds]
    of = f"{numbers.things(len(every), 'limit')} of {printable(path)}"
    if not broken:
        tables.heading(f"{printable(name)} keeps all {of}")
        return
    tables.heading(f"{printable(name)} breaks {len(broken)} of {of}")
    rows = [
        {
            "part": str(one.limit.part),
            "quantity": one.limit.quantity,
            "is": check.written(one.limit.quantity, one.value),
            "limit": one.limit.text,
            "of": check.written(one.limit.quantity, one.bound) if one.limit.factor else None,
            "lines": check.blame(one) or "not known: record at level call",
        }
        for one in broken
    ]
    tables.show(COLUMNS, pa.Table.from_pylist(rows))


def _write(opened: Run, path: Path, seconds: bool) -> int:
    if path.exists():
        limits.read(path)  # what is no file of limits is not replaced
    save("check", path, limits.written(Amounts(opened), seconds))
    tables.note(
        f"fathom: {printable(path)}: limits that {printable(opened.name)} keeps", sys.stderr
    )
    return 0
