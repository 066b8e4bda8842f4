"""The first questions about a run, answered in figures: is I/O the problem, which library, which ranks, which
operation, when, which source line. From counters, so at every level, but where it says events.

`answers(source)` asks all. Shares are 0 to 1, times seconds and of the program's own calls (`fathom.analysis.own`).
The questions are those of Chang, Jin, Bauer, "Methodology and application of HPC I/O characterization with MPIProf and
IOT", 2016, III.C. Errors: `fathom.errors.RunError` of a damaged run.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.dominance import HOLD, LIKE
from fathom.analysis.own import (
    SECOND,
    has_ranks,
    is_complete,
    lines,
    own,
    run_seconds,
    shares,
    sums,
    totals,
    union_seconds,
)
from fathom.analysis.when import When, when

# A run whose I/O takes less of its time than the first has no I/O problem; more than the second: it has.
LITTLE, MUCH = 0.05, 0.2
# Mapped files are worth a word from so many bytes on, and from this share of what calls move.
MAPPED, MAPPED_SHARE = 1 << 20, 0.1


@dataclass(frozen=True)
class Time:
    """Is I/O the problem? For how much of the run time at least one of the program's own I/O calls ran, anywhere."""

    run_seconds: float
    share: float | None  # union of intervals; null unless every call was recorded in full
    least: float  # bounds on it from counters: the busiest main thread,
    most: float  # and all calls one after another
    busiest: int | None  # rank (outside MPI: null) of the process that spent most
    busiest_process: int | None
    busiest_program: str | None  # its name, where several programs ran and none has ranks
    busiest_share: float  # of the run time, in I/O; at most, where its threads did I/O too
    median_share: float  # of a rank
    mean_share: float
    verdict: str  # `no`, `partly`, `yes`; `unknown` where the bounds do not tell, or no call has a duration


@dataclass(frozen=True)
class Library:
    """Which library does the program call, and what does that stand on?"""

    layers: list[tuple[str, float]]  # the program's own calls: layer and share of their time
    stack: list[str]  # from the first of `layers` down, by time
    mpiio: list[str]  # functions of MPI-IO that were called, by time
    # Share of MPI-IO's time in reading and writing, in collective calls; null: not known.
    collective: float | None
    # The same of its reads and writes by number, of a log that has no more; null: it has not that either.
    collective_calls: float | None


@dataclass(frozen=True)
class Ranks:
    """Does one rank do the I/O, do some, or all? Ranks, or processes where there is no MPI."""

    of: int
    kind: str  # one, some, all, none: who moves the bytes (of no bytes: who takes the time)
    who: list[int]  # ranks that dominate: fathom.analysis.dominance
    share: float  # that they hold
    by: str  # `bytes` or `time`
    callers: int  # ranks that made I/O calls
    calling: str  # kind of those that take the time of the program's own calls
    calling_who: list[int]
    unit: str  # `rank` or `process`
    in_run: int  # ranks that ran, where some were not recorded; else `of`
    alike: bool  # of all of these the same is known
    # Where several programs ran and none has ranks: which of them dominate, and how many processes each; most first.
    programs: list[tuple[str, int]]
    calling_programs: list[tuple[str, int]]


@dataclass(frozen=True)
class Operation:
    """Which operation takes the time of the program's own calls?"""

    kinds: list[tuple[str, float]]  # kind and share of time: open, close, read, write, …
    op: str | None  # the function with the most time
    layer: str | None
    seconds: float
    share: float
    calls: int
    all_seconds: float  # of all own calls, summed
    # Of an op that stands for several, as in a log of Darshan: how often each was called, most first.
    functions: list[tuple[str, int]]
    exchange: float | None  # communication's share of MPI-IO's collective time; null: not known
    collective_op: str | None  # the collective function of MPI-IO with the most time


@dataclass(frozen=True)
class Volume:
    """How much was read and written, and how fast?"""

    read: int  # bytes from files: what the lowest layers moved, as in `Ranks`
    written: int
    seconds: float | None  # in I/O; null: not known
    by: str  # whose seconds: `clock`, while some I/O call ran; `busiest`, the busiest rank's


@dataclass(frozen=True)
class Mapped:
    """Which files are used through memory, in no call?"""

    files: int
    path: str  # of the file that is used most
    mapped: int  # bytes
    used: int | None  # of them, in memory when a mapping ended; null: not known
    storage: int | None  # at most so many were read from storage; null: not known


