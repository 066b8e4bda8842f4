"""The program's text: loops and statements of all ranks as C."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fathom.codegen.replay.fold import Node, unrolled

VARIABLES = "ijklmnopqr"
SHORTEST = 1000  # ns: less is not waited for

Values = tuple[int, ...]  # of each rank of a group


@dataclass
class Table:
    """Rows of all ranks, as the program reads them: whole numbers of 8 bytes."""

    parts: list[np.ndarray] = field(default_factory=list)
    length: int = 0

    def add(self, rows: Sequence[Sequence[int]], width: int) -> int:
        """Where they begin, in numbers; rows that are shorter are filled up."""
        table = np.zeros((len(rows), width), np.int64)
        for at, row in enumerate(rows):
            table[at, : len(row)] = row
        begin, self.length = self.length, self.length + table.size
        self.parts.append(table.ravel())
        return begin

    def bytes(self) -> bytes:
        """What the file holds."""
        return b"".join(part.tobytes() for part in self.parts)


@dataclass
class Writer:
    """Writes functions. `think`: by how much what was waited is scaled; 0: nothing is waited."""

    ranks: int
    think: float
    table: Table = field(default_factory=Table)
    lists: dict[Values, str] = field(default_factory=dict)

    def functions(self, of_ranks: Sequence[Sequence[Node]]) -> tuple[list[str], list[str]]:
        """Functions, one for all ranks that do alike; and the lines that call them."""
        groups: dict[object, list[int]] = defaultdict(list)
        for rank, nodes in enumerate(of_ranks):
            groups[tuple(node.structure for node in nodes)].append(rank)
        functions, calls = [], []
        for number, ranks in enumerate(groups.values()):
            name = "replay" if len(groups) == 1 else f"replay_{number}"
            lines = self.block([of_ranks[rank] for rank in ranks], ranks)
            head = [] if len(groups) == 1 else [f"/* Of {_several(ranks)}. */"]
            functions += ["\n".join([*head, f"static void {name}(void)", "{", *lines, "}"])]
            calls += _choice(ranks, number, len(groups), name)
        return functions, calls

    def block(self, nodes: Sequence[Sequence[Node]], ranks: Sequence[int]) -> list[str]:
        """Lines of alike sequences, one for each of these ranks."""
        lines: list[str] = []
        for same in zip(*nodes, strict=True):
            lines += _Place(self, ranks).lines(same, [one.numbers for one in same])
        return lines

    def number(self, values: Values, ranks: Sequence[int]) -> str:
        """One number of each rank as an expression."""
        by_rank = _formula(values, ranks, self.ranks)
        if by_rank is not None:
            return by_rank
        whole = [0] * self.ranks
        for rank, value in zip(ranks, values, strict=True):
            whole[rank] = value
        name = self.lists.setdefault(tuple(whole), f"of_rank_{len(self.lists)}")
        return f"{name}[rank]"

    def declarations(self) -> list[str]:
        """Lists that the expressions name."""
        return [
            f"static const int64_t {name}[] = {{{', '.join(map(str, values))}}};"
            for values, name in self.lists.items()
        ]


@dataclass
class _Place:
    """Where in the text we are: inside which loops, and by how much each adds to every number."""

    writer: Writer
    ranks: Sequence[int]
    loops: tuple[str, ...] = ()

    def lines(
        self, nodes: Sequence[Node], numbers: Sequence[Values], steps: tuple[tuple[Values, ...], ...] = ()
    ) -> list[str]:  # fmt: skip
        """Of one node, the same of each rank; `steps`: by loop around it and rank."""
        first = nodes[0]
        if first.rows:
            return self._rows(nodes)
        indent = "\t" * (len(self.loops) + 1)
        if not first.body:
            words = [self._sum(at, numbers, steps) for at in range(len(first.numbers))]
            waited = self._waited(nodes)
            head = [f"{indent}think({waited});"] if waited else []
            return [*head, indent + substituted(first.text, words)]
        variable = VARIABLES[len(self.loops)]
        count = self.writer.number(tuple(node.count for node in nodes), self.ranks)
        inside = _Place(self.writer, self.ranks, (*self.loops, variable))
        own = tuple(node.step for node in nodes)
        body: list[str] = []
        at = 0
        for parts in zip(*(node.body for node in nodes), strict=True):
            size = len(parts[0].numbers)
            cut = slice(at, at + size)
            body += inside.lines(
                parts, [number[cut] for number in numbers],
                (*(tuple(of[cut] for of in step) for step in steps), tuple(of[cut] for of in own)),
            )  # fmt: skip
            at += size
        loop = f"{indent}for (int64_t {variable} = 0; {variable} < {count}; {variable}++)"
        return [loop, *body] if len(body) == 1 else [loop + " {", *body, indent + "}"]

    def _sum(
        self, at: int, numbers: Sequence[Values], steps: tuple[tuple[Values, ...], ...]
    ) -> str:
        words = []
        for variable, step in zip(self.loops, steps, strict=True):
            factor = self.writer.number(tuple(of[at] for of in step), self.ranks)
            words.append(_product(factor, variable))
        base = self.writer.number(tuple(of[at] for of in numbers), self.ranks)
        return _added([base, *words])

    def _waited(self, nodes: Sequence[Node]) -> str:
        means = [node.gaps[0] / node.times * self.writer.think for node in nodes]
        if max(means) < SHORTEST:
            return ""
        return self.writer.number(tuple(round(mean) for mean in means), self.ranks)

    def _rows(self, nodes: Sequence[Node]) -> list[str]:
        texts: dict[str, int] = {}
        for node in nodes:
            for line in node.rows:
                texts.setdefault(line.text, len(texts))
        scale = self.writer.think
        width = 2 + max(len(line.numbers) for node in nodes for line in node.rows)
        starts, counts = [], []
        for node in nodes:
            rows = [
                (texts[line.text], round(line.gap * scale), *line.numbers) for line in node.rows
            ]
            starts.append(self.writer.table.add(rows, width))
            counts.append(len(rows) * width)
        number = self.writer.number
        start, count = number(tuple(starts), self.ranks), number(tuple(counts), self.ranks)
        begin = f"\tfor (const int64_t *row = table + {start}, *end = row + {count}; row < end; row += {width})"
        waits = ["\t\tthink(row[1]);"] if scale else []
        cases = [
            line
            for text, at in texts.items()
            for line in (
                f"\t\tcase {at}:",
                "\t\t\t" + substituted(text, [f"row[{place}]" for place in range(2, width)]),
                "\t\t\tbreak;",
            )
        ]
        return [begin + " {", *waits, "\t\tswitch (row[0]) {", *cases, "\t\t}", "\t}"]


def substituted(text: str, words: Sequence[str]) -> str:
    """`$0`, `$1`, … as these."""
    return re.sub(r"\$(\d+)", lambda match: words[int(match[1])], text)


def _formula(values: Values, ranks: Sequence[int], all_ranks: int) -> str | None:
    """As a formula of the rank: the same for all, in proportion, or by its place in a grid."""
    if len(set(values)) == 1:
        return str(values[0])
    ways: list[list[tuple[str, Callable[[int], int]]]] = [[("rank", lambda rank: rank)]]
    for wide in range(2, all_ranks):
        if all_ranks % wide == 0:
            ways.append([(f"(rank / {wide})", _over(wide)), (f"(rank % {wide})", _within(wide))])
    for way in ways:
        factors = _factors(values, [tuple(of(rank) for rank in ranks) for _, of in way])
        if factors:
            products = (
                _product(str(by), name) for by, (name, _) in zip(factors[1:], way, strict=True)
            )
            return _added([str(factors[0]), *products])
    return None


def _over(wide: int) -> Callable[[int], int]:
    return lambda rank: rank // wide


def _within(wide: int) -> Callable[[int], int]:
    return lambda rank: rank % wide


def _factors(values: Values, of: Sequence[Values]) -> list[int] | None:
    """Whole numbers a, b, … with value = a + b * first + …; None: there are none, or too few values to tell."""
    if len(values) <= len(of) and len(of) > 1:
        return None
    rows = np.array([[1, *row] for row in zip(*of, strict=True)], float)
    solution = np.linalg.lstsq(rows, np.array(values, float), rcond=None)[0]
    whole = [round(float(one)) for one in solution]
    worked_out = (
        whole[0] + sum(by * at for by, at in zip(whole[1:], row, strict=True))
        for row in zip(*of, strict=True)
    )
    return whole if tuple(worked_out) == values else None


def _product(factor: str, variable: str) -> str:
    if factor in ("0", "1"):
        return variable if factor == "1" else "0"
    around = f"({factor})" if re.search(r" [+-] ", factor) else factor
    return f"{around} * {variable}"


def _added(words: Sequence[str]) -> str:
    terms = [word for word in words if word != "0"] or ["0"]
    return " + ".join(terms).replace("+ -", "- ")


def _several(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return "ranks " + ", ".join(map(str, ranks))


def _choice(ranks: Sequence[int], number: int, groups: int, name: str) -> list[str]:
    if groups == 1:
        return [f"{name}();"]
    if number == groups - 1:
        return ["else", f"\t{name}();"]
    if len(ranks) > 1 and list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        condition = f"rank >= {ranks[0]} && rank <= {ranks[-1]}"
    else:
        condition = " || ".join(f"rank == {rank}" for rank in ranks)
    return [f"{'else ' if number else ''}if ({condition})", f"\t{name}();"]


def plain(nodes: Sequence[Node]) -> list[str]:
    """The statements one by one, without ranks."""
    return [substituted(line.text, list(map(str, line.numbers))) for line in unrolled(nodes)]
