"""The first screen of `fathom show`, laid out: what ran, where its time went, what to change. An option says more.

Of what it says nothing depends on its width, so that is kept (`fathom.cache.screens`); here it is fitted into lines,
without what reads tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from fathom.analysis.causes import Bar, bar_of
from fathom.pages import account
from fathom.text.fit import tail
from fathom.text.quoting import shell
from fathom.text.tables import CUT, wrapped

Line = tuple[str, str]  # what stands out, and the rest
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


@dataclass(frozen=True)
class Loss:
    """A finding: its sentences with the run's figures."""

    title: str
    lost: str
    seconds: float | None  # null: a danger
    path: str | None  # of the file, as seen from the run's directory
    place: str  # the first of `lines`, the source by its name alone
    says: str
    lines: list[str]
    do: str
    knob: str  # empty: none with a value to set


@dataclass(frozen=True)
class Content:
    """What the screen of a run says."""

    name: str
    title: str
    short_title: str  # without directories
    line: str
    in_part: list[str]
    nothing: list[str]  # of a run without calls what is said of that, and why; else empty
    bar: Bar | None  # null: the findings were not asked
    answers: dict[str, str]  # by question
    first: list[str]  # questions that are answered whatever the room
    losses: list[Loss]  # the worst
    conclusions: int  # how many there are
    unanswered: str  # why there is none where one is expected
    missing: list[str]  # the most frequent first
    summed_up: str  # all that is missing, where its details say nothing
    more: str  # options that say more


def as_json(content: Content) -> dict[str, Any]:
    """To be kept."""
    return asdict(content)


def of_json(stored: dict[str, Any]) -> Content:
    """What was kept."""
    bar, losses = stored["bar"], [Loss(**one) for one in stored["losses"]]
    return Content(**stored | {"bar": bar and bar_of(bar), "losses": losses})


def _plain(label: str, words: str, width: int, most: int | None = None) -> list[Line]:
    lines = wrapped(words, max(20, width - len(label)), most)
    return [(label if at == 0 else " " * len(label), line) for at, line in enumerate(lines)]


def _title(content: Content, width: int) -> str:
    """One line: of a long command the directories go first, then the last words."""
    title = content.title if len(content.title) <= width else content.short_title
    if len(title) <= width:
        return title
    words = title[: width - 1].rpartition(" ")[0]
    return f"{words or title[: width - 2]} …"


def _head(content: Content, width: int) -> list[Line]:
    lines = [(_title(content, width), ""), *_plain("", content.line, width)]
    for less in content.in_part:
        lines += _plain("recorded in part: ", less, width)
    return lines


def _bar(bar: Bar | None, width: int) -> list[Line]:
    """The picture of the account; one word of it is explained where there is room."""
    painted = account.paint(bar, width - 1, legends=1) if bar else []
    if not bar or not painted:
        return []
    title = account.title(bar)
    explained = f"{title}; {account.explained(bar)}"
    titles = [explained] if len(explained) <= width else wrapped(title, width)
    return [*((line, "") for line in titles), *(("", line) for line in painted)]


def _where(loss: Loss, room: int) -> str:
    """The file and the line; where neither is known, what is said of them."""
    if loss.path is None:
        return loss.place or loss.says
    place = loss.place
    if len(place) > room - LEAST_PATH:
        place = place.partition(" ")[0]  # without its function
    return f"{tail(loss.path, room - len(place) - 2)}{place and ', '}{place}"


def _finding(loss: Loss, detail: int, width: int) -> list[Line]:
    """Title, place, and so many lines of what to do; with EVERYTHING all that was seen and each line of the program."""
    margin = " " * MARGIN
    first, *more = wrapped(loss.title, width - MARGIN)
    lines = [(f"{loss.lost:>{MARGIN - 2}}  {first}", "")]
    lines += [(margin + line, "") for line in more]
    if detail < EVERYTHING:
        lines += _plain(margin, _where(loss, width - MARGIN), width, 1)
    else:
        lines += _plain(margin, loss.says, width)
        for place in loss.lines:
            lines += _plain(f"{'line':>{MARGIN - 2}}  ", place, width)
    lines += _plain(f"{'do':>{MARGIN - 2}}  ", loss.do, width, detail)
    if detail > 1 and loss.knob:
        lines += _plain(f"{'knob':>{MARGIN - 2}}  ", loss.knob, width, detail - 1)
    return lines


