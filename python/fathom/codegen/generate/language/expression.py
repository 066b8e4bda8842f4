"""Whole numbers worked out from dimensions, parameters, rank and nprocs.

The same expression is evaluated here, for every rank, and written into the code: so it has the rules of
C and Fortran (division cuts towards zero) and must stay within 64 bits.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fathom.codegen.generate.language.mistake import Mistake, Place

LIMIT = 2**63 - 1
#: Functions, and how many arguments each takes.
FUNCTIONS = {"min": 2, "max": 2, "div": 2, "before": 1, "total": 1}
#: How tightly an operator binds.
BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}


@dataclass(frozen=True)
class Expression:
    """Base of all; `place` is where it begins."""

    place: Place


@dataclass(frozen=True)
class Number(Expression):
    value: int


@dataclass(frozen=True)
class Name(Expression):
    name: str


@dataclass(frozen=True)
class Negative(Expression):
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call(Expression):
    """min(a, b), max(a, b), div(a, b): a / b without its remainder; before(a): the sum of a over the ranks before
    this one; total(a): over all ranks."""

    function: str
    arguments: tuple[Expression, ...]


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and all in it."""
    yield expression
    for one in inside(expression):
        yield from parts(one)


def inside(expression: Expression) -> tuple[Expression, ...]:
    """What it is directly made of."""
    if isinstance(expression, Negative):
        return (expression.operand,)
    if isinstance(expression, Binary):
        return (expression.left, expression.right)
    return expression.arguments if isinstance(expression, Call) else ()


def key(expression: Expression) -> str:
    """Its text, the same for the same expression."""
    if isinstance(expression, Number):
        return str(expression.value)
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, Negative):
        return f"-{_closed(expression.operand, 3)}"
    if isinstance(expression, Binary):
        binds = BINDS[expression.operator]
        right = _closed(expression.right, binds + 1)
        return f"{_closed(expression.left, binds)} {expression.operator} {right}"
    assert isinstance(expression, Call)
    return f"{expression.function}({', '.join(map(key, expression.arguments))})"


def _closed(expression: Expression, binds: int) -> str:
    """In parentheses where what stands around would tear it apart."""
    text = key(expression)
    loose = isinstance(expression, Negative) or (
        isinstance(expression, Binary) and BINDS[expression.operator] < binds
    )
    return f"({text})" if loose else text


class Values:
    """What names are worth for one number of processes: parameters and dimensions by rank."""

    def __init__(self, nprocs: int, named: dict[str, Expression]) -> None:
        self.nprocs, self.named = nprocs, named
        self._sums: dict[str, list[int]] = {}
        self._open: list[str] = []

    def of(self, expression: Expression, rank: int) -> int:
        """The expression's value on a rank; Mistake where it has none."""
        if isinstance(expression, Number):
            return _within(expression.value, expression)
        if isinstance(expression, Name):
            return self._name(expression, rank)
        if isinstance(expression, Negative):
            return _within(-self.of(expression.operand, rank), expression)
        if isinstance(expression, Binary):
            return self._binary(expression, rank)
        assert isinstance(expression, Call)
        return self._call(expression, rank)

    def _name(self, name: Name, rank: int) -> int:
        if name.name in ("rank", "nprocs"):
            return rank if name.name == "rank" else self.nprocs
        if name.name not in self.named:
            known = ", ".join(["rank", "nprocs", *self.named])
            raise Mistake(
                name.place,
                f"nothing is called '{name.name}'",
                f"name a dimension or a parameter; there are {known}",
            )
        if name.name in self._open:
            raise Mistake(
                name.place,
                f"'{name.name}' is worked out from itself",
                "say one of them as a number",
            )
        self._open.append(name.name)
        value = self.of(self.named[name.name], rank)
        self._open.pop()
        return value

    def _binary(self, binary: Binary, rank: int) -> int:
        left, right = self.of(binary.left, rank), self.of(binary.right, rank)
        if binary.operator in "/%":
            quotient, remainder = divided(left, right, binary, rank)
            if binary.operator == "%":
                return remainder
            if remainder and not depends_on_rank(binary.left, self.named):
                raise Mistake(
                    binary.place,
                    f"{key(binary)}: {left} does not divide by {right}",
                    f"change one of them, or write div({key(binary.left)}, {key(binary.right)}) to drop the remainder",
                )
            return quotient
        operations: dict[str, Callable[[int, int], int]] = {
            "+": int.__add__,
            "-": int.__sub__,
            "*": int.__mul__,
        }
        return _within(operations[binary.operator](left, right), binary)

    def _call(self, call: Call, rank: int) -> int:
        if call.function in ("before", "total"):
            sums = self._prefix(call)
            return sums[rank] if call.function == "before" else sums[-1]
        left, right = (self.of(argument, rank) for argument in call.arguments)
        if call.function == "div":
            return divided(left, right, call, rank)[0]
        return min(left, right) if call.function == "min" else max(left, right)

    def _prefix(self, call: Call) -> list[int]:
        name = key(call.arguments[0])
        if name not in self._sums:
            sums = [0]
            for rank in range(self.nprocs):
                sums.append(_within(sums[-1] + self.of(call.arguments[0], rank), call))
            self._sums[name] = sums
        return self._sums[name]


def divided(left: int, right: int, expression: Expression, rank: int) -> tuple[int, int]:
    """Quotient and remainder as C and Fortran have them."""
    if right == 0:
        raise Mistake(
            expression.place,
            f"{key(expression)}: division by zero on rank {rank}",
            "say a divisor that no rank makes zero",
        )
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient, left - quotient * right


def depends_on_rank(expression: Expression, named: dict[str, Expression]) -> bool:
    """Whether ranks may see different values: by the name rank, by before(), or by a name that does."""
    if isinstance(expression, Name):
        rest = {name: value for name, value in named.items() if name != expression.name}
        return expression.name == "rank" or (
            expression.name in named and depends_on_rank(named[expression.name], rest)
        )
    if isinstance(expression, Call) and expression.function in ("before", "total"):
        return expression.function == "before"
    return any(depends_on_rank(one, named) for one in inside(expression))


def _within(value: int, expression: Expression) -> int:
    if abs(value) > LIMIT:
        raise Mistake(
            expression.place, f"{key(expression)}: larger than 64 bits hold", "say smaller numbers"
        )
    return value
