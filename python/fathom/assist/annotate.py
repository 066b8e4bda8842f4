"""Source files of a program with what its I/O took line by line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fathom.analysis import Source
from fathom.analysis.findings import Finding
from fathom.analysis.own import SECOND, lines
from fathom.analysis.sentence import sentence
from fathom.assist.sarif import Result, Rule
from fathom.errors import RunError, UsageError, printable, unknown
from fathom.pages import findings
from fathom.run import sources
from fathom.text import numbers
from fathom.text.tables import columns, wrapped

PLACE = re.compile(r"(.+):(\d+)(?: .*)?")
#: Lines shown above and below one that is noted.
AROUND = 2
#: Of the time of all: files with less, that no finding names, are shown when they are named.
LEAST_SHARE = 0.01
MARGIN, MARK = f"{'time':>8}  {'bytes':>9}  {'calls':>7}", "     ^  "


@dataclass
class Noted:
    """What the I/O calls of one line took, summed over processes, and the findings that name it."""

    seconds: float = 0.0
    bytes: int = 0
    calls: int = 0
    findings: list[Finding] = field(default_factory=list)


Files = Mapping[str, Mapping[int, Noted]]


def noted(source: Source, conclusions: Sequence[Finding]) -> Files:
    """Source file to line to what is known of it, the file with the most time first. Of calls recorded in full."""
    files: dict[str, dict[int, Noted]] = defaultdict(lambda: defaultdict(Noted))
    for row in lines(source).to_pylist():
        # Of the program's own helper, where it was called.
        place = row["caller_source"] or row["source"], row["caller_line"] or row["line"]
        if all(place):
            one = files[place[0]][place[1]]
            one.seconds += row["time"] / SECOND
            one.bytes += int(row["bytes"])
            one.calls += int(row["calls"])
    for finding in conclusions:
        for words in finding.lines:
            if place_ := PLACE.fullmatch(words):
                files[place_[1]][int(place_[2])].findings.append(finding)
    return {name: dict(sorted(files[name].items())) for name in _by_time(files)}


def _by_time(files: Files) -> list[str]:
    return sorted(files, key=lambda name: -_seconds(files[name]))


def _seconds(of: Mapping[int, Noted]) -> float:
    return sum(one.seconds for one in of.values())


def chosen(files: Files, name: str | None) -> Files:
    """Those that matter, or those whose path ends like `name`. Errors: RunError, UsageError."""
    if not files:
        raise RunError(
            "of no call the source line is known: record at level call, and build with -g"
        )
    if name is None:
        least = LEAST_SHARE * sum(map(_seconds, files.values()))
        return {
            path: of
            for path, of in files.items()
            if _seconds(of) >= least or any(one.findings for one in of.values())
        }
    like = {path: of for path, of in files.items() if path == name or path.endswith(f"/{name}")}
    if not like:
        names = [path.rpartition("/")[2] for path in files]
        raise UsageError(unknown("annotate: no I/O in a file", name, names))
    return like


def page(path: str, of: Mapping[int, Noted], whole: bool) -> Iterator[str]:
    """A file as text: what is noted, then the line of the source as it is now."""
    text = sources.read(Path(path)) or []
    yield f"{printable(path)}{'' if text else ' (not here, or not to be read)'}"
    yield f"{MARGIN}  line"
    before = 0
    for number in _shown(of, len(text), whole):
        if before and number > before + 1:
            yield f"{'':{len(MARGIN)}}     …"
        before = number
        one = of.get(number)
        words = printable(text[number - 1].expandtabs(4)) if number <= len(text) else ""
        yield f"{_margin(one)}  {number:4}  {words}".rstrip()
        for finding in one.findings if one else ():
            for words in wrapped(says(finding), max(20, columns() - len(MARGIN) - len(MARK))):
                yield f"{'':{len(MARGIN)}}{MARK}{words}"


def _shown(of: Mapping[int, Noted], length: int, whole: bool) -> list[int]:
    if whole and length:
        return sorted({*range(1, length + 1), *of})
    around = {line + step for line in of for step in range(-AROUND, AROUND + 1)}
    return sorted({*of, *(line for line in around if 0 < line <= length)})


def _margin(one: Noted | None) -> str:
    if one is None or not one.calls:
        return " " * len(MARGIN)
    return f"{numbers.seconds(one.seconds):>8}  {numbers.size(one.bytes):>9}  {one.calls:>7,}"


def says(finding: Finding) -> str:
    """What mending wins, and what to do."""
    fix = sentence(finding.rule.fix, finding.values)
    return printable(f"{findings.lost(finding)}: {finding.rule.title}. Do: {fix}")


def results(files: Files) -> list[Result]:
    """For SARIF: each finding at its lines as a warning, each line's I/O as a note."""
    return [
        one
        for path, of in files.items()
        for line, note in of.items()
        for one in _results(path, line, note)
    ]


def _results(path: str, line: int, note: Noted) -> Iterator[Result]:
    for one in note.findings:
        rule = Rule(one.rule.name, one.rule.title, f"docs/findings.md#{one.rule.name}")
        words = sentence(one.rule.says, one.values)
        yield Result(rule, f"{says(one)}. {words}", path, line, "warning")
    if note.calls:
        rule = Rule(
            "io-line", "I/O calls of a line, summed over processes", "docs/commands/annotate.md"
        )
        calls = numbers.things(note.calls, "call")
        words = (
            f"{numbers.seconds(note.seconds)} in {calls} of I/O, {numbers.size(note.bytes)} moved"
        )
        yield Result(rule, words, path, line, "note")
