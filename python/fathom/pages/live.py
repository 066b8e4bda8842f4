"""A run that runs, as text: one frame per look, for a terminal or a pipe."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from fathom.analysis.live import BY, Busy, Course
from fathom.text import numbers
from fathom.text.tables import printable

BARS = "▁▂▃▄▅▆▇█"
#: Letters that show a view; the tab key shows the next.
KEYS = {"l": "layer", "o": "function", "f": "file", "r": "rank", "s": "line"}
LONG = 0.1  # seconds after which a call in flight is worth a line
WIDE = 100  # columns of a terminal that has room for all
NUMBERS = (
    ("calls/s", 7, False),
    ("MB/s", 7, False),
    ("threads", 7, False),
    ("calls", 11, True),
    ("bytes", 8, False),
    ("time", 8, False),
    ("errors", 7, True),
)


def sparkline(rates: Sequence[float], width: int) -> str:
    """The last `width` rates as bars of one letter, the highest as high as can be."""
    shown = list(rates)[-width:]
    highest = max(shown, default=0.0)
    if highest <= 0:
        return BARS[0] * len(shown)
    top = len(BARS) - 1
    return "".join(BARS[math.ceil(rate / highest * top)] for rate in shown)


def shortened(name: str, width: int) -> str:
    """What a path ends with tells more than what it begins with."""
    name = printable(name)
    return name if len(name) <= width else "…" + name[len(name) - width + 1 :]


def _per_second(value: float) -> str:
    return numbers.count(round(value)) if value >= 1 or value == 0 else "<1"


def _values(row: Busy, interval: float) -> list[str]:
    return [
        _per_second(row.now.calls / interval),
        numbers.rate(row.now.bytes / interval / 1e6),
        numbers.rate(row.threads),
        numbers.count(row.total.calls),
        numbers.size(row.total.bytes),
        numbers.seconds(row.total.seconds),
        numbers.count(row.total.errors),
    ]


def long_calls(course: Course) -> list[Mapping[str, Any]]:
    """Calls in flight for some time, the longest first."""
    calls = [call for call in course.look.get("in_flight", []) if (call["seconds"] or 0) >= LONG]
    return sorted(calls, key=lambda call: -call["seconds"])


def _who(call: Mapping[str, Any]) -> str:
    thread = f" thread {call['thread']}" if call["thread"] != call["pid"] else ""
    rank = f"pid {call['pid']}" if call["rank"] is None else f"rank {call['rank']}"
    return rank + thread


def _where(call: Mapping[str, Any]) -> str:
    source = (call["source"] or "").rpartition("/")[2]
    place = f"{source}:{call['line']}" if source and call["line"] else source
    words = " ".join(word for word in (call["function"], place) if word)
    around = " > ".join(enclosing["op"] or "?" for enclosing in call["inside"])
    inside = f"in {around}" if around else ""
    return ", ".join(word for word in (words, inside) if word)


def _in_flight(course: Course, width: int, most: int) -> Iterator[Text]:
    calls = long_calls(course)
    every = len(course.look.get("in_flight", []))
    what = f"In flight: {numbers.things(every, 'call')}"
    if calls:
        what += f", {len(calls)} for {numbers.seconds(LONG)} or longer"
    yield Text(what, style="bold")
    for call in calls[:most]:
        sized = call["kind"] in ("read", "write") and call["size"] >= 0
        size = f" of {numbers.size(call['size'])}" if sized else ""
        left = f"  {numbers.seconds(call['seconds']):>8}  {call['op']}{size}  {_who(call)}  "
        where = f"  {_where(call)}" if _where(call) else ""
        room = max(12, width - len(left) - len(where))
        file = shortened(call["file"] or "(no file)", room)
        yield Text(left + file + printable(where), style="yellow", overflow="fold")
    if len(calls) > most:
        yield Text(f"  and {len(calls) - most} more")


def _heading(name: str, course: Course, width: int) -> Iterator[Text]:
    look = course.look
    counts = look["processes"]
    ran = "" if look["run_seconds"] is None else f", {look['run_seconds']:.0f} s"
    states = [f"{counts['running']} running"] + [
        f"{counts[state]} {state}" for state in ("ended", "killed") if counts[state]
    ]
    ended = ", over" if look["last"] and not counts["running"] else ""
    yield Text(f"{printable(name)}{ran}: processes {', '.join(states)}{ended}", style="bold")
    interval = max(look["interval_seconds"], 1e-9)
    line = (
        f"{numbers.rate(course.bytes_now() / interval / 1e6)} MB/s, "
        f"{_per_second(course.calls_now() / interval)} calls/s; since the start "
        f"{numbers.size(course.bytes_total())}, {numbers.count(course.calls_total())} calls"
    )
    room = width - len(line) - 2
    yield Text(f"{line}  {sparkline(course.rates, room)}" if room >= 8 else line)


def _footing(course: Course, keys: bool) -> Iterator[Text]:
    look = course.look
    missed = look["missed"]
    if missed["chunks"] or missed["bytes"]:
        chunks = numbers.things(missed["chunks"], "chunk")
        yield Text(f"Missed: {chunks}, {numbers.size(missed['bytes'])} that cannot be read", "red")
    if look["nodes_not_seen"]:
        yield Text(f"Not seen from here: {', '.join(look['nodes_not_seen'])}", "red")
    cost = f"tracing itself {numbers.seconds(course.tracing_seconds)}"
    if look["cpu_seconds"] is not None:
        cost += f"; looking {numbers.seconds(look['cpu_seconds'])} of CPU"
    yield Text(f"Cost: {cost}", style="dim")
    if keys:
        letters = "  ".join(f"{key} {by}" for key, by in KEYS.items())
        yield Text(f"{letters}  TAB next  q quit", style="dim")


def _table(course: Course, by: str, width: int, most: int) -> Table:
    interval = max(course.look["interval_seconds"], 1e-9)
    shown = [i for i, (_, _, wide) in enumerate(NUMBERS) if not wide or width >= WIDE]
    room = width - sum(NUMBERS[i][1] + 2 for i in shown)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    table.add_column(by, width=room, no_wrap=True)
    for i in shown:
        heading, size, _ = NUMBERS[i]
        table.add_column(heading, justify="right", min_width=size, no_wrap=True)
    for row in course.busiest(by)[:most]:
        values = _values(row, interval)
        table.add_row(Text(shortened(row.name, room)), *(Text(values[i]) for i in shown))
    return table


class Frame:
    """What is on the screen now. `rows`: most of the table; None: as many as there is room for."""

    def __init__(self, name: str, by: str, rows: int | None = None, keys: bool = False) -> None:
        """`keys`: say which there are."""
        self.course = Course()
        self.name, self.by, self.rows, self.keys = name, by, rows, keys

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines for this console's width and height."""
        if not self.course.look:
            yield Text(f"{self.name}: reading what was recorded so far")
            return
        width = options.max_width
        height = options.height or (console.height if self.keys else None)
        head = list(_heading(self.name, self.course, width))
        foot = list(_footing(self.course, self.keys))
        flight = list(_in_flight(self.course, width, 5))
        lines = [math.ceil(max(1, len(text)) / width) for text in (*head, *flight, *foot)]
        used = sum(lines) + 3  # two empty ones, and the table's heading
        room = 1_000_000 if height is None else max(1, height - used)
        yield from head
        yield Text()
        yield _table(self.course, self.by, width, min(room, self.rows or room))
        yield Text()
        yield from flight
        yield from foot

    def press(self, key: str) -> bool:
        """A key was pressed; False: the one that ends."""
        views = list(BY)
        if key == "\t":
            self.by = views[(views.index(self.by) + 1) % len(views)]
        self.by = KEYS.get(key, self.by)
        return key != "q"
