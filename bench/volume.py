"""Bytes per event in streams and in tables, and how fast they are read back, on one core."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from tools import ENGINE, FATHOM, PROGRAMS, Row, fathom_run, run, scratch, size_of

STREAM_BYTES = 6.0
TABLE_BYTES = 2.5
DECODE_ROWS = 10e6
PARQUET_ROWS = 4e6
SUMMARY_SECONDS = 2.0
SUMMARY_EVENTS = 10_000_000


def seconds_of(work: list[str | Path]) -> float:
    began = time.monotonic()
    run(work)
    return time.monotonic() - began


def on_one_core(command: list[str | Path]) -> list[str | Path]:
    return ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]


def events_of(directory: Path) -> int:
    """Rows of `calls`, asked as a user would."""
    answer = run([FATHOM, "query", directory, "--json", "--sql", "select count(*) as n from calls"])
    return int(json.loads(answer)[0]["n"])


def volume_rows(directory: Path, events: int) -> list[Row]:
    streams = size_of(directory / "streams", "*.fts") / events
    tables = size_of(directory / "tables", "*.parquet") / events
    return [
        Row(
            "bytes per event in streams, regular I/O",
            streams,
            "B",
            target=f"<= {STREAM_BYTES:g} B",
            met=streams <= STREAM_BYTES,
        ),
        Row(
            "bytes per event in tables, regular I/O",
            tables,
            "B",
            target=f"<= {TABLE_BYTES:g} B",
            met=tables <= TABLE_BYTES,
        ),
    ]


def decode_row(directory: Path) -> Row:
    rate = json.loads(run(on_one_core([ENGINE, "decode-bench", directory])))["rows_per_second"]
    return Row(
        "rows decoded into Arrow, one core",
        rate / 1e6,
        "M/s",
        target=f">= {DECODE_ROWS / 1e6:g} M/s",
        met=rate >= DECODE_ROWS,
    )


def parquet_row(seconds: float, events: int) -> Row:
    rate = events / seconds
    return Row(
        "rows packed into Parquet, one core",
        rate / 1e6,
        "M/s",
        target=f">= {PARQUET_ROWS / 1e6:g} M/s",
        met=rate >= PARQUET_ROWS,
    )


def summary_row(directory: Path, events: int) -> Row:
    seconds = seconds_of([FATHOM, "show", directory])
    full = events >= SUMMARY_EVENTS
    return Row(
        f"summary (fathom show) of {events / 1e6:.1f} M events",
        seconds,
        "s",
        target=f"<= {SUMMARY_SECONDS:g} s of 10 M events" if full else "",
        met=seconds <= SUMMARY_SECONDS if full else None,
    )


def rows(quick: bool) -> list[Row]:
    """One real program's calls, traced once: its stream is what all rows are measured on."""
    calls = SUMMARY_EVENTS // 10 if quick else SUMMARY_EVENTS
    with scratch("/dev/shm") as directory:
        run_directory = directory / "run.fathom"
        trace = fathom_run(run_directory, "--budget", "1GiB")
        run([*trace, PROGRAMS / "regular", directory / "data", str(calls)])
        decoded = decode_row(run_directory)
        began = time.monotonic()
        run(on_one_core([ENGINE, "pack", run_directory]))
        packing = time.monotonic() - began
        events = events_of(run_directory)
        return [
            *volume_rows(run_directory, events),
            decoded,
            parquet_row(packing, events),
            summary_row(run_directory, events),
        ]
