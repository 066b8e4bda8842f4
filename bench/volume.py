"""Bytes per event in streams and in tables, and how fast they are read back, on one core."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from tools import ENGINE, FATHOM, Row, pack, regular_run, run, size_of

STREAM_BYTES = 6.0
TABLE_BYTES = 2.5
ARROW_MROWS = 10.0
PARQUET_MROWS = 4.0
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


def speed_row(what: str, million_per_second: float, target: float | None) -> Row:
    return Row(
        what,
        million_per_second,
        "M/s",
        target=f">= {target:g} M/s" if target else "",
        met=million_per_second >= target if target else None,
    )


def read_back_rows(directory: Path) -> list[Row]:
    """Best of several passes over the program's stream file, by one thread on one core."""
    streams = (directory / "streams").rglob("*.fts")  # the shell that starts it has one too
    stream = max(streams, key=lambda path: path.stat().st_size)
    words: list[str | Path] = [ENGINE, "decode-bench", "--repeat", "5", stream]
    rates = json.loads(run(on_one_core(words)))
    return [
        speed_row("rows decoded, one core", rates["decode_million_per_second"], None),
        speed_row(
            "rows decoded into Arrow, one core", rates["arrow_million_per_second"], ARROW_MROWS
        ),
        speed_row(
            "rows decoded into Parquet, one core",
            rates["parquet_million_per_second"],
            PARQUET_MROWS,
        ),
    ]


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
    with regular_run(SUMMARY_EVENTS // 100 if quick else SUMMARY_EVENTS) as run_directory:
        read_back = read_back_rows(run_directory)
        began = time.monotonic()
        pack(run_directory)
        packing = time.monotonic() - began
        events = events_of(run_directory)
        return [
            *volume_rows(run_directory, events),
            *read_back,
            speed_row("  rows of the whole pack command, all cores", events / packing / 1e6, None),
            summary_row(run_directory, events),
        ]
