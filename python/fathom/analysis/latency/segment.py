"""Which part of a run a query is about: lines, a region, a time, a layer, a function, files, the sets of the query."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fathom.analysis import Source
from fathom.analysis.latency.language import Query
from fathom.analysis.latency.numbers import Numbering
from fathom.analysis.own import own, own_values
from fathom.errors import NotRecorded, UsageError, unknown
from fathom.run.database import of_path

MOST = 12  # choices that a message names


@dataclass(frozen=True)
class Segment:
    """What the own I/O calls must be like; null: anything."""

    lines: tuple[str, int | None, int | None] | None = None  # file, first, last
    region: str | None = None
    time: tuple[float, float] | None = None  # seconds; calls that began in it, the end excluded
    layer: str | None = None
    function: str | None = None
    file: str | None = None  # a glob over paths; of a name alone in any directory

    def conditions(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Option, its condition on a row `o` of own calls, the values in it."""
        if self.lines is not None:
            name, first, last = self.lines
            yield (
                "--lines",
                "o.site in (select site from sites"
                " where (source = $source_file or ends_with(source, '/' || $source_file))"
                " and ($line_from is null or line >= $line_from) and ($line_to is null or line <= $line_to))",
                {"source_file": name, "line_from": first, "line_to": last},
            )
        if self.region is not None:
            yield "--region", "list_contains(o.regions, $region)", {"region": self.region}
        if self.time is not None:
            first_ns, last_ns = (int(min(second, 9e9) * 1e9) for second in self.time)
            yield (
                "--time",
                "o.start >= $began and o.start < $ended",
                {"began": first_ns, "ended": last_ns},
            )
        if self.layer is not None:
            yield "--layer", "o.layer = $layer", {"layer": self.layer}
        if self.function is not None:
            yield "--function", "o.op = $function", {"function": self.function}
        if self.file is not None:
            yield (
                "--files",
                f"o.file in (select file from files where {of_path(self.file)})",
                {},
            )


def lines(word: str) -> tuple[str, int | None, int | None]:
    """`write.c:10-20`, `write.c:10`, `write.c`."""
    match = re.fullmatch(r"(.+?)(?::(\d{1,9})(?:-(\d{1,9}))?)?", word, re.ASCII)
    if match is None or ":" in match[1] or (match[3] and int(match[3]) < int(match[2])):
        raise UsageError(f"query: --lines {word}: it is FILE:FIRST-LAST, as write.c:10-20")
    first = int(match[2]) if match[2] else None
    return match[1], first, int(match[3]) if match[3] else first


def time(word: str, command: str = "query") -> tuple[float, float]:
    """`1.5-2`, in seconds from the run's start, given to this command."""
    number = r"(\d{1,9}(?:\.\d{1,9})?)"
    match = re.fullmatch(rf"{number}-{number}", word, re.ASCII)
    if match is None or float(match[2]) <= float(match[1]):
        raise UsageError(
            f"{command}: --time {word}: it is FROM-TO in seconds of the run, as 1.5-2.25"
        )
    return float(match[1]), float(match[2])


#: Options of a query as they are typed: what each sets, and how its value is read.
OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--lines": ("lines", lines),
    "--region": ("region", str),
    "--time": ("time", time),
    "--layer": ("layer", str),
    "--function": ("function", str),
    "--files": ("file", str),
}


def of(given: Mapping[str, str]) -> Segment:
    """Of options and their values as they are typed. Errors: UsageError."""
    parts = {OPTIONS[option]: value for option, value in given.items()}
    return Segment(**{name: reads(value) for (name, reads), value in parts.items()})


