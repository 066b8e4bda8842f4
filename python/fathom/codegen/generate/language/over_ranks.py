"""An expression's values on all ranks at once.

Only where it is certain that none of them is wrong: what could leave 64 bits, divide by zero or leave a remainder
is Unsure, and then worked out rank by rank, which finds the first rank that is wrong and says why.
"""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from fathom.codegen.generate.language import expression as ex

LIMIT = 2**62
Array = NDArray[np.int64]


class Unsure(Exception):
    """To be worked out rank by rank."""


def numbers(
    side: Sequence[ex.Expression], ranks: Sequence[int], values: ex.Values
) -> list[tuple[int, ...]]:
    """What several expressions are worth, for each of these ranks; Mistake for the first that has no value."""
    if side and len(ranks) > 1:
        every = OverRanks(values.nprocs, values.named)
        with suppress(Unsure):
            rows = list(zip(*(every.of(one).tolist() for one in side), strict=True))
            return [rows[rank] for rank in ranks]
    return [tuple(values.of(one, rank) for one in side) for rank in ranks]


class OverRanks:
    """Of one number of processes; a name is worked out once."""

    def __init__(self, nprocs: int, named: dict[str, ex.Expression]) -> None:
        self.nprocs, self.named = nprocs, named
        ranks = np.arange(nprocs, dtype=np.int64)
        self._known: dict[str, Array | None] = {
            "rank": ranks,
            "nprocs": np.full_like(ranks, nprocs),
        }

    def of(self, expression: ex.Expression) -> Array:
        """One value per rank. Errors: Unsure."""
        if isinstance(expression, ex.Number):
            return np.full(self.nprocs, _within(expression.value), np.int64)
        if isinstance(expression, ex.Name):
            return self._name(expression.name)
        if isinstance(expression, ex.Negative):
            return -self.of(expression.operand)
        if isinstance(expression, ex.Binary):
            return self._binary(expression)
        assert isinstance(expression, ex.Call)
        return self._call(expression)

    def _name(self, name: str) -> Array:
        if name not in self._known:
            if name not in self.named:
                raise Unsure
            self._known[name] = None  # until it is known: met again, it is worked out from itself
            self._known[name] = self.of(self.named[name])
        array = self._known[name]
        if array is None:
            raise Unsure
        return array

    def _binary(self, binary: ex.Binary) -> Array:
        left, right = self.of(binary.left), self.of(binary.right)
        if binary.operator in "/%":
            quotient, remainder = _divided(left, right)
            if binary.operator == "%":
                return remainder
            if remainder.any() and not ex.depends_on_rank(binary.left, self.named):
                raise Unsure
            return quotient
        if binary.operator == "*":
            _within(_most(left) * _most(right))
            return np.multiply(left, right)
        _within(_most(left) + _most(right))
        return np.add(left, right) if binary.operator == "+" else np.subtract(left, right)

    def _call(self, call: ex.Call) -> Array:
        values = [self.of(argument) for argument in call.arguments]
        if call.function in ("before", "total"):
            _within(_most(values[0]) * self.nprocs)
            sums = np.cumsum(values[0])
            if call.function == "before":
                return np.subtract(sums, values[0])
            return np.full_like(sums, sums[-1])
        if call.function == "div":
            return _divided(*values)[0]
        return np.minimum(*values) if call.function == "min" else np.maximum(*values)


def _divided(left: Array, right: Array) -> tuple[Array, Array]:
    """Cut towards zero, as C and Fortran have it."""
    if not right.all():
        raise Unsure
    quotient: Array = np.abs(left) // np.abs(right) * np.sign(left) * np.sign(right)
    remainder: Array = left - quotient * right
    return quotient, remainder


def _most(values: Array) -> int:
    return int(np.abs(values).max())


def _within(value: int) -> int:
    if abs(value) >= LIMIT:
        raise Unsure
    return value
