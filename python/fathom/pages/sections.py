"""The sections of the page of `show`, in its order. A new table is a row here."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fathom.analysis import Source, accesses, collectives, critical, part, ranklist, summary
from fathom.analysis.breakdown import KEYS, breakdown
from fathom.errors import UsageError, unknown
from fathom.pages import collectives as shape
from fathom.pages import coverage_footer, loaders, tree, tuned
from fathom.pages.part import Page, Part
from fathom.run.manifest import command_line
from fathom.text import numbers
from fathom.text.column import Column
from fathom.text.tables import printable, text


def habit(saves: int, renamed: int, synced: int, synced_first: int, emptied: int) -> str:
    """How files are replaced by newer ones."""
    if emptied:
        return "written over"
    if renamed:
        return "synced, renamed" if synced_first == renamed else "renamed, not synced"
    return "new names, synced" if synced == saves else "new names"


LAYERS = (
    Column("layer", "layer", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("inclusive", "inclusive_seconds", numbers.seconds),
    Column("exclusive", "exclusive_seconds", numbers.seconds),
    Column("share", "share", numbers.percent),
    Column("MB/s", "mb_per_s", numbers.rate),
)
FUNCTIONS = (
    Column("function", "op", text, right=False, is_key=True),
    Column("layer", "layer", text, right=False),
    Column("called from", "caller", text, right=False, is_key=True),
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("mean", "mean_seconds", numbers.seconds, spare=3),
    Column("longest", "longest_seconds", numbers.seconds, spare=1),
    Column("MB/s", "mb_per_s", numbers.rate, spare=2),
)
PERCENTILES = (
    Column("function", "op", text, right=False),
    Column("layer", "layer", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("time", "seconds", numbers.seconds),
    Column("p50", "p50_seconds", numbers.seconds),
    Column("p90", "p90_seconds", numbers.seconds),
    Column("p99", "p99_seconds", numbers.seconds),
    Column("longest", "longest_seconds", numbers.seconds),
)


def _started(command: list[str], program: str | None) -> str:
    """Its words without directories; of a log that has none the program."""
    return printable(command_line({"command": command}, short=True)) if command else text(program)


RANKS = (
    Column("rank", "rank", numbers.count, is_key=True, where_known=True),
    Column("process", "process", numbers.count, is_key=True),
    Column("parent", "parent", numbers.count, is_key=True, where_known=True),
    Column("pid", "pid", str, spare=4),
    Column("host", "host", text, right=False, spare=3),
    Column("ended", "ended", text, right=False, spare=2),
    Column("calls", "calls", numbers.count),
    Column("bytes asked", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("share", "share", numbers.percent, spare=1),
    Column("memory", "memory", numbers.size, spare=5, where_known=True),
    Column("program", "command", _started, right=False, is_key=True, also=("program",)),
)
FILES = (
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("calls", "calls", numbers.count),
    Column("opens", "opens", numbers.count, spare=2),
    Column("processes", "processes", numbers.count, spare=1),
    Column("server", "server", text, right=False, where_known=True),
    Column("file", "path", text, right=False, is_path=True),
)
ORIGINS = (
    Column("operation", "operation", text, right=False, is_key=True),
    Column(
        "called from", "caller", lambda name: f"< {text(name) or 'none'}", right=False, is_key=True
    ),
    Column("files", "file_group", text, right=False),
    Column("number", "files", numbers.count, spare=3),
    Column("calls", "calls", numbers.count, spare=2),
    Column("bytes", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("in caller", "caller_seconds", numbers.seconds),
    Column("who", "ranks", ranklist.brief, right=False),
)
VARIABLES = (
    Column("layer", "layer", text, right=False),
    Column("reads", "reads", numbers.count, spare=1),
    Column("writes", "writes", numbers.count, spare=1),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("POSIX read", "system_read", numbers.size, spare=4),
    Column("POSIX written", "system_written", numbers.size, spare=5),
    Column("POSIX calls", "system_calls", numbers.count, spare=2),
    Column("processes", "processes", numbers.count, spare=3),
    Column("variable", "variable", text, right=False, is_key=True),
    Column("file", "path", text, right=False, is_path=True),
)
MOUNTS = (
    Column("file system", "file_system", text, right=False),
    Column("files", "files", numbers.count),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("OSTs", "osts", numbers.count, spare=1),
    Column("mount point", "mount", text, right=False, is_path=True),
)
HINTS = (
    Column("setting", "setting", text, right=False, is_key=True),
    Column("value", "value", text, right=False, is_key=True),
    Column("source", "source", text, right=False, spare=3),
    Column("processes", "processes", numbers.count, spare=2),
    Column("files", "files", numbers.count, spare=1),
    Column("of", "thing", text, right=False),
    Column("file", "path", text, right=False, is_path=True),
)
MEMORY = (
    Column("HDF5's", "memory", text, right=False),
    Column("reads", "reads", numbers.count),
    Column("writes", "writes", numbers.count),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("file", "path", text, right=False, is_path=True),
)
COMMUNICATION = (
    Column("function", "op", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count, spare=1),
    Column("bytes", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("least", "least_seconds", numbers.seconds),
    Column("most", "most_seconds", numbers.seconds),
    Column("rank", "slowest", numbers.count),
    Column("longest", "longest_seconds", numbers.seconds, spare=2),
)
WAITS = (
    Column("function", "op", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count),
    Column("time", "seconds", numbers.seconds),
    Column("mean", "mean_seconds", numbers.seconds),
    Column("longest", "longest_seconds", numbers.seconds),
    Column("processes", "processes", numbers.count),
)
SERVERS = (
    Column("number", "number", numbers.count, is_key=True),
    Column("calls", "calls", numbers.count),
    Column("reads and writes", "accesses", numbers.count, spare=3),
    Column("errors", "errors", numbers.count, spare=4),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("mean", "mean_seconds", numbers.seconds, spare=5),
    Column("longest", "longest_seconds", numbers.seconds, spare=2),
    Column("MB/s", "mb_per_s", numbers.rate, spare=1),
    Column("server", "server", text, right=False, is_path=True),
)
CHECKPOINTS = (
    Column("layer", "layer", text, right=False, spare=3),
    Column("times", "rounds", numbers.count),
    Column("files", "files", numbers.count, spare=1),
    Column("bytes", "bytes", numbers.size),
    Column("writers", "writers", numbers.count, spare=2),
    Column("stripes", "stripes", numbers.count, spare=4),
    Column("main thread", "stall_seconds", numbers.seconds),
    Column("others waited", "others_seconds", numbers.known_seconds),
    Column(
        "habit", "saves", habit, right=False, also=("renamed", "synced", "synced_first", "emptied")
    ),
    Column("file", "path", text, right=False, is_path=True),
)
REGIONS = (
    Column("region", "region", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("time", "seconds", numbers.seconds),
    Column("mean", "mean_seconds", numbers.seconds, spare=2),
    Column("longest", "longest_seconds", numbers.seconds, spare=1),
    Column("its I/O", "own_seconds", numbers.seconds),
    Column("share", "own_share", numbers.percent),
    Column("processes", "processes", numbers.count),
)

# What a breakdown's keys look like, by the name of their column; then what is told of each row.
KEY_COLUMNS = {
    "op": Column("function", "op", text, right=False),
    "layer": Column("layer", "layer", text, right=False),
    "caller": Column("called from", "caller", text, right=False),
    "operation": Column("operation", "operation", text, right=False),
    "rank": Column("rank", "rank", numbers.count, where_known=True),
    "process": Column("process", "process", numbers.count),
    "program": Column("program", "program", text, right=False),
    "path": Column("file", "path", text, right=False, is_path=True),
    "file_group": Column("files", "file_group", text, right=False),
    "suffix": Column("files", "suffix", text, right=False),
    "size_from": Column("size from", "size_from", numbers.size),
    "size_below": Column("below", "size_below", numbers.size),
    "start_seconds": Column("from", "start_seconds", numbers.seconds),
    "stop_seconds": Column("to", "stop_seconds", numbers.seconds),
    "source_line": Column("line", "source_line", text, right=False, is_path=True),
    "function": Column("in", "function", text, right=False),
    "server": Column("server", "server", text, right=False),
}
MEASURES = (
    Column("calls", "calls", numbers.count),
    Column("errors", "errors", numbers.count, spare=2),
    Column("bytes", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("mean", "mean_seconds", numbers.seconds, spare=4),
    Column("longest", "longest_seconds", numbers.seconds, spare=3),
    Column("MB/s", "mb_per_s", numbers.rate, spare=1),
)


def key_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """Columns of a breakdown whose table has these."""
    keys = (KEY_COLUMNS[name] for name in names if name in KEY_COLUMNS)
    return (*(replace(key, is_key=True) for key in keys), *MEASURES)


def _bins(bins: list[list[int | None]]) -> str:
    """Bins of sizes by how many fall in them, the fullest first: `1 KiB-4 KiB 97 %`."""
    total = sum(count or 0 for _, _, count in bins)
    fullest = sorted(bins, key=lambda each: -(each[2] or 0))[:3]
    return ", ".join(
        f"{_bin(low, below)} {numbers.percent((n or 0) / total)}" for low, below, n in fullest
    )


def _bin(low: int | None, below: int | None) -> str:
    if below == 1:
        return "0 B"
    return f"{numbers.size(low)}-{numbers.size(below)}" if below else f"{numbers.size(low)} or more"


def _common(common: list[list[int]]) -> str:
    """`4 KiB (96), 17 B (at most 3)`."""
    return ", ".join(
        f"{numbers.size(size)} ({'at most ' if bound else ''}{calls:,})"
        for size, calls, bound in common[:3]
    )


SIZES = (
    Column("layer", "layer", text, right=False, is_key=True),
    Column("operation", "operation", text, right=False, is_key=True),
    Column("accesses", "accesses", numbers.count),
    Column("sizes", "bins", _bins, right=False),
    Column("most often", "common", _common, right=False),
)
PATTERNS = (
    Column("layer", "layer", text, right=False),
    Column("reads", "reads", numbers.count),
    Column("writes", "writes", numbers.count),
    Column("sequential", "sequential", numbers.percent),
    Column("consecutive", "consecutive", numbers.percent, spare=4),
    Column("strided", "strided", numbers.percent, spare=1),
    Column("unaligned", "unaligned_file", numbers.percent),
    Column("switches", "switches", numbers.count, spare=3),
    Column("most often", "common_size", numbers.size, spare=5),
    Column("file", "path", text, right=False, is_path=True),
)
SHAPES = (
    Column("layer", "layer", text, right=False, spare=4),
    Column("function", "op", text, right=False, is_key=True),
    Column("accesses", "accesses", numbers.count),
    Column("strided", "strided", numbers.percent, spare=3),
    Column("stride", "stride", numbers.size),
    Column("extent", "extent", numbers.size),
    Column("datatype", "datatype", text, right=False),
    Column("of", "datatype_bytes", numbers.size, spare=1),
    Column("its extent", "datatype_extent", numbers.size, spare=1),
    Column("holes in memory", "holes_memory", numbers.percent),
    Column("in file", "holes_file", numbers.percent),
    Column("file", "path", text, right=False, is_path=True),
)
SHARED = (
    Column("layer", "layer", text, right=False),
    Column("processes", "processes", numbers.count, spare=2),
    Column("read", "bytes_read", numbers.size, spare=3),
    Column("written", "bytes_written", numbers.size, spare=3),
    Column("least", "least_bytes", numbers.size, spare=1),
    Column("most", "most_bytes", numbers.size, spare=1),
    Column("deviation", "deviation_bytes", numbers.size),
    Column("fastest", "least_seconds", numbers.seconds, spare=1),
    Column("rank", "fastest", numbers.count, spare=4),
    Column("slowest", "most_seconds", numbers.seconds),
    Column("rank", "slowest", numbers.count, spare=4),
    Column("deviation", "deviation_seconds", numbers.seconds),
    Column("MB/s", "mb_per_s", numbers.rate),
    Column("file", "path", text, right=False, is_path=True),
)
FILE_COUNTS = (
    Column("files", "use", text, right=False),
    Column("number", "files", numbers.count),
    Column("by one process", "by_one", numbers.count),
    Column("shared", "shared", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("most of one", "most_bytes", numbers.size),
)
SAMPLES = (
    Column("node", "host", text, right=False),
    Column("of", "of", text, right=False),
    Column("what", "what", text, right=False),
    Column("device", "device", text, right=False),
    Column("mean", "mean", numbers.sampled, also=("unit", "is_level")),
    Column("most", "most", numbers.sampled, also=("unit", "is_level")),
)


KERNEL = (
    Column("function", "op", text, right=False, is_key=True),
    Column("layer", "layer", text, right=False, spare=5),
    Column("data", "origin", text, right=False, is_key=True),
    Column("calls", "calls", numbers.count),
    Column("bytes", "bytes", numbers.size),
    Column("time", "seconds", numbers.seconds),
    Column("not cached", "missed", numbers.size, spare=1),
    Column("read ahead", "ahead", numbers.size, spare=4),
    Column("requests", "requests", numbers.count, spare=3),
    Column("device", "device_seconds", numbers.seconds),
    Column("queued", "queued_seconds", numbers.seconds, spare=2),
    Column("paused", "paused_seconds", numbers.seconds),
    Column("journal", "journal_seconds", numbers.seconds),
)


def _of_whom(page: Page) -> list[str]:
    """Of tables by file: whose calls are in them."""
    ranks = part.of_files(page.source)
    return (
        [f"  of {ranks[0]} only: those of {ranks[1]} were counted without files"] if ranks else []
    )


def _use_words(page: Page) -> list[str]:
    return _sharing_words(page) + [
        _osts_line(row) for row in page.rows("mounts") if row["osts"] is not None
    ]


def _osts_line(row: dict[str, Any]) -> str:
    least, most = row["least_osts"], row["most_osts"]
    each = numbers.count(most) if least == most else f"{least:,} to {most:,}"
    where = f" of {printable(row['mount'])}" if row["mount"] else ""
    return f"  on {numbers.things(row['osts'], 'OST')}{where}, {each} for a file"


def _sharing_words(page: Page) -> list[str]:
    if all(row["shared"] is not None for row in page.rows("file_counts")):
        return []
    return [
        *_of_whom(page),
        "  not all ranks were recorded alike: which files they share is not known",
    ]


def _ranks_title(page: Page) -> str:
    units = "Ranks" if page.runs["ranks"] else "Processes"
    return f"{units} (least / median / most of own calls; bytes asked: whoever moved them)"


def _spread_line(row: dict[str, Any]) -> str:
    write = {"calls": numbers.count, "seconds": numbers.seconds}
    quantity = row["quantity"]
    least, median, most = (
        write.get(quantity, numbers.size)(row[key]) for key in ("least", "median", "most")
    )
    who = (
        f"process {row['slowest_process']}" if row["slowest"] is None else f"rank {row['slowest']}"
    )
    names = {"seconds": "time in I/O", "bytes": "bytes asked", "memory": "most memory"}
    name = names.get(quantity, quantity)
    return f"  {name:12} {least} / {median} / {most}, most: {who}"


def _spread(page: Page) -> list[str]:
    return [*(_spread_line(row) for row in page.rows("spread")), *_untold(page)]


def _untold(page: Page) -> list[str]:
    """Whose calls count more than the program's own, since their files are not known."""
    ranks = part.of_files(page.source)
    return [f"  of {ranks[1]}: {part.FILES_UNTOLD}"] if ranks else []