def read(text: str) -> tuple[str, Segment]:
    """`throughput 0-3 --layer mpiio`: the query, and of which calls it is. Errors: UsageError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"query: {error}") from error
    at = next((n for n, word in enumerate(words) if word.startswith("--")), len(words))
    given: dict[str, str] = {}
    for option, value in zip(words[at::2], [*words[at + 1 :: 2], None], strict=False):
        if option not in OPTIONS:
            raise UsageError(unknown("query: no option", option, OPTIONS))
        if value is None:
            raise UsageError(f"query: {option} needs a value behind it")
        given[option] = value
    return " ".join(words[:at]), of(given)


@dataclass(frozen=True)
class Part:
    """A part of a run as SQL: conditions on own calls `o` and on calls `c` inside them, the values in these; `who` is
    `rank` or `process`; the numbers of its calls."""

    who: str
    which: str
    around: str
    values: dict[str, Any]
    numbering: Numbering | None = None


#: Of calls inside own calls, those inside these.
INSIDE = "c.own in (select id from {base})"
#: The same of whole processes and outermost calls, which a call inside tells itself: nothing needs to be looked up.
WITHIN = "c.{who} is not null and (not $talk or c.own not in (select id from calls where file in (from talk)))"


#: Of own calls: any.
WHOLE = "true"


def whole(who: str) -> Part:
    """All own calls."""
    return Part(who, WHOLE, WITHIN.format(who=who), {})


def _units(who: str, which: str) -> str:
    return f"latency_units({who}, {which}, $regions, $talk)"


def _any(source: Source, who: str, which: str, values: dict[str, Any]) -> bool:
    text = f"select count(*) > 0 as any_left from (select 1 from {_units(who, which)} limit 1)"
    return bool(source.sql(text, **values, **own_values(source))["any_left"][0].as_py())


def _choices(source: Source, who: str, what: str) -> str:
    """What an option could name in this run."""
    rows = source.sql(
        f"select name from (select {what} as name from {_units(who, WHOLE)} as o) where name is not null"
        " group by name order by count(*) desc, name",
        **own_values(source),
    )
    names = [str(name) for name in rows["name"].to_pylist()]
    more = f", and {len(names) - MOST:,} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more if names else "none in this run"


WHAT = {
    "--lines": "(select coalesce(source || ':' || line, module) from sites as s where s.site = o.site)",
    "--region": "unnest(o.regions)",
    "--time": "round(o.start / 1e9, 3)",
    "--layer": "o.layer",
    "--function": "o.op",
    "--files": "(select path from files as f where f.file = o.file)",
}


def _span(source: Source, part: Part, column: str) -> str:
    of = _units(part.who, part.which)
    text = f"select min({column}) as least, max({column}) as most from {of} as o"
    (row,) = source.sql(text, **part.values, **own_values(source)).to_pylist()
    return f"{row['least']}-{row['most']}"


def who_of(source: Source) -> str:
    """By what processes are numbered: `rank` where there is MPI."""
    ranks = source.sql("select count(rank) as n from processes")["n"][0].as_py()
    return "rank" if ranks else "process"


def select(source: Source, query: Query, segment: Segment) -> Part:
    """The own calls of a query.

    Errors: `UsageError` where none is left, with the word that left none and what there is; `NotRecorded` where no
    call was recorded in full.
    """
    who = who_of(source)
    part = whole(who)
    if not _any(source, who, "true", {}):
        if not own(source).num_rows:
            raise UsageError("query: this run made no I/O call")
        raise NotRecorded("query: no I/O call of this run was recorded in full")
    for option, condition, values in segment.conditions():
        if not _any(source, who, condition, values):
            choices = (
                f"{_span(source, part, 'round(o.start / 1e9, 6)')} s"
                if option == "--time"
                else _choices(source, who, WHAT[option])
            )
            raise UsageError(f"query: no call fits {option}; there are {choices}")
        which = f"{part.which} and {condition}"
        part = Part(who, which, INSIDE.format(base="unit"), part.values | values)
        if not _any(source, who, part.which, part.values):
            raise UsageError(f"query: no call fits {option} and what is asked besides")
    part = replace(part, numbering=Numbering(source, who, part.which, part.values))
    return _numbered(source, query, _of_procs(source, query, part))


def _narrower(part: Part, condition: str, values: dict[str, Any]) -> Part:
    """A condition on own calls `o` holds of calls inside them, too."""
    inside = re.sub(r"\bo\.", "c.", condition)
    return replace(
        part,
        which=f"{part.which} and {condition}",
        around=f"{part.around} and {inside}",
        values=part.values | values,
    )


def _of_procs(source: Source, query: Query, part: Part) -> Part:
    if query.procs.ranges is None:
        return part
    column = f"o.{part.who}"
    narrower = _narrower(part, query.procs.condition(column), {})
    if not _any(source, part.who, narrower.which, narrower.values):
        span = _span(source, part, column)
        says = f"no {part.who} {query.procs} in this part of the run; there are {span}"
        raise query.wrong("procs", says)
    return narrower


def _numbered(source: Source, query: Query, part: Part) -> Part:
    """Those of the calls' numbers that the query names."""
    if query.calls.ranges is None or part.numbering is None:
        return part
    narrower = _narrower(part, *part.numbering.condition(query.calls, "call"))
    if not _any(source, part.who, narrower.which, narrower.values):
        span = _numbers_there(source, part)
        raise query.wrong(
            "calls", f"no I/O call {query.calls} in this part of the run; there are {span}"
        )
    return narrower


def _numbers_there(source: Source, part: Part) -> str:
    assert part.numbering is not None
    text = f"select distinct who from {_units(part.who, part.which)}"
    rows = source.sql(text, **part.values, **own_values(source))
    return part.numbering.span(rows["who"].to_pylist())