def _is_small(loss: Loss, worst: Loss) -> bool:
    """Next to the worst one. A danger never is."""
    if loss.seconds is None or worst.seconds is None:
        return False
    return loss.seconds < SMALL * worst.seconds


def _findings(content: Content, room: int, width: int) -> list[Line]:
    """The worst, the first of them in as much detail as there is room for."""
    if content.bar is None:
        says = f"fathom show {shell([content.name])} --findings says it"
        return _plain("What loses time?  ", says, width)
    worst = list(content.losses)
    if not worst:
        says = content.unanswered
        return _plain("What loses time?  ", says, width) if says else []

    def laid_out(some: Sequence[Loss], details: Sequence[int]) -> list[Line]:
        pairs = zip(some, details, strict=True)
        return [line for one, detail in pairs for line in _finding(one, detail, width)]

    def detailed(some: Sequence[Loss]) -> list[int]:
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
    of = content.conclusions
    title = f"What loses time, {len(worst)} of {of:,}" if of > len(worst) else "What loses time"
    return [(f"{title} (seconds that mending it wins)", ""), *laid_out(worst, detailed(worst))]


def _answers(content: Content, room: int, width: int) -> list[Line]:
    """The first answers, and further ones, each whole or not at all."""

    def answer(question: str) -> list[Line]:
        words = content.answers.get(question)
        return _plain(question.ljust(LABEL), words, width) if words is not None else []

    lines = [line for question in content.first for line in answer(question)]
    for question in QUESTIONS:
        if question not in content.first and len(lines) + len(answer(question)) <= room:
            lines += answer(question)
    return lines


def _missing(content: Content, width: int) -> list[Line]:
    """What is not in the tables: the most frequent of it; of a log only how much, for its tool never has it."""
    missing = content.missing
    if content.summed_up:
        return _plain("Missing: ", content.summed_up, width)
    if not missing:
        return []
    more = f" (and {len(missing) - 1:,} more: --all)" if len(missing) > 1 else ""
    (line,) = wrapped(missing[0], width - len("Missing: ") - len(more), 1)
    return [("Missing: ", line + more)]


def _more(content: Content, width: int) -> list[Line]:
    """Where more is, in one line."""
    name = shell([content.name])
    whole = f"fathom show {name} {content.more}; fathom view {name}"
    return [("More: ", whole if len(whole) <= width - len("More: ") else content.more)]


def _nothing(nothing: Sequence[str], width: int) -> list[Line]:
    title, why = nothing
    return [(title, ""), *(_plain("  ", why, width) if why else [])]


def lines(content: Content, width: int) -> list[Line]:
    """The screen, at most ROWS lines but where its first facts alone are more."""
    head, end = _head(content, width), [*_missing(content, width), *_more(content, width)]
    if content.nothing:
        return _joined([head, _nothing(content.nothing, width), end])
    bar, verdict = _bar(content.bar, width), _answers(content, 0, width)
    findings_lines = _findings(content, ROWS - len(_joined([head, bar, verdict, end])) - 1, width)
    room = ROWS - len(_joined([head, bar, [], findings_lines, end])) - 1
    return _joined([head, bar, _answers(content, room, width), findings_lines, end])


def _joined(blocks: Iterable[Sequence[Line]]) -> list[Line]:
    """The blocks that say something, with an empty line between them."""
    joined: list[Line] = []
    for block in filter(None, blocks):
        joined += [("", ""), *block] if joined else block
    return joined


def text(content: Content, width: int = 80) -> str:
    """The same in one string."""
    return "\n".join((label + words).rstrip() for label, words in lines(content, width))


def html(content: Content, width: int = 80) -> str:
    """The same for a notebook."""
    texts = (f"<b>{escape(label)}</b>{escape(words)}" for label, words in lines(content, width))
    return "<pre>" + "\n".join(texts) + "</pre>"
