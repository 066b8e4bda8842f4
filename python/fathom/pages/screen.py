"""The first screen of `fathom show`: what ran, where its time went, what to change. An option says more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import PurePath

from fathom.analysis.findings import Finding
from fathom.analysis.part import in_part
from fathom.analysis.sentence import SETTING, sentence
from fathom.cache.screens import Line
from fathom.pages import account, answers, coverage_footer, facts, findings
from fathom.pages.part import Page
from fathom.run.manifest import TOOLS, command_line, imported_by
from fathom.text import numbers
from fathom.text.fit import tail
from fathom.text.quoting import shell
from fathom.text.tables import CUT, printable, wrapped

#: Of a terminal that nobody has made larger.
ROWS = 24
#: The verdict, and what else is answered where there is room; a line of the program, where one is known, always.
VERDICT, MAPPED, LINE = "I/O the problem?", "Mapped files?", "Which line?"
QUESTIONS = (
    VERDICT,
    MAPPED,
    "How much?",
    "Which operation?",
    LINE,
    "Which ranks?",
    "Which library?",
    "When?",
)
LABEL = 18  # of a question
LEAST_PATH = 20  # of a file's name
EVERYTHING = 6  # lines of what to do, and all else that a finding says
MARGIN = 11  # left of a finding's words
SMALL = 0.2  # of what the worst finding wins


def _plain(label: str, words: str, width: int, most: int | None = None) -> list[Line]:
    lines = wrapped(words, max(20, width - len(label)), most)
    return [(label if at == 0 else " " * len(label), line) for at, line in enumerate(lines)]


def _title(page: Page, width: int) -> str:
    """One line: of a long command the directories go first, then the last words."""
    title, _ = facts.of(page)
    if len(title) > width:
        title = f"{printable(page.name)}: {printable(command_line(page.manifest, short=True))}"
    if len(title) <= width:
        return title
    words = title[: width - 1].rpartition(" ")[0]
    return f"{words or title[: width - 2]} …"


def _head(page: Page, width: int) -> list[Line]:
    _, line = facts.of(page)
    lines = [(_title(page, width), ""), *_plain("", line, width)]
    for less in in_part(page.source, page.manifest):
        lines += _plain("recorded in part: ", printable(less), width)
    return lines


def _bar(page: Page, width: int) -> list[Line]:
    """The picture of the account; one word of it is explained where there is room."""
    painted = page.findings and account.paint(page.findings.bar, width - 1, legends=1)
    if not page.findings or not painted:
        return []
    title = account.title(page.findings.bar)
    explained = f"{title}; {account.explained(page.findings.bar)}"
    titles = [explained] if len(explained) <= width else wrapped(title, width)
    return [*((line, "") for line in titles), *(("", line) for line in painted)]


def _where(finding: Finding, directory: str, room: int) -> str:
    """The file, as seen from the run's directory, and the line; where neither is known, what is said of them."""
    path = finding.values.get("path")
    place = printable(PurePath(finding.lines[0]).name) if finding.lines else ""
    if not isinstance(path, str):
        return place or sentence(finding.rule.says, finding.values)
    if len(place) > room - LEAST_PATH:
        place = place.partition(" ")[0]  # without its function
    return f"{tail(printable(path.removeprefix(directory)), room - len(place) - 2)}{place and ', '}{place}"


def _finding(finding: Finding, directory: str, detail: int, width: int) -> list[Line]:
    """Title, place, and so many lines of what to do; with EVERYTHING all that was seen and each line of the program."""
    margin = " " * MARGIN
    first, *more = wrapped(finding.rule.title, width - MARGIN)
    lines = [(f"{findings.lost(finding):>{MARGIN - 2}}  {first}", "")]
    lines += [(margin + line, "") for line in more]
    if detail < EVERYTHING:
        lines += _plain(margin, _where(finding, directory, width - MARGIN), width, 1)
    else:
        lines += _plain(margin, sentence(finding.rule.says, finding.values), width)
        for place in finding.lines:
            lines += _plain(f"{'line':>{MARGIN - 2}}  ", printable(place), width)
    do = sentence(finding.rule.fix, finding.values)
    lines += _plain(f"{'do':>{MARGIN - 2}}  ", do, width, detail)
    knob = sentence(finding.rule.knob, finding.values) if detail > 1 else ""
    if SETTING.search(knob):
        lines += _plain(f"{'knob':>{MARGIN - 2}}  ", knob, width, detail - 1)
    return lines


def _is_small(finding: Finding, worst: Finding) -> bool:
    """Next to the worst one. A danger never is."""
    if finding.lost is None or worst.lost is None:
        return False
    return finding.lost < SMALL * worst.lost


