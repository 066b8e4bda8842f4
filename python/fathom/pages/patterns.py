"""Access patterns as text: HPF directives under each group of files, and as values for other programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fathom.analysis import ranklist
from fathom.analysis.distribution import hpf, steps
from fathom.analysis.distribution.access import Access, Pieces
from fathom.analysis.distribution.patterns import Pattern, Patterns
from fathom.analysis.distribution.uses import Use
from fathom.text import numbers
from fathom.text.tables import emphasised, heading, note, printable

NAMED = 8  # arrays of a group that are named
BELOW_HDF5 = "offsets of an HDF5 file: which datasets and chunks they are is not known"
FORWARD = 2 / 3  # accesses of which fewer go forward are in random order: by lot it is half of them
STEPS = 300  # letters of the order of calls
UNITS = {"rank": "ranks", "process": "processes"}
AGAIN = 1.5  # times that each byte moved, from which on it is said
Alike = list[Pattern]


def _ranks(ranks: Sequence[int], unit: str) -> str:
    return f"{unit if len(ranks) == 1 else UNITS[unit]} {ranklist.brief(ranks)}"


def _alike(patterns: Iterable[Pattern]) -> list[Alike]:
    """Arrays of one pattern, the most bytes first."""
    groups: dict[object, Alike] = {}
    for pattern in patterns:
        lines = tuple(hpf.directives("A", pattern.distribution))
        groups.setdefault((pattern.key, lines, pattern.why, pattern.chunk is None), []).append(
            pattern
        )
    return sorted(groups.values(), key=lambda group: -sum(pattern.bytes for pattern in group))


def _name(pattern: Pattern) -> str:
    if pattern.name is not None:
        return pattern.name.lstrip("/") or pattern.name
    return "bytes" if not pattern.origin else f"bytes from {pattern.origin:,}"


def _names(group: Alike) -> str:
    """In the order in which they were first touched."""
    ordered = sorted(group, key=lambda pattern: (pattern.first_start, pattern.origin or 0))
    names = list(dict.fromkeys(printable(_name(pattern)) for pattern in ordered))
    more = f", … ({len(names):,} names)" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _extents(group: Alike) -> str:
    shapes = list(
        dict.fromkeys(" x ".join(f"{extent:,}" for extent in pattern.extents) for pattern in group)
    )
    pattern = group[0]
    unit = (
        f" of {pattern.element_bytes} B"
        if pattern.name is not None and pattern.element_bytes
        else " B"
    )
    return shapes[0] + unit + (f" and {len(shapes) - 1} other extents" if len(shapes) > 1 else "")


def _runs(way: Access) -> str:
    if way.run is None:
        return way.kind
    if not way.levels:
        return f"{way.kind}, {numbers.size(way.run)}"
    times = " x ".join(f"{count:,}" for count, _ in reversed(way.levels))
    steps_ = ", ".join(numbers.size(step) for _, step in reversed(way.levels))
    return f"{way.kind}: {times} runs of {numbers.size(way.run)}, {steps_} apart"


def _ways(pattern: Pattern, unit: str) -> str:
    """How each rank's part lies in the array."""
    if not pattern.access:
        return ""
    kinds = {way.kind for way, _ in pattern.access}
    if len(pattern.access) == 1:
        who = (
            f"each {unit}"
            if len(pattern.access[0][1]) > 1 or pattern.distribution.is_of_one_rank
            else _ranks(pattern.access[0][1], unit)
        )
        return f"{who}: {_runs(pattern.access[0][0])}"
    runs = [way.run for way, _ in pattern.access if way.run is not None]
    if len(kinds) == 1 and len(runs) == len(pattern.access):
        least, most = numbers.size(min(runs)), numbers.size(max(runs))
        return f"each {unit}: {kinds.pop()}, runs of {least if least == most else f'{least} to {most}'}"
    counts = {
        kind: sum(len(ranks) for way, ranks in pattern.access if way.kind == kind)
        for kind in sorted(kinds)
    }
    return ", ".join(
        f"{numbers.things(count, unit, UNITS[unit])}: {kind}" for kind, count in counts.items()
    )