@dataclass(frozen=True)
class Answers:
    """All of them."""

    time: Time
    library: Library
    ranks: Ranks
    operation: Operation
    volume: Volume
    mapped: Mapped | None  # null: none that is worth a word
    when: When
    lines: pa.Table | None  # `lines()`; null: not one call was recorded in full


def time(source: Source) -> Time:
    """How much of the run time was I/O: by the clock, and of each process."""
    run = run_seconds(source)
    (spread,) = source.sql("from own_spread()").to_pylist()

    def part(name: str) -> float:
        return min(1.0, (spread[name] or 0) / SECOND / run) if run else 0.0

    share = None
    least, most = part("main_most"), part("together")
    if run and spread["most"] is not None and is_complete(source):
        share = least = most = union_seconds(source) / run
    return Time(
        run_seconds=run,
        share=share,
        least=least,
        most=most,
        busiest=spread["most_rank"],
        busiest_process=spread["most_process"],
        busiest_program=_programs(source).get(spread["most_process"]),
        busiest_share=part("most"),
        median_share=part("median"),
        mean_share=(spread["together"] or 0) / SECOND / run / spread["everyone"]
        if run and spread["everyone"]
        else 0.0,
        verdict=verdict_of(least, most) if most or spread["most"] is None else "unknown",
    )


def verdict_of(least: float, most: float) -> str:
    """Of a share of the run time that lies between these."""
    for word, low, high in (("no", 0.0, LITTLE), ("partly", LITTLE, MUCH), ("yes", MUCH, 2.0)):
        if least >= low and most < high:
            return word
    return "unknown"


def library(source: Source) -> Library:
    """What the program calls for its I/O, and what that calls."""
    table = own(source)
    layers = shares(sums(table, "layer", "time"))
    below: dict[str, str] = {}
    for row in source.sql("from layer_stack()").to_pylist():
        below.setdefault(row["caller"], row["layer"])
    stack = [layers[0][0]] if layers else []
    while stack and below.get(stack[-1], stack[0]) not in stack:
        stack.append(below[stack[-1]])
    functions = source.sql(
        "select op, sum(time) as time, any_value(kind in ('read', 'write')) as data,"
        " op in (select op from ops where layer = 'mpiio' and collective) as collective"
        " from counters where layer = 'mpiio' and kind <> 'comm' group by op order by time desc, op"
    ).to_pylist()
    data = [row for row in functions if row["data"]]
    spent = sum(row["time"] for row in data)
    together = sum(row["time"] for row in data if row["collective"])
    # Sums of collective and independent calls, as a log of Darshan has them, bear no function's name.
    are_functions = all(row["op"].startswith("MPI_") for row in data)
    return Library(
        layers=layers,
        stack=stack,
        mpiio=[row["op"] for row in functions],
        collective=together / spent if spent and are_functions else None,
        collective_calls=_collective_calls(source),
    )


def _collective_calls(source: Source) -> float | None:
    """Of MPI-IO's reads and writes."""
    (row,) = source.sql("from collective_share()").to_pylist()
    return float(row["collective"] / row["calls"]) if row["calls"] else None


def ranks(source: Source) -> Ranks:
    """Who calls, and who moves the bytes."""
    mpi = has_ranks(source)
    calling, moved = (_dominance(source, amounts, mpi) for amounts in ("own_units", "moved_units"))
    by_bytes = moved["how"] != "none"
    dominant = moved if by_bytes else calling
    units = source.sql("from own_spread()")["units"][0].as_py()
    in_run = source.sql("select ranks from runs")["ranks"][0].as_py() if mpi else None
    (in_part,) = source.sql("from ranks_in_part()").to_pylist()
    program_of = _programs(source)
    return Ranks(
        of=units,
        kind=dominant["how"],
        who=dominant["units"],
        share=dominant["share"],
        by="bytes" if by_bytes else "time",
        callers=calling["callers"],
        calling=calling["how"],
        calling_who=calling["units"],
        unit="rank" if mpi else "process",
        in_run=max(units, in_run or 0),
        alike=in_part["ranks_missing"] or not in_part["files"],
        programs=_counted(program_of, dominant["units"]),
        calling_programs=_counted(program_of, calling["units"]),
    )