def _missing_title(page: Page) -> str:
    return "Missing" if coverage_footer.missing(page) else "Missing: nothing"


def _ranks_of(ranks: list[int] | None) -> str:
    return ranklist.compress(ranks or ())


UNFINISHED = (
    Column("rank", "ranks", _ranks_of, is_key=True),
    Column("process", "pids", _ranks_of, spare=2),
    Column("function", "op", text, right=False, is_key=True),
    Column("layer", "layer", text, right=False, spare=1),
    Column("since", "since_seconds", numbers.seconds),
    Column("for", "seconds", numbers.seconds),
    Column("calls", "calls", numbers.count, spare=3),
    Column("line", "source_line", text, right=False, is_path=True),
    Column("file", "path", text, right=False, is_path=True),
)
MAPPED = (
    Column("mapped", "mapped", numbers.size),
    Column("used", "used", numbers.size),
    Column("maps", "maps", numbers.count, spare=2),
    Column("processes", "processes", numbers.count, spare=1),
    Column("file", "path", text, right=False, is_path=True),
)
CRITICAL = (
    Column("phase", "phase", numbers.count, is_key=True),
    Column("start", "start_seconds", numbers.seconds),
    Column("lasts", "seconds", numbers.seconds),
    Column("rank", "rank", numbers.count, is_key=True),
    Column("process", "pid", str, spare=2),
    Column("host", "host", text, right=False, spare=3),
    Column("server", "server", text, right=False),
    Column("calls", "calls", numbers.count),
    Column("its I/O", "io_seconds", numbers.seconds),
    Column("share", "share", numbers.percent),
    Column("why", "why", text, right=False, spare=1),
)
CRITICAL_PATH = (
    Column("phase", "phase", numbers.count, is_key=True),
    Column("rank", "rank", numbers.count, is_key=True),
    Column("path", "steps", text, right=False, is_key=True),
    Column("layer", "layer", text, right=False, spare=1),
    Column("calls", "calls", numbers.count),
    Column("bytes", "bytes", numbers.size, spare=2),
    Column("time", "seconds", numbers.seconds),
    Column("of the phase", "share", numbers.percent),
)
PARTS = (
    Part(
        "layers", summary.layers, "Layers (times summed over processes; share and MB/s by the clock)",
        "layer", LAYERS, whole=True,
    ),
    Part(
        "unfinished", summary.unfinished, "Open when their process ended (for: the longest)", "unfinished", UNFINISHED,
    ),
    Part("functions", summary.functions, "Functions", "function", FUNCTIONS, needs="layers"),
    Part("tree", tree.rows, by="tree", columns=tree.COLUMNS, alone=True),
    Part("frames", tree.frames, by="frames", columns=tree.COLUMNS, alone=True),
    Part("percentiles", summary.percentiles, by="percentile", columns=PERCENTILES, alone=True),
    Part("spread", summary.spread, _ranks_title, words=_spread, needs="layers", whole=True),
    Part("ranks", summary.ranks, by="rank", columns=RANKS, words=_untold),
    Part("files", summary.files, "Files", "file", FILES, _of_whom),
    Part(
        "file_counts", accesses.file_counts, "Use of files", "use", FILE_COUNTS, _use_words, whole=True
    ),
    Part("mounts", summary.mounts, by="mount", columns=MOUNTS),
    Part("hints", summary.hints, by="hint", columns=HINTS, alone=True),
    Part("patterns", accesses.patterns, "Access patterns (shares of the accesses)", "pattern", PATTERNS, _of_whom),
    Part("shapes", accesses.shapes, by="shape", columns=SHAPES, words=_of_whom, alone=True),
    Part("shared", accesses.shared, by="shared", columns=SHARED, words=_of_whom, alone=True),
    Part("sizes", accesses.sizes, "Sizes of reads and writes", "sizes", SIZES, whole=True),
    Part(
        "origins", accesses.origins,
        "Reads and writes of POSIX and C streams, < the call that made them (in caller: all of its time)",
        "origin", ORIGINS,
    ),
    Part("servers", summary.servers, by="server", columns=SERVERS),
    Part("critical", critical.phases, "Critical, phase by phase", "critical", CRITICAL),
    Part("critical_path", critical.path, "Critical I/O path", "critical-path", CRITICAL_PATH),
    Part(
        "kernel", summary.kernel, "The kernel: where the data of calls were (device: its time of theirs; queued: sum)",
        "kernel", KERNEL,
    ),
    Part("variables", summary.variables, "Variables", "variable", VARIABLES),
    Part("memory", summary.memory, "Raw data and metadata of HDF5, on POSIX", "memory", MEMORY),
    Part(
        "exchange", collectives.exchange,
        "Collective MPI-IO: of its time, the library's own communication (exchange) and POSIX",
        "exchange", shape.EXCHANGE, shape.unknown_exchange,
    ),
    Part(
        "collective_functions", collectives.functions,
        "Collective reads and writes (times summed over ranks; waiting: for the last rank)",
        "collective-function", shape.FUNCTIONS, shape.about_functions,
    ),
    Part("collective_operations", collectives.operations, by="collective", columns=shape.OPERATIONS, alone=True),
    Part("aggregators", collectives.aggregators, by="aggregator", columns=shape.AGGREGATORS, alone=True),
    Part(
        "sieving", collectives.sieving,
        "MPI-IO and the system calls inside it (extra: data sieving, read-modify-write)",
        "sieving", shape.SIEVING, _of_whom,
    ),
    Part("sieved_calls", collectives.sieved_calls, by="sieved-call", columns=shape.SIEVED_CALLS, alone=True),
    Part(
        "communication", summary.communication,
        "MPI communication of the program (time: all ranks; least, most: of a rank)",
        "communication", COMMUNICATION,
    ),
    Part("mapped", summary.mapped, "Mapped files (used: by page faults, which are no calls)", "mapped", MAPPED),
    Part(
        "loaders", summary.loaders, "Workers, and who takes what they read (shares of the time that each lasted)",
        "loader", loaders.COLUMNS, loaders.words,
    ),
    Part(
        "checkpoints", summary.checkpoints, "State saved again and again (files, bytes: each time)", "checkpoint",
        CHECKPOINTS,
    ),
    Part("waits", summary.waits, "Threads and locks (summed over threads; no I/O)", "wait", WAITS),
    Part(
        "regions", summary.regions,
        "Regions (summed over processes; I/O in them, but in no region inside)", "region", REGIONS,
    ),
    Part("samples", summary.samples, "System (counters per second)", "sample", SAMPLES),
    Part("tuned", summary.tuned, tuned.title, "setting", tuned.TUNED, tuned.words, needs="", whole=True),
    Part("collectives", collectives.joined, "Collectives", words=shape.joined, whole=True),
    Part("tracing", summary.tracing, "Coverage", words=coverage_footer.coverage, needs="", whole=True),
    Part("missing", summary.missing, _missing_title, words=coverage_footer.missing, needs="", whole=True),
)  # fmt: skip
BY = {part.by: part for part in PARTS if part.by}
NAMES = (*BY, *(name for name in KEYS if name not in BY))


