"""The formats of `fathom export`. A new one is an entry here and a module with its writer."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from fathom.errors import needed
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected


class Writer(Protocol):
    """What a format's module has by the name `write`."""

    def __call__(self, selected: Selected, out: Path, progress: Progress) -> list[str]:
        """Writes to `out`: a file that is not there yet, or an empty directory. Gives what the format could not hold,
        a line each. Errors: FathomError, OSError; what was written so far is removed by the caller."""
        ...


@dataclass(frozen=True)
class Format:
    """One format: what it is, the module that writes it, and what its output is called."""

    what: str
    module: str
    suffix: str  # of the output's name, where none is given: NAME + suffix
    anchor: str | None = (
        None  # the output is a directory, and this is the file in it that its readers open
    )
    extra: str | None = None  # of pip, that brings the package it needs
    table: bool = False  # it holds one table, which may be another than `calls`
    by_thread: bool = False  # it has files for each thread
    sums: bool = False  # it holds sums of the whole run, of calls that were only counted too

    def writer(self, name: str) -> Writer:
        """Its `write`. Errors: UsageError where its package is not installed."""
        with needed(f"export: --to {name}", self.extra or name):
            return cast(Writer, importlib.import_module(self.module).write)


FORMATS = {
    "otf2": Format(
        what="OTF2 archive (a directory), for Vampir and the tools of Score-P",
        module="fathom.interop.exports.otf2",
        suffix="-otf2",
        anchor="traces.otf2",
        extra="otf2",
        by_thread=True,
    ),
    "perfetto": Format(
        what="Perfetto trace, for ui.perfetto.dev and trace_processor",
        module="fathom.interop.exports.perfetto",
        suffix=".pftrace",
    ),
    "ctf": Format(
        what="CTF 1.8 trace (a directory), for babeltrace2 and Trace Compass",
        module="fathom.interop.exports.ctf",
        suffix="-ctf",
        anchor="metadata",
        by_thread=True,
    ),
    "otlp": Format(
        what="OpenTelemetry spans as lines of JSON, for its Collector",
        module="fathom.interop.exports.otlp",
        suffix=".otlp.jsonl",
    ),
    "parquet": Format(
        what="a table as Parquet",
        module="fathom.interop.exports.tables.parquet",
        suffix=".parquet",
        table=True,
    ),
    "arrow": Format(
        what="a table as Arrow IPC (Feather)",
        module="fathom.interop.exports.tables.arrow",
        suffix=".arrow",
        table=True,
    ),
    "csv": Format(
        what="a table as comma-separated values",
        module="fathom.interop.exports.tables.csv",
        suffix=".csv",
        table=True,
    ),
    "duckdb": Format(
        what="a table as DuckDB database",
        module="fathom.interop.exports.tables.duckdb",
        suffix=".duckdb",
        table=True,
    ),
    "openmetrics": Format(
        what="sums as OpenMetrics, for Prometheus and node_exporter",
        module="fathom.interop.exports.openmetrics",
        suffix=".prom",
        sums=True,
    ),
    "influx": Format(
        what="sums as Influx's line protocol, for InfluxDB, Telegraf, LDMS and ClusterCockpit",
        module="fathom.interop.exports.influx",
        suffix=".influx",
        sums=True,
    ),
}
