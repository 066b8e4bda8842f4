"""All benchmarks in one table: measured, baseline of the same run, ratio, target, met or not.

    python bench/run.py [--quick] [--only NAME]… [--json FILE]

Exit status: 0 measured, whether targets are met or not; 1 with --gate if one is not; 3 if a
benchmark could not run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import advice
import attach
import exact
import findings
import forwarding
import imports
import kernel
import linear
import mix
import per_call
import query
import regenerated
import scale
import sink
import start
import tuning
import view
import volume
import wild
from rich.console import Console
from rich.table import Table
from tools import VERDICT, BenchError, Row, number

BENCHMARKS: dict[str, Callable[[bool], list[Row]]] = {
    "attach": attach.rows,
    "per-call": per_call.one_thread,
    "threads": per_call.two_threads,
    "kernel": kernel.rows,
    "volume": volume.rows,
    "query": query.rows,
    "linear": linear.rows,
    "scale": scale.rows,
    "start": start.rows,
    "exact": exact.rows,
    "findings": findings.rows,
    "wild": wild.rows,
    "advice": advice.rows,
    "generate": regenerated.rows,
    "forward": forwarding.rows,
    "sink": sink.rows,
    "tuning": tuning.rows,
    "mix": mix.rows,
    "view": view.rows,
    "imports": imports.rows,
}


def table(name: str, rows: list[Row], seconds: float) -> Table:
    result = Table(title=f"{name} ({seconds:.0f} s)", title_justify="left")
    for heading in ("what", "measured", "baseline", "ratio", "target", "met"):
        right = heading in ("measured", "baseline", "ratio")
        result.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        result.add_row(
            row.what,
            number(row.measured, row.unit),
            number(row.baseline, row.unit),
            number(row.ratio, ""),
            row.target,
            VERDICT[row.met],
        )
    return result


def machine() -> str:
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.1f}, Linux {os.uname().release}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fathom's benchmarks")
    parser.add_argument("--quick", action="store_true", help="smaller runs: a look, no claim")
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="this one")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument("--gate", action="store_true", help="exit 1 if a target is not met")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(f"{machine()}{', quick' if options.quick else ''}", highlight=False)
    every: list[Row] = []
    broken = False
    for name in options.only or BENCHMARKS:
        began = time.monotonic()
        try:
            rows = BENCHMARKS[name](options.quick)
        except BenchError as error:
            print(f"bench {name}: {error}", file=sys.stderr)
            broken = True
            continue
        console.print(table(name, rows, time.monotonic() - began))
        every += rows
    missed = [row.what for row in every if row.met is False]
    console.print(
        f"{sum(row.met is True for row in every)} targets met, {len(missed)} missed",
        highlight=False,
    )
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in every], indent=1) + "\n")
    return 3 if broken else int(options.gate and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
