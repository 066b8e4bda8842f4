"""IOPro's queries: `latency breakdown inclusive [0-1] [1-10]`. From words to a `Query`, or an error with its place.

After Kim, S. J.: table 2.2 of the thesis. Ours beside it: `latency collective`.
"""

import math
import re
from dataclasses import dataclass
from typing import NoReturn

from fathom.errors import UsageError, unknown

WORD = re.compile(r"\[[^\[\]]*\]?|[^\s\[]+")
MOST_DIGITS = 15
#: Other ways to write a word.
ALSO = {"thru": "throughput", "thru.": "throughput", "calls": "call", "average": "avg"}


@dataclass(frozen=True)
class Numbers:
    """A set of whole numbers; `ranges` None: all."""

    ranges: tuple[tuple[int, int], ...] | None = None

    def __str__(self) -> str:
        if self.ranges is None:
            return "all"
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self.ranges)

    def __contains__(self, number: int) -> bool:
        return self.ranges is None or any(a <= number <= b for a, b in self.ranges)

    def condition(self, column: str) -> str:
        """As SQL."""
        if self.ranges is None:
            return "true"
        return f"({' or '.join(f'{column} between {a} and {b}' for a, b in self.ranges)})"


ALL = Numbers()


@dataclass(frozen=True)
class Form:
    """A kind of query: its name, its powers in watts, its sets."""

    name: str
    sets: tuple[str, ...] = ("procs", "calls", "subcalls", "servers")
    watts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.name, *self.watts, *(f"[{name}]" for name in self.sets)])


_TWO = ("procs", "calls")
Words = dict[str, "Words | Form"]
GRAMMAR: Words = {
    "latency": {
        "breakdown": {
            "inclusive": Form("latency breakdown inclusive", _TWO),
            "exclusive": Form("latency breakdown exclusive", _TWO),
        },
        "operation": {
            name: Form(f"latency operation {name}") for name in ("list", "max", "min", "avg")
        },
        "collective": Form("latency collective", _TWO),
    },
    "throughput": Form("throughput"),
    "energy": Form("energy", watts=("ACTIVE", "INACTIVE")),
    "call": Form("call"),
}


@dataclass(frozen=True)
class Query:
    """What is asked: the form's name, the sets, watts of a disk at work and at rest; places of sets in `text`."""

    name: str
    procs: Numbers = ALL
    calls: Numbers = ALL
    subcalls: Numbers = ALL
    servers: Numbers = ALL
    active: float = 0.0
    inactive: float = 0.0
    text: str = ""
    places: tuple[tuple[str, int, int], ...] = ()

    def __str__(self) -> str:
        form = forms()[self.name]
        watts = [f"{getattr(self, name.lower()):g}" for name in form.watts]
        return " ".join([form.name, *watts, *(str(getattr(self, name)) for name in form.sets)])

    def wrong(self, part: str, says: str) -> UsageError:
        """The error that points at a part of the query: `procs`, `calls`, `subcalls`, `servers`."""
        for name, start, stop in self.places:
            if name == part:
                return at(self.text, start, stop, says)
        return at(self.text, 0, len(self.text), says)


def at(text: str, start: int, stop: int, says: str) -> UsageError:
    """An error with the query below it and a mark under the words that it is about."""
    shown, message = ("".join(c if c.isprintable() else "?" for c in each) for each in (text, says))
    return UsageError(f"query: {message}\n  {shown}\n  {' ' * start}{'^' * max(1, stop - start)}")


def forms() -> dict[str, Form]:
    """All kinds of queries, by name."""

    def each(words: "Words | Form") -> list[Form]:
        if isinstance(words, Form):
            return [words]
        return [form for inner in words.values() for form in each(inner)]

    return {form.name: form for form in each(GRAMMAR)}


class _Reader:
    """Takes one word after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = [(m[0], m.start(), m.end()) for m in WORD.finditer(text)]
        self.next = 0

    def wrong(self, says: str) -> NoReturn:
        """Points at the word that was taken last, or behind the last where one is missing."""
        if self.next > len(self.words):
            end = len(self.text.rstrip())
            start = end + 1 if end else 0
            raise at(self.text.rstrip(), start, start + 1, says)
        _, start, stop = self.words[self.next - 1]
        raise at(self.text, start, stop, says)

    def take(self) -> str | None:
        self.next += 1
        return self.words[self.next - 1][0] if self.next <= len(self.words) else None

    def more(self) -> bool:
        return self.next < len(self.words)

    def place(self, name: str) -> tuple[str, int, int]:
        _, start, stop = self.words[self.next - 1]
        return name, start, stop


def _form(reader: _Reader) -> Form:
    node: Words | Form = GRAMMAR
    while not isinstance(node, Form):
        word = reader.take()
        choices = ", ".join(node)
        if word is None:
            reader.wrong(f"what comes next? There are {choices}")
        lower = word.lower()
        choice = node.get(ALSO.get(lower, lower))
        if choice is None:
            reader.wrong(unknown("here is no", word, node))
        node = choice
    return node


def _watts(reader: _Reader, form: Form, name: str) -> float:
    word = reader.take()
    if word is None:
        reader.wrong(f"{name} is missing, in watts: {form}")
    # float() takes more than a number: nan, 1_0, digits of all scripts.
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", word, re.ASCII) or not math.isfinite(float(word)):
        reader.wrong(f"{name} is a number of watts, as 9.5: {form}")
    return float(word)


def _range(reader: _Reader, item: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", item, re.ASCII)
    if match is None:
        reader.wrong(f"'{item.strip()}' is no number or range; sets are as 0-3,7 or 5, or all")
    first, last = match[1], match[2] or match[1]
    if max(len(first), len(last)) > MOST_DIGITS:
        reader.wrong(f"a number has at most {MOST_DIGITS} digits")
    if int(last) < int(first):
        reader.wrong(f"{first}-{last} ends before it begins")
    return int(first), int(last)


def _set(reader: _Reader, word: str) -> Numbers:
    if word.startswith("[") != word.endswith("]"):
        reader.wrong("a bracket is missing")
    inner = word[1:-1] if word.startswith("[") else word
    if inner.strip() in ("-", "all"):
        return ALL
    return Numbers(tuple(_range(reader, item) for item in inner.split(",")))


def parse(text: str) -> Query:
    """The query; errors: `UsageError` that says the place and what could stand there."""
    reader = _Reader(text)
    form = _form(reader)
    watts = {name.lower(): _watts(reader, form, name) for name in form.watts}
    sets: dict[str, Numbers] = {}
    places: list[tuple[str, int, int]] = []
    for name in form.sets:
        word = reader.take() if reader.more() else None
        if word is not None:
            sets[name] = _set(reader, word)
            places.append(reader.place(name))
    if reader.more():
        reader.take()
        reader.wrong(f"too many words; it is {form}")
    return Query(form.name, text=text, places=tuple(places), **sets, **watts)  # type: ignore[arg-type]
