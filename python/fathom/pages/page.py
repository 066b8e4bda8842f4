"""The whole page, `fathom show --all`: all that is known of a run."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis import findings as conclusions
from fathom.analysis.causes import Bar
from fathom.analysis.findings import Findings
from fathom.analysis.part import HEAT_OF_ALL, in_part, is_all_own
from fathom.analysis.when import Line
from fathom.analysis.when import lines as heat_lines
from fathom.cache import conclusions as cached
from fathom.cache.statements import CachedStatements, SharedRows
from fathom.pages import account, answers, facts, findings, heat
from fathom.pages.part import Page, Part
from fathom.pages.sections import PARTS
from fathom.run import cost
from fathom.run.store import Run
from fathom.text.tables import columns, emphasised, heading, note, printable, show

#: Events up to which the page has the account and the worst findings, which are kept: beyond, they take a minute.
FINDINGS_ON_PAGE = 20_000_000


def of_run(run: Run) -> Page:
    """The page of an opened run, whose slow statements are kept beside its tables."""
    source = run if run.with_runtime else CachedStatements(SharedRows(run), run.path)

    def find() -> Findings:
        return cached.find(run, conclusions.rules())

    return compute(run.name, run.manifest, source, cost.per_call, lambda: worst(run, find))


def worst(source: Source, find: Callable[[], Findings]) -> Findings | None:
    """What the page says of what loses time; none where looking would take longer than the page."""
    if source.sql("select events from runs")["events"][0].as_py() > FINDINGS_ON_PAGE:
        return None
    ranked = find()
    findings.complain(ranked)
    return ranked


def compute(
    name: str,
    manifest: dict[str, Any],
    source: Source,
    per_call: Callable[[], float | None],
    find: Callable[[], Findings | None],
) -> Page:
    """The page of one run; what it says is asked when it is printed."""
    return Page(name, manifest, source, PARTS, per_call, find)


def _print_facts(title: str, line: str, libraries: str, lesser: Sequence[str]) -> None:
    heading(title)
    note(line)
    if libraries:
        note(f"libraries: {libraries}")
    for less in lesser:
        note(f"recorded in part: {printable(less)}")


def _print_nothing(title: str, why: str) -> None:
    heading(f"\n{title}")
    if why:
        note(f"  {why}")


def _print_answers(by_question: Sequence[tuple[str, Sequence[str]]]) -> None:
    wide = max(len(question) for question, _ in by_question) + 2
    print()
    for question, lines in by_question:
        for number, line in enumerate(lines):
            emphasised(question.ljust(wide) if number == 0 else " " * wide, line)


def _print_account(bar: Bar) -> None:
    lines = account.paint(bar, columns() - 1)
    if lines:
        heading(f"\n{account.title(bar)}")
    for line in lines:
        print(line)


def _print_heat(page: Page, lines: Sequence[Line], of_all: bool) -> None:
    facts = page.answers
    unit = facts.ranks.unit
    what = "reads and writes" if facts.when.source == "heat" else "I/O"
    heading(f"\nWhen, by {unit} ({what}, of each {unit}'s time)")
    for line in heat.paint(lines, unit, facts.time.run_seconds, columns() - 1):
        note(line)
    if of_all:
        note(f"  {HEAT_OF_ALL}")


def _print_part(part: Part, title: str, rows: pa.Table, words: Sequence[str], top: int) -> None:
    cut = not part.whole and rows.num_rows > top
    heading(f"\n{title}" + (f", {top} of {rows.num_rows:,}" if cut else ""))
    if part.columns:
        show(part.columns, rows.slice(0, top) if cut else rows)
    for line in words:
        note(line)


def _blocks(page: Page, top: int) -> Iterator[Callable[[], None]]:
    """From top to bottom: what a block says is asked when its turn comes, and printed by calling it."""
    lesser = in_part(page.source, page.manifest)
    yield partial(_print_facts, *facts.of(page), facts.libraries(page), lesser)
    if page.is_empty:
        yield partial(_print_nothing, *facts.nothing(page))
    else:
        if page.findings:
            yield partial(_print_account, page.findings.bar)
        yield partial(findings.print_worst, page.findings, page.name)
        yield partial(_print_answers, answers.sentences(page.answers, page.name, page.manifest))
        if page.answers.when.source != "span":
            of_all = page.answers.when.source == "heat" and not is_all_own(page.source)
            yield partial(_print_heat, page, heat_lines(page.source), of_all)
    for part in PARTS:
        if part.shown(page):
            words = part.words(page) if part.words else ()
            title, rows = part.heading(page), page.table(part.name)
            yield partial(_print_part, part, title, rows, words, top)


def print_page(page: Page, top: int) -> None:
    """The whole page, to stdout."""
    for say in _blocks(page, top):
        say()


def ask(page: Page) -> None:
    """Asks all that the page says and prints nothing: a source that keeps answers has them then."""
    for _ in _blocks(page, 0):
        pass