def _programs(source: Source) -> dict[int, str]:
    """The name of each process's program, where there are several and none has ranks."""
    if has_ranks(source):
        return {}
    rows = source.sql("select process, program_name(exe, command) as program from processes")
    program_of = dict(zip(rows["process"].to_pylist(), rows["program"].to_pylist(), strict=True))
    return program_of if len(set(program_of.values())) > 1 else {}


def _counted(program_of: dict[int, str], processes: list[int]) -> list[tuple[str, int]]:
    counts = Counter(program_of[process] for process in processes if process in program_of)
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _dominance(source: Source, amounts: str, mpi: bool) -> dict[str, Any]:
    text = (
        f"with amounts_ as (from {amounts}($ranks)), units_ as (from everyone())"
        f" from dominance('amounts_', 'units_', {HOLD}, {LIKE})"
    )
    row: dict[str, Any] = source.sql(text, ranks=mpi).to_pylist()[0]
    return row


def operation(source: Source) -> Operation:
    """What kind of call takes the time, and which function most."""
    table = own(source)
    total = sum(table["time"].to_pylist())
    times = totals(table, ["layer", "op"], "time")
    exchange, collective_op = _exchange(source)
    layer, op = max(times, key=lambda one: (times[one], one[1]), default=(None, None))
    return Operation(
        kinds=shares(sums(table, "kind", "time")),
        op=op,
        layer=layer,
        seconds=times.get((layer, op), 0) / SECOND,
        share=times.get((layer, op), 0) / total if total else 0.0,
        calls=totals(table, ["layer", "op"], "calls").get((layer, op), 0),
        all_seconds=total / SECOND,
        functions=_functions(source, layer, op),
        exchange=exchange,
        collective_op=collective_op,
    )


def _functions(source: Source, layer: str | None, op: str | None) -> list[tuple[str, int]]:
    rows = source.sql(
        "select label, sum(calls) as calls from tops"
        " where what = 'function' and layer = $layer and op = $op group by label order by calls desc, label",
        layer=layer,
        op=op,
    )
    return [(row["label"], int(row["calls"])) for row in rows.to_pylist()]


def _exchange(source: Source) -> tuple[float | None, str | None]:
    """Its share of the time in collective MPI-IO, and the function in which most of that time was."""
    rows = source.sql("from collective_exchange()").to_pylist()
    took = sum(row["time"] for row in rows)
    most = rows[0]["op"] if rows else None
    if not took or not all(row["known"] for row in rows):
        return None, most
    return float(sum(row["exchange"] for row in rows) / took), most


def volume(source: Source, spent: Time, who: Ranks) -> Volume:
    """Bytes of files, and the seconds that they took: by the clock, or else of the busiest rank, as Darshan has it.

    Processes without ranks may have run one after another: there the busiest one's seconds are not those of all bytes.
    """
    (row,) = source.sql(
        "select sum(bytes_read)::hugeint as read, sum(bytes_written)::hugeint as written from bytes_moved()"
    ).to_pylist()
    by = "busiest" if spent.share is None else "clock"
    share = spent.busiest_share if spent.share is None else spent.share
    known = by == "clock" or who.unit == "rank" or who.of == 1
    seconds = share * spent.run_seconds if known else None
    return Volume(
        read=int(row["read"] or 0), written=int(row["written"] or 0), seconds=seconds or None, by=by
    )


def mapped(source: Source) -> Mapped | None:
    """Files that are used through memory, where that is much beside what calls move."""
    if "mmap" not in own(source)["op"].to_pylist():
        return None
    (row,) = source.sql("from mapped_sum()").to_pylist()
    used = row["used"] if row["used"] is not None else row["mapped"]
    if not row["files"] or used < max(MAPPED, MAPPED_SHARE * row["moved"]):
        return None
    del row["moved"]
    return Mapped(**row)


def answers(source: Source) -> Answers:
    """All questions at once. A `fathom.analysis.Remembered` source asks what they share only once."""
    seen = any(own(source)["recorded"].to_pylist())
    spent, who = time(source), ranks(source)
    return Answers(
        time=spent,
        library=library(source),
        ranks=who,
        operation=operation(source),
        volume=volume(source, spent, who),
        mapped=mapped(source),
        when=when(source),
        lines=lines(source) if seen else None,
    )
