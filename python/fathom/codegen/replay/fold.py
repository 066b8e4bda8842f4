"""A sequence of statements as loops: what repeats with numbers that grow by the same amounts is written once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

LONGEST = 48  # statements of a loop's body that are looked for
REPEATS = 3  # a loop begins when a body was seen so often
LONG = 4  # … twice is enough for a body of so many statements that are not all the same
STEADY = 4  # … and no more than one in so many of its numbers differs
LITERAL = 160  # statements that are written out
ROWS = 24  # … of a longer text those that follow no rule, so many in a row, become rows of a table
SMALL = 96  # statements that a loop among such rows may stand for


@dataclass(frozen=True)
class Line:
    """One statement of C. `$0`, `$1`, … in it stand for the numbers; `gap`: nanoseconds before it."""

    text: str
    numbers: tuple[int, ...] = ()
    gap: float = 0.0


@dataclass
class Node:
    """A statement, or a loop over `body` (count > 1), or rows of a table.

    `numbers` are those of all statements in it at the first iteration, `step` how they grow from one to the next.
    `gaps` are summed over the `times` it was met.
    """

    shape: int
    numbers: tuple[int, ...]
    gaps: tuple[float, ...]
    times: int = 1
    text: str = ""
    count: int = 1
    step: tuple[int, ...] = ()
    body: tuple["Node", ...] = ()
    rows: list[Line] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Statements that it stands for."""
        return self.count * sum(node.length for node in self.body) if self.body else 1

    @property
    def lines(self) -> int:
        """Statements of its text."""
        return sum(node.lines for node in self.body) if self.body else 1

    @property
    def structure(self) -> object:
        """What two ranks must have alike to be one text."""
        if self.rows:
            return "rows"
        return tuple(node.structure for node in self.body) if self.body else self.text


def fold(lines: Iterable[Line]) -> list[Node]:
    """The lines as loops and statements, in order."""
    folder = _Folder()
    for line in lines:
        folder.push(line)
    return tabled(folder.out)


class _Folder:
    def __init__(self) -> None:
        self.out: list[Node] = []
        self._shapes: dict[object, int] = {}

    def _shape(self, of: object) -> int:
        return self._shapes.setdefault(of, len(self._shapes))

    def push(self, line: Line) -> None:
        """One statement more; then loops grow, or begin, as long as they can."""
        shape = self._shape(line.text)
        self.out.append(Node(shape, line.numbers, (line.gap,), text=line.text))
        while self._grow() or self._begin():
            pass

    def _grow(self) -> bool:
        out = self.out
        last = out[-1].shape
        for width in range(1, min(LONGEST, len(out) - 1) + 1):
            loop = out[-width - 1]
            if len(loop.body) != width or loop.body[-1].shape != last:
                continue
            window = out[-width:]
            if not _alike(loop.body, window):
                continue
            expected = (n + loop.count * s for n, s in zip(loop.numbers, loop.step, strict=True))
            if _numbers(window) == tuple(expected):
                self._replace(width + 1, loop, window)
                return True
        return False

    def _replace(self, width: int, loop: Node, window: Sequence[Node]) -> None:
        del self.out[-width:]
        for node, other in zip(loop.body, window, strict=True):
            _add(node, other)
        loop.count += 1
        self.out.append(self._loop(loop.body, loop.count, loop.numbers, loop.step))

    def _begin(self) -> bool:
        out = self.out
        last = out[-1].shape
        for width in range(1, min(LONGEST, len(out) // 2) + 1):
            if out[-1 - width].shape == last and (
                self._repeats(width, REPEATS) or (width >= LONG and self._repeats(width, 2))
            ):
                return True
        return False

    def _repeats(self, width: int, repeats: int) -> bool:
        """Makes the last statements a loop, if they are a body so often."""
        out = self.out
        if len(out) < repeats * width:
            return False
        ends = [len(out) - at * width for at in range(repeats, -1, -1)]
        windows = [out[a:z] for a, z in pairwise(ends)]
        if not all(_alike(windows[0], other) for other in windows[1:]):
            return False
        if repeats < REPEATS and len({node.shape for node in windows[0]}) == 1:
            return False
        numbers = [_numbers(window) for window in windows]
        step = _step(numbers)
        if step is None or (repeats < REPEATS and STEADY * sum(map(bool, step)) > len(step)):
            return False
        for other in windows[1:]:
            for mine, one in zip(windows[0], other, strict=True):
                _add(mine, one)
        del out[ends[0] :]
        out.append(self._loop(tuple(windows[0]), repeats, numbers[0], step))
        return True

    def _loop(
        self, body: tuple[Node, ...], count: int, numbers: tuple[int, ...], step: tuple[int, ...]
    ) -> Node:
        shape = self._shape((count, step, tuple(node.shape for node in body)))
        return Node(shape, numbers, (), count=count, step=step, body=body)


def _alike(a: Sequence[Node], b: Sequence[Node]) -> bool:
    return all(x.shape == y.shape for x, y in zip(a, b, strict=True))


def _numbers(nodes: Sequence[Node]) -> tuple[int, ...]:
    return tuple(number for node in nodes for number in node.numbers)


def _step(numbers: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    steps = [
        tuple(b - a for a, b in zip(one, other, strict=True)) for one, other in pairwise(numbers)
    ]
    return steps[0] if all(step == steps[0] for step in steps) else None


def _add(node: Node, other: Node) -> None:
    """What was waited before each statement, added up."""
    node.times += other.times
    node.gaps = tuple(a + b for a, b in zip(node.gaps, other.gaps, strict=True))
    for one, two in zip(node.body, other.body, strict=True):
        _add(one, two)


def tabled(nodes: list[Node]) -> list[Node]:
    """Of a long text stretches of statements and small loops become rows of a table."""
    if sum(node.lines for node in nodes) <= LITERAL:
        return nodes
    folded: list[Node] = []
    stretch: list[Node] = []
    for node in [*nodes, None]:
        if node is not None and node.length <= SMALL:
            stretch.append(node)
            continue
        folded += _rows(stretch) if len(stretch) >= ROWS else stretch
        stretch = []
        if node is not None:
            folded.append(node)
    return folded


def _rows(stretch: list[Node]) -> list[Node]:
    lines = list(unrolled(stretch))
    return [Node(-1, (), (), rows=lines)]


def unrolled(nodes: Iterable[Node]) -> Iterator[Line]:
    """The statements again, one by one, as they were, gaps as their means."""
    for node in nodes:
        yield from _unrolled(node, node.numbers)


def _unrolled(node: Node, numbers: tuple[int, ...]) -> Iterator[Line]:
    if node.rows:
        yield from node.rows
    elif not node.body:
        yield Line(node.text, numbers, node.gaps[0] / node.times)
    for turn in range(node.count if node.body else 0):
        now = tuple(n + turn * s for n, s in zip(numbers, node.step, strict=True))
        at = 0
        for part in node.body:
            size = len(part.numbers)
            yield from _unrolled(part, now[at : at + size])
            at += size