def check_keys(names: Sequence[str]) -> None:
    """Errors: `UsageError` of keys that are none, or do not go together."""
    wrong = [name for name in names if name not in NAMES]
    if wrong or not names:
        raise UsageError(
            unknown("no table", "".join(wrong[:1]), NAMES, "fathom help show lists them")
        )
    alone = [name for name in names if name not in KEYS]
    if len(names) > 1 and alone:
        raise UsageError(f"'{alone[0]}' is a table of its own; together go {', '.join(KEYS)}")
    if len(set(names)) < len(names):
        raise UsageError(f"'{','.join(names)}' names a key twice")


def words_by(page: Page, keys: Sequence[str]) -> Sequence[str]:
    """What is said below such a table."""
    words = BY[keys[0]].words if len(keys) == 1 and keys[0] in BY else None
    return words(page) if words else ()


def rows_by(source: Source, keys: Sequence[str]) -> tuple[tuple[Column, ...], pa.Table]:
    """A table of the page by its name, or calls by keys that go together; how its columns are shown, and its rows."""
    check_keys(keys)
    if len(keys) == 1 and keys[0] in BY:
        part = BY[keys[0]]
        return part.columns, part.analyse(source)
    rows = breakdown(source, keys)
    return key_columns(rows.column_names), rows
