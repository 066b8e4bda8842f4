"""Forward-selected non-linear regression (Behzad et al. 2019, section 8): a sum of terms, each a product of knobs, file
size, ranks, their inverses and logs. Each step takes the term that explains most of what is left; the extended Bayesian
information criterion (Chen & Chen 2008) says how many, since of thousands of candidates some always fit by chance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from fathom.tune.model.factors import (  # fmt: skip
    RANKS,
    SIZE,
    Column,
    Factor,
    Row,
    Table,
    Term,
    bases,
    same,
)

#: Terms at most; trials for each at least.
TERMS, EACH = 12, 4
#: A column that is to this part a sum of chosen ones says nothing new; a fit to this part is exact.
ALIKE, EXACT = 1e-9, 1e-12
#: Of fewer pairs of ranks and size nothing can be said of what they do together; of two numbers, of a bend.
PAIRS, NUMBERS = 4, 3
#: A cost below this part of the most counts no more than one of it.
LIGHT = 1e-6


@dataclass(frozen=True)
class Regression:
    """Terms, the first of them the constant, and their coefficients."""

    terms: tuple[Term, ...]
    coefficients: tuple[float, ...]

    def predict(self, table: Table) -> Column:
        """Of each row."""
        costs = np.zeros(table.rows)
        for term, coefficient in zip(self.terms, self.coefficients, strict=True):
            costs += coefficient * table.term(term)
        return costs


def candidates(factors: Sequence[Factor]) -> list[Term]:
    """Simple ones first. Pairs are products and ratios; three only where one is of the run: work over two knobs. A log
    stands alone, or beside a figure of the run."""
    of = {factor.name: bases(factor) for factor in factors}
    terms: list[Term] = [(one,) for some in of.values() for one in some]
    for count in (2, 3):
        for names in combinations(of, count):
            scales = sum(name in (RANKS, SIZE) for name in names)
            if count == 3 and not scales:
                continue
            for term in product(*(of[name] for name in names)):
                logs = [one.factor for one in term if one.form == "log2"]
                if not logs or (len(logs) == 1 and count == 2 and scales == 1 + _scale(logs[0])):
                    terms.append(term)
    return terms


def _scale(name: str) -> bool:
    return name in (RANKS, SIZE)


def fit(factors: Sequence[Factor], rows: Sequence[Row], costs: Column) -> Regression:
    """Of rows that did not fail. Errors count in parts of the cost, so that the slow half of a space does not decide
    where its fast end is; where some costs are not above 0, as they are."""
    unit = float(np.abs(costs).max()) or 1.0
    costs = costs / unit
    weights = 1 / np.maximum(costs, LIGHT) if (costs > 0).all() else np.ones(len(costs))
    varied = _varied(factors, Table.of_rows(factors, rows))
    table, terms = Table.of_rows(varied or factors, rows), _grounded(candidates(varied), rows)
    columns = np.array([table.term(term) for term in terms]).reshape(len(terms), len(rows)).T
    target, sizes = costs * weights, [len(term) for term in terms]
    chosen = _select(columns * weights[:, None], sizes, target, weights)
    design = np.column_stack([weights, *(columns[:, one] * weights for one in chosen)])
    norms = np.linalg.norm(design, axis=0)
    coefficients = np.linalg.lstsq(design / norms, target, rcond=None)[0] / norms * unit
    return Regression(
        ((), *(terms[one] for one in chosen)),
        tuple(float(coefficient) for coefficient in coefficients),
    )


def _grounded(terms: Sequence[Term], rows: Sequence[Row]) -> list[Term]:
    """Those that runs of so many sizes can speak of: a formula is asked about others."""
    scales = {row.scale for row in rows}
    few = {
        name
        for name, numbers in (
            (RANKS, {scale.ranks for scale in scales}),
            (SIZE, {scale.bytes for scale in scales}),
        )
        if len(numbers) < NUMBERS
    }
    return [
        term
        for term in terms
        if all(one.form == "x" or one.factor not in few for one in term)
        and (len(scales) >= PAIRS or sum(_scale(one.factor) for one in term) < 2)
    ]


def _varied(factors: Sequence[Factor], table: Table) -> list[Factor]:
    """Of which rows know more than one value; levels that no row has are no terms."""
    varied = []
    for factor in factors:
        given = table.values[factor.name]
        if len(given) > 1:
            levels = tuple(level for level in factor.levels if any(same(level, g) for g in given))
            varied.append(Factor(factor.name, factor.kind, levels))
    return varied


def _select(columns: Column, sizes: Sequence[int], target: Column, constant: Column) -> list[int]:
    """Numbers of the chosen columns: those before the criterion's least, then without what later ones made needless."""
    rows, width = columns.shape
    penalty, whole = _penalties(sizes, rows), float(target @ target)
    most = min(TERMS, rows // EACH - 1, width) if whole else 0
    lengths = np.einsum("ij,ij->j", columns, columns)
    directions = [constant / np.linalg.norm(constant)]
    left, rest = _without(columns, directions[0]), target - directions[0] * (directions[0] @ target)
    chosen: list[int] = []
    marks = [_criterion(float(rest @ rest), whole, rows)]
    while len(chosen) < most:
        norms = np.einsum("ij,ij->j", left, left)
        fresh = norms > ALIKE * lengths
        if not fresh.any():
            break
        gains = np.where(fresh, (rest @ left) ** 2 / np.where(fresh, norms, 1.0), 0.0)
        after = np.maximum(float(rest @ rest) - gains, EXACT * whole)
        one = int(np.argmin(np.where(fresh, rows * np.log(after / rows) + penalty, np.inf)))
        direction = left[:, one] / np.sqrt(norms[one])
        chosen.append(one)
        left, rest = _without(left, direction), rest - direction * (direction @ rest)
        paid = sum(float(penalty[number]) for number in chosen)
        marks.append(_criterion(float(rest @ rest), whole, rows) + paid)
    return _pruned(columns, chosen[: int(np.argmin(marks))], penalty, target, constant)


def _without(columns: Column, direction: Column) -> Column:
    remainder: Column = columns - np.outer(direction, direction @ columns)
    return remainder


def _criterion(left: float, whole: float, rows: int) -> float:
    return rows * math.log(max(left, EXACT * whole) / rows) if whole else 0.0


def _penalties(sizes: Sequence[int], rows: int) -> Column:
    """Of each candidate: of many alike one fits by chance, so those of three factors have to bring more."""
    many = {size: sizes.count(size) for size in set(sizes)}
    return np.array([math.log(rows) + 2 * math.log(many[size]) for size in sizes])


def _pruned(
    columns: Column, chosen: list[int], penalty: Column, target: Column, constant: Column
) -> list[int]:
    rows, whole = len(target), float(target @ target)

    def mark(some: Sequence[int]) -> float:
        design = np.column_stack([constant, *(columns[:, one] for one in some)])
        design = design / np.linalg.norm(design, axis=0)
        left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
        paid = sum(float(penalty[number]) for number in some)
        return _criterion(float(left @ left), whole, rows) + paid

    while chosen:
        fewer = [[other for other in chosen if other != one] for one in chosen]
        best = min(fewer, key=mark)
        if mark(best) >= mark(chosen):
            break
        chosen = best
    return chosen