def _findings(page: Page, room: int, width: int) -> list[Line]:
    """The worst, the first of them in as much detail as there is room for."""
    if page.findings is None:
        says = f"fathom show {shell([page.name])} --findings says it"
        return _plain("What loses time?  ", says, width)
    worst = page.findings.conclusions[: findings.WORST]
    if not worst:
        says = findings.unanswered(page.findings, page.name, page.manifest)
        return _plain("What loses time?  ", says, width) if says else []
    directory = page.manifest.get("directory")
    below = f"{directory}/" if directory else ""

    def laid_out(some: Sequence[Finding], details: Sequence[int]) -> list[Line]:
        pairs = zip(some, details, strict=True)
        return [line for one, detail in pairs for line in _finding(one, below, detail, width)]

    def detailed(some: Sequence[Finding]) -> list[int]:
        """How many lines of what to do each gets, the first of them first."""
        details = [1] * len(some)
        for detail in range(2, EVERYTHING + 1):
            for at in range(len(some)):
                before, details[at] = details[at], detail
                if len(laid_out(some, details)) >= room:
                    details[at] = before
        return details

    def cuts_first() -> bool:
        """What to do about the worst does not fit, and would if a small one gave up its place."""
        _, words = laid_out(worst[:1], detailed(worst)[:1])[-1]
        return words.endswith(CUT) and _is_small(worst[-1], worst[0])

    while len(worst) > 1 and (len(laid_out(worst, [1] * len(worst))) >= room or cuts_first()):
        worst.pop()
    of = len(page.findings.conclusions)
    title = f"What loses time, {len(worst)} of {of:,}" if of > len(worst) else "What loses time"
    return [(f"{title} (seconds that mending it wins)", ""), *laid_out(worst, detailed(worst))]


def _first(page: Page) -> tuple[str, ...]:
    """Questions that are answered whatever the room."""
    lines = page.answers.lines
    known = lines is not None and lines.num_rows > 0 and lines["source"][0].as_py()
    mapped = (MAPPED,) if page.answers.mapped else ()
    return (VERDICT, *mapped, *((LINE,) if known else ()))


def _answers(
    by_question: Mapping[str, Sequence[str]], first: Sequence[str], room: int, width: int
) -> list[Line]:
    """The first answers, and further ones, each whole or not at all."""

    def answer(question: str) -> list[Line]:
        label = question.ljust(LABEL)
        return [
            line
            for words in by_question.get(question, ())[:1]
            for line in _plain(label, words, width)
        ]

    lines = [line for question in first for line in answer(question)]
    for question in QUESTIONS:
        if question not in first and len(lines) + len(answer(question)) <= room:
            lines += answer(question)
    return lines


def _missing(page: Page, width: int) -> list[Line]:
    """What is not in the tables: the most frequent of it; of a log only how much, for its tool never has it."""
    missing = [line.strip() for line in coverage_footer.missing(page, usual=False)]
    if not missing:
        return []
    noted = [line for line in missing if line.startswith(tuple(TOOLS))]
    if noted == missing:
        tool = imported_by(page.manifest)
        things = numbers.things(len(missing), "thing")
        return _plain("Missing: ", f"{things} that {tool} did not record (--all)", width)
    missing = [line for line in missing if line not in noted] + noted
    more = f" (and {len(missing) - 1:,} more: --all)" if len(missing) > 1 else ""
    (line,) = wrapped(missing[0], width - len("Missing: ") - len(more), 1)
    return [("Missing: ", line + more)]


def _more(page: Page, width: int) -> list[Line]:
    """Where more is, in one line."""
    by = "--by program, --by line" if page.answers.time.busiest_program else "--by line"
    name, options = shell([page.name]), f"--all, --findings, {by}"
    whole = f"fathom show {name} {options}; fathom view {name}"
    return [("More: ", whole if len(whole) <= width - len("More: ") else options)]


def _nothing(page: Page, width: int) -> list[Line]:
    title, why = facts.nothing(page)
    return [(title, ""), *(_plain("  ", why, width) if why else [])]


def lines(page: Page, width: int) -> list[Line]:
    """The screen, at most ROWS lines but where its first facts alone are more."""
    head, end = _head(page, width), [*_missing(page, width), *_more(page, width)]
    if page.table("layers").num_rows == 0:
        return _joined([head, _nothing(page, width), end])
    bar = _bar(page, width)
    by_question = dict(answers.sentences(page.answers, page.name, page.manifest))
    first = _first(page)
    verdict = _answers(by_question, first, 0, width)
    findings_lines = _findings(page, ROWS - len(_joined([head, bar, verdict, end])) - 1, width)
    room = ROWS - len(_joined([head, bar, [], findings_lines, end])) - 1
    return _joined([head, bar, _answers(by_question, first, room, width), findings_lines, end])


def _joined(blocks: Iterable[Sequence[Line]]) -> list[Line]:
    """The blocks that say something, with an empty line between them."""
    joined: list[Line] = []
    for block in filter(None, blocks):
        joined += [("", ""), *block] if joined else block
    return joined


def text(page: Page, width: int = 80) -> str:
    """The same in one string."""
    return "\n".join((label + words).rstrip() for label, words in lines(page, width))


def html(page: Page, width: int = 80) -> str:
    """The same for a notebook."""
    texts = (f"<b>{escape(label)}</b>{escape(words)}" for label, words in lines(page, width))
    return "<pre>" + "\n".join(texts) + "</pre>"