def _remarks(pattern: Pattern) -> list[str]:
    order = hpf.rank_order(pattern.distribution)
    return [
        *([f"ranks: {order}"] if order else []),
        *([_pieces(pattern.pieces)] if pattern.pieces else []),
        *([_random(pattern.forward or 0)] if _is_random(pattern) else []),
        *([f"not all is known: {pattern.why}"] if pattern.why else []),
        *([f"stored in chunks of {pattern.chunk}: where they lie in the file is not known"] if pattern.chunk else []),
        *([BELOW_HDF5] if pattern.below_hdf5 else []),
    ]  # fmt: skip


def _pieces(of: Pieces) -> str:
    least, most = numbers.size(of.least), numbers.size(of.most)
    sizes = least if least == most else f"{least} to {most}"
    turns = ", the ranks in turn" if of.in_turn else ""
    return f"{numbers.things(of.count, 'piece')} of {sizes}{turns}"


def _is_random(pattern: Pattern) -> bool:
    """What moves again and again goes back, too."""
    return pattern.forward is not None and pattern.forward < FORWARD and not _again(pattern)


def _random(forward: float) -> str:
    return f"in random order: {numbers.percent(forward)} of the accesses go forward"


def _again(pattern: Pattern) -> str:
    """How often each byte moved."""
    if not pattern.touched_bytes or pattern.bytes < AGAIN * pattern.touched_bytes:
        return ""
    return f"each byte {numbers.count(round(pattern.bytes / pattern.touched_bytes, 1))} times"


def _print_group(group: Alike, unit: str) -> None:
    first = group[0]
    verb = {"read": "read", "write": "written"}[first.direction]
    total = sum(pattern.bytes for pattern in group)
    calls = sum(pattern.calls for pattern in group)
    arrays = f"{len(group):,} arrays, " if len(group) > 1 else ""
    emphasised(
        "  ",
        f"{_names(group)}: {_extents(group)}, {verb} by {first.layer}, {first.mode}; "
        f"{arrays}{numbers.size(total)} in {numbers.things(calls, 'call')}",
    )
    for line in hpf.directives(first.name or first.path, first.distribution):
        note(f"    {line}")
    ranks = sorted({rank for pattern in group for rank in pattern.distribution.ranks})
    if first.distribution.is_of_one_rank:
        note(f"    ! {'one each of ' if len(ranks) > 1 else ''}{_ranks(ranks, unit)}")
    for line in (*_remarks(first), _again(first), _ways(first, unit)):
        if line:
            emphasised("    ", line)
    print(f"    key: {first.key}")


def _use(use: Use, unit: str) -> str:
    who = _ranks(use.ranks, unit)
    files = numbers.things(len(use.paths), "file")
    sharing = {
        "shared": f"shared by {who}",
        "per process": f"one {unit} each: {who}",
        "per group": f"a group each: {who}",
        "one rank": f"{who} alone",
        "mixed": f"some shared, some not: {who}",
    }[use.use]
    return f"{printable(use.files)}: {files}, {sharing}"


def _steps(use: Use) -> str:
    text = steps.text(use.steps)
    if len(text) > STEPS:
        return f"{text[:STEPS].rpartition(', ')[0]}, …"
    return text if use.steps_are_all else f"{text}, …"


def _print_use(use: Use, patterns: Sequence[Pattern], unit: str) -> None:
    heading(f"\n{_use(use, unit)}")
    if use.steps:
        emphasised(f"  {unit} {use.steps_rank}: ", _steps(use))
    for group in _alike(patterns):
        _print_group(group, unit)


def show_patterns(of_run: Patterns, name: str, top: int) -> None:
    """The page, to stdout."""
    share, unit = numbers.percent(of_run.explained), "rank" if of_run.mpi else "process"
    arrays = numbers.things(len(of_run.patterns), "array")
    heading(
        f"{printable(name)}: {numbers.things(of_run.ranks, unit, UNITS[unit])}, {arrays}; "
        f"the distribution is known of {share} of {numbers.size(of_run.bytes)}"
    )
    if of_run.when.source != "span" and of_run.when.pattern != "none":
        note(f"I/O occurs: {_when(of_run)}")
    by_group: dict[str, list[Pattern]] = {}
    for pattern in of_run.patterns:
        by_group.setdefault(of_run.files.get(pattern.file, pattern.path), []).append(pattern)
    uses = {use.files: use for use in of_run.uses}
    ordered = sorted(by_group.items(), key=lambda item: -sum(pattern.bytes for pattern in item[1]))
    for files, patterns in ordered[:top]:
        _print_use(uses[files], patterns, unit)
    notes = _notes(of_run)
    if len(ordered) > top:
        notes.append(f"{len(ordered) - top:,} groups of files of fewer bytes: --top shows them")
    if notes:
        heading("\nNot in the above")
    for line in notes:
        note(f"  {line}")


