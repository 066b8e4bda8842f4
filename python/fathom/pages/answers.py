"""The first questions about a run, answered in a sentence each, with the figures."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from fathom.analysis import part, ranklist
from fathom.analysis.answers import (
    Answers,
    Library,
    Mapped,
    Operation,
    Ranks,
    Time,
    Volume,
    verdict_of,
)
from fathom.analysis.own import SECOND
from fathom.analysis.when import When
from fathom.catalog.languages import is_nameless
from fathom.catalog.layers import layers
from fathom.run.manifest import Manifest, imported_by
from fathom.text import numbers
from fathom.text.quoting import shell
from fathom.text.tables import printable

LAYERS = {
    layer.name: layer.title for layer in layers() if layer.kind in ("library", "system", "store")
}
KINDS = {
    "meta": "metadata",
    "dir": "directories",
    "map": "mapping",
    "post": "posting",
    "wait": "waiting",
}
VERDICTS = {"no": "hardly", "partly": "partly", "yes": "yes", "unknown": "not to be told"}
# Below this share of the time nothing is worth a word.
WORTH = 0.01
# Up to what share of the time recorded in full it is said that it is a share.
NEARLY = 0.995
MOST_LINES = 3
PROGRAMS = 3  # as many are named
# Of a log of strace without -T, and whatever else knows no durations.
UNTIMED = "no call of this run has a duration"


def layer_name(layer: str) -> str:
    """mpiio -> MPI-IO."""
    return LAYERS.get(layer, layer)


def _and(words: Sequence[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def time(of: Time, unit: str, tool: str | None = None) -> str:
    """Is I/O the problem? `tool`: whose log the run was imported from."""
    verdict = VERDICTS[of.verdict]
    if of.busiest_process is None:
        return "no: no I/O call was seen"
    if not of.most:
        return f"not to be told: {UNTIMED}"
    who = of.busiest if unit == "rank" and of.busiest is not None else of.busiest_process
    name = f" {printable(of.busiest_program)}" if of.busiest_program else ""
    busiest = f"; the busiest {unit}, {who}{name}: {numbers.percent(of.busiest_share)}"
    if of.median_share < of.busiest_share:
        busiest += f", the median one: {numbers.percent(of.median_share)}"
    run = numbers.seconds(of.run_seconds)
    share, most = numbers.percent(of.least), numbers.percent(of.most)
    if of.share is None and tool:
        # How ranks' calls lie to each other no log of sums says: the busiest stands for all.
        verdict = VERDICTS[verdict_of(of.busiest_share, of.busiest_share)]
        mean = numbers.percent(of.mean_share)
        return f"{verdict}: on average a {unit} was in I/O calls for {mean} of the run time ({run}){busiest}"
    if share != most:
        return (
            f"{verdict}: I/O ran for {share} to {most} of the run time ({run}), which only level call "
            f"tells exactly{busiest}"
        )
    return f"{verdict}: for {share} of the run time ({run}) some I/O call ran{busiest}"


def library(of: Library) -> str:
    """MPI-IO or POSIX, or which library on top?"""
    if not of.layers:
        return "none"
    (top, share), *others = of.layers
    on = "".join(f", on {layer_name(name)}" for name in of.stack[1:])
    part = f" ({numbers.percent(share)} of the I/O time)" if share else ""
    words = [f"{layer_name(top)}{part}{on}"]
    # However little time: bytes may be in it.
    direct = [
        f"{layer_name(name)} {numbers.percent(part)}" if part else layer_name(name)
        for name, part in others
    ]
    if direct:
        words.append(f"called directly besides: {_and(direct)}")
    if of.collective is not None:
        words.append(
            f"{numbers.percent(of.collective)} of MPI-IO's read and write time is collective"
        )
    elif not of.mpiio:
        words.append("no MPI-IO")
    elif of.collective_calls is not None:
        part = numbers.percent(of.collective_calls)
        words.append(f"{part} of MPI-IO's reads and writes, by number, are collective")
    elif {"read", "write"} & set(of.mpiio):
        words.append("how much of MPI-IO's reading and writing is collective is not known")
    return "; ".join(words)


def _who(kind: str, who: Sequence[int], programs: Sequence[tuple[str, int]], of: Ranks) -> str:
    """`all 4 ranks`, `one of 4 ranks, 0`; of several programs `3 of 5 processes, 2 tar and 1 gzip`."""
    units = numbers.things(of.of, of.unit, "processes" if of.unit == "process" else None)
    if of.in_run > of.of:
        units += f" recorded, of {of.in_run:,},"
    if kind == "all":
        return f"all {units}"
    many = f"{len(who):,}" if len(who) > 1 and kind == "some" else kind
    return f"{many} of {units}, {_programs(programs) or ranklist.brief(who)}"


def _programs(programs: Sequence[tuple[str, int]]) -> str:
    """Those with the most processes, by name; of a single process the name alone: a 1 would be read as its number."""
    if [count for _, count in programs] == [1]:
        return printable(programs[0][0])
    named = [f"{count:,} {printable(name)}" for name, count in programs[:PROGRAMS]]
    others = len(programs) - PROGRAMS
    return _and([*named, f"{others:,} others"] if others > 0 else named)


def ranks(of: Ranks) -> str:
    """One rank, some, or all?"""
    if not of.alike:
        return f"not to be told: {part.NOT_ALIKE}"
    if of.in_run > of.of <= 1:
        return part.of_ranks(of.of, of.in_run)
    if of.of <= 1:
        return f"there is one {of.unit} only"
    if not of.callers:
        return "none"
    who, share = _who(of.kind, of.who, of.programs, of), numbers.percent(of.share)
    if of.by == "time":
        return f"{who}: {share} of the I/O time; no bytes moved"
    moved = f"{who}: {share} of the bytes to and from files"
    if (of.kind, of.who) == (of.calling, of.calling_who):
        return f"{moved}, and the time in I/O calls"
    calling = _who(of.calling, of.calling_who, of.calling_programs, of)
    return f"{moved}; time in I/O calls: {calling}"


def operation(of: Operation) -> str:
    """Which operation takes the time?"""
    if of.op is None:
        return "none"
    parts = [
        f"{KINDS.get(kind, kind)} {numbers.percent(share)}"
        for kind, share in of.kinds
        if share >= WORTH
    ]
    if not parts:
        return f"not to be told: {UNTIMED}"
    words = [f"{parts[0]} of the I/O time" + "".join(f", {part}" for part in parts[1:])]
    words.append(
        f"most in {printable(of.op)}: {numbers.seconds(of.seconds)} in {numbers.things(of.calls, 'call')}"
    )
    if of.functions:
        counted = (f"{number:,} {printable(name)}" for name, number in of.functions)
        words[-1] += f" ({', '.join(counted)})"
    if of.exchange is not None:
        words.append(
            f"{numbers.percent(of.exchange)} of the time in collective MPI-IO, most of it in "
            f"{printable(of.collective_op)}, is exchange between ranks"
        )
    return "; ".join(words)


def volume(of: Volume, unit: str) -> str:
    """How much was read and written, and how fast?"""
    if not of.read + of.written:
        return "no bytes to or from files"
    parts = [
        f"{word} {numbers.size(size)}"
        for word, size in (("read", of.read), ("wrote", of.written))
        if size
    ]
    if of.seconds is None:
        return _and(parts)
    by = (
        "while some I/O call ran"
        if of.by == "clock"
        else f"by the time of the busiest {unit} in I/O"
    )
    return f"{_and(parts)}, {numbers.rate((of.read + of.written) / of.seconds / 1e6)} MB/s {by}"


def mapped(of: Mapped) -> str:
    """What is used through memory, in no call?"""
    others = f" and {numbers.things(of.files - 1, 'other')}" if of.files > 1 else ""
    name = f"{printable(PurePath(of.path).name)}{others}"
    if of.used is None:
        words = f"{name}: {numbers.size(of.mapped)}, read by page faults, which are no calls"
    else:
        part = f"{numbers.size(of.used)} used, of {numbers.size(of.mapped)} mapped"
        words = f"{name}: {part}, by page faults, which are no calls"
    if of.storage:
        words += f"; at most {numbers.size(of.storage)} came from storage: fathom run --kernel says in what time"
    return words


def when(of: When, run_seconds: float) -> str:
    """Start, middle, end, throughout, periodic?"""
    if of.first is None or of.last is None:
        return "never"
    span = f"from {numbers.seconds(of.first)} to {numbers.seconds(of.last)} of {numbers.seconds(run_seconds)}"
    if of.source == "span":
        return f"{span}; when within that is not known at this level"
    reads = "; reads and writes" if of.source == "heat" else ""
    busy = f"from {numbers.seconds(of.bursts[0][0])} to {numbers.seconds(of.bursts[-1][1])}"
    bursts = numbers.things(len(of.bursts), "burst")
    if of.pattern == "periodic" and of.period is not None:
        return f"periodic: {bursts}, one every {numbers.seconds(of.period)}, {busy}{reads}"
    names = {
        "start": "at the start",
        "middle": "in the middle",
        "end": "at the end",
        "start and end": "at the start and at the end",
    }
    name = names.get(of.pattern, of.pattern)
    if of.pattern == "bursts":
        return f"in {bursts}, {busy}{reads}"
    many = f" in {bursts}" if len(of.bursts) > 1 and of.pattern != "throughout" else ""
    return f"{name}{many}: {busy} of {numbers.seconds(run_seconds)}{reads}"


def place(row: dict[str, Any]) -> str:
    """`write.c:12 write_all()`, or as much of it as is known."""
    function = "" if is_nameless(row["function"]) else printable(row["function"])
    if function and not function.endswith(")"):  # a method of C++ has its arguments
        function += "()"
    if row["source"]:
        where = f"{printable(PurePath(row['source']).name)}:{row['line'] or '?'}"
        return f"{where} {function}".rstrip()
    module = printable(PurePath(row["module"]).name)
    return f"{function} in {module}".strip() if module else function or "unknown"


def _caller(row: dict[str, Any]) -> str:
    """Of a helper that many lines call, which of them."""
    if row["caller_line"] is None:
        return ""
    of_it = {name: row[f"caller_{name}"] for name in ("function", "source", "line")}
    return f", called from {place({**of_it, 'module': ''})}"


def lines(of: Answers, name: str, manifest: Manifest) -> list[str]:
    """Which source lines made the calls?"""
    tool = imported_by(manifest)
    if tool:
        return [
            f"not known: {tool} records no places in the code; record the program with fathom run"
        ]
    if of.operation.op is None:
        return ["none"]
    if of.lines is None:
        return [
            "not known at this level: no call was recorded in full;"
            f" fathom show {shell([name])} --next prepares that"
        ]
    rows = of.lines.slice(0, MOST_LINES).to_pylist()
    total = sum(of.lines["time"].to_pylist()) or 1
    sentences: list[str] = []
    for row in rows:
        share = row["time"] / total
        if sentences and share < WORTH:
            break
        region = f" in region {printable(row['region'])}" if row["region"] else ""
        sentences.append(
            f"{place(row)}{_caller(row)}{region}: {printable(row['op'])}, {numbers.percent(share)}"
        )
    recorded = total / SECOND / of.operation.all_seconds if of.operation.all_seconds else 1.0
    nameless = [
        row
        for row in rows[: len(sentences)]
        if row["module"] and not (row["source"] or row["function"])
    ]
    if nameless:
        places = _and(sorted({place(row) for row in nameless}))
        sentences.append(
            f"({places}: no line or function is known, it is stripped; fathom doctor PROGRAM says more)"
        )
    if sentences and recorded < NEARLY:
        sentences.append(
            f"(of {numbers.percent(recorded)} of the I/O time: what was recorded in full)"
        )
    return sentences or ["of no call the place in the code is known"]


def sentences(of: Answers, name: str, manifest: Manifest) -> list[tuple[str, list[str]]]:
    """Question and answer, which may be several lines."""
    problem = time(of.time, of.ranks.unit, imported_by(manifest))
    beside = "in calls " if of.mapped and of.mapped.storage else ""
    return [
        ("I/O the problem?", [beside + problem]),
        ("How much?", [volume(of.volume, of.ranks.unit)]),
        ("Which library?", [library(of.library)]),
        ("Which ranks?", [ranks(of.ranks)]),
        ("Which operation?", [operation(of.operation)]),
        *([("Mapped files?", [mapped(of.mapped)])] if of.mapped else []),
        ("When?", [when(of.when, of.time.run_seconds)]),
        ("Which line?", lines(of, name, manifest)),
    ]