def _when(of_run: Patterns) -> str:
    when = of_run.when
    bursts = numbers.things(len(when.bursts), "burst")
    if when.period is not None:
        return f"{when.pattern}, {bursts}, every {numbers.seconds(when.period)}"
    return f"{when.pattern}, {bursts}"


def _notes(of_run: Patterns) -> list[str]:
    """What was not looked at, or says nothing of where."""
    notes = []
    if of_run.recorded < of_run.data_calls:
        notes.append(
            f"{of_run.data_calls - of_run.recorded:,} of {of_run.data_calls:,} reads and writes, counted only"
        )
    if of_run.part < 1:
        notes.append(f"all but the first {numbers.percent(of_run.part)} of each thread's calls")
    if of_run.arrays_left:
        notes.append(f"{of_run.arrays_left:,} arrays of fewer bytes")
    sums: dict[tuple[str, str], list[int]] = {}
    for unplaced in of_run.unplaced:
        sum_ = sums.setdefault((unplaced.layer, unplaced.what), [0, 0])
        sum_[0] += unplaced.calls
        sum_[1] += unplaced.bytes
    notes += [
        f"{layer}: {numbers.things(calls, 'call')}, {numbers.size(size)}: {what}"
        for (layer, what), (calls, size) in sums.items()
    ]
    return notes


# ---- for other programs


def as_json(of_run: Patterns, name: str, top: int | None) -> dict[str, Any]:
    """All of it; the arrays of most bytes first."""
    when = of_run.when
    return {
        "format": 1,
        "name": name,
        "ranks": of_run.ranks,
        "mpi": of_run.mpi,
        "bytes": of_run.bytes,
        "explained": of_run.explained,
        "calls": of_run.data_calls,
        "calls_recorded": of_run.recorded,
        "looked_at": of_run.part,
        "when": {
            "pattern": when.pattern,
            "bursts_seconds": [list(one) for one in when.bursts],
            "period_seconds": when.period,
        },
        "files": [_use_json(use) for use in of_run.uses[:top]],
        "patterns": [_pattern_json(one, of_run.files) for one in of_run.patterns],
        "arrays_left": of_run.arrays_left,
        "not_placed": [vars(one) for one in of_run.unplaced],
    }


def _use_json(use: Use) -> dict[str, Any]:
    return {
        "files": use.files,
        "paths": list(use.paths),
        "use": use.use,
        "ranks": ranklist.compress(use.ranks),
        "steps": steps.text(use.steps),
        "steps_of_rank": use.steps_rank,
        "steps_are_all": use.steps_are_all,
    }


def _pattern_json(pattern: Pattern, files: Mapping[int, str]) -> dict[str, Any]:
    ranks = len(pattern.distribution.ranks)
    return {
        "files": files.get(pattern.file, pattern.path),
        "path": pattern.path,
        "array": pattern.name,
        "key": pattern.key,
        "hpf": hpf.directives(pattern.name or pattern.path, pattern.distribution),
        "layer": pattern.layer,
        "direction": pattern.direction,
        "mode": pattern.mode,
        "extents": list(pattern.extents),
        "element_bytes": pattern.element_bytes,
        "first_byte": pattern.origin,
        "share": pattern.distribution.share,
        "distribution": hpf.as_values(pattern.distribution),
        "access": [
            {
                "kind": way.kind,
                "run_bytes": way.run,
                "levels": [{"count": count, "step_bytes": step} for count, step in way.levels],
                "ranks": ranklist.compress(ranks),
            }
            for way, ranks in pattern.access
        ],
        "features": {
            "ranks": ranks,
            "calls": pattern.calls,
            "bytes": pattern.bytes,
            "touched_bytes": pattern.touched_bytes,
            "bytes_per_rank": pattern.bytes / ranks if ranks else None,
            "run_bytes": pattern.access[0][0].run if pattern.access else None,
        },
        "forward": pattern.forward,
        "pieces": vars(pattern.pieces) if pattern.pieces else None,
        "not_known": pattern.why,
        "chunk": pattern.chunk,
    }
