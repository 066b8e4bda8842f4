"""A condition on settings, as a user writes it: `cb_nodes * cb_buffer_size <= 64 * MiB`. Nothing else is evaluated."""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SIZES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


class ConstraintMistake(Exception):
    """What is wrong with a condition."""


class Unset(Exception):
    """A knob that it names is left as the program has it, so it cannot be asked."""


@dataclass(frozen=True)
class Constraint:
    """One of them."""

    text: str
    tree: ast.expr = field(compare=False)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Of these values by name; what cannot be asked, because a knob is not set, holds."""
        try:
            return bool(_value(self.tree, values))
        except (Unset, ZeroDivisionError):
            return True
        except TypeError as error:
            raise ConstraintMistake(f"'{self.text}': {error}") from error


def parse(text: str, names: Sequence[str]) -> Constraint:
    """A condition on these names; raises ConstraintMistake."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ConstraintMistake(f"'{text}' is no condition: {error.msg}") from error
    _check(tree, text, names)
    return Constraint(text, tree)


def _check(node: ast.expr, text: str, names: Sequence[str]) -> None:
    match node:
        case ast.Name(name):
            if name not in names and name not in SIZES:
                raise ConstraintMistake(f"'{text}': no knob '{name}'; there are {', '.join(names)}")
        case ast.Constant(int() | float() | str()):
            pass
        case ast.BoolOp(_, parts):
            for part in parts:
                _check(part, text, names)
        case ast.BinOp(left, kind, right) if type(kind) in OPERATORS:
            _check(left, text, names)
            _check(right, text, names)
        case ast.Compare(left, kinds, rest) if all(type(kind) in OPERATORS for kind in kinds):
            for part in (left, *rest):
                _check(part, text, names)
        case ast.UnaryOp(ast.Not(), part):
            _check(part, text, names)
        case _:
            known = "knobs, numbers, texts, + - * / %, comparisons, and, or, not"
            raise ConstraintMistake(f"'{text}': '{ast.unparse(node)}' is none of {known}")


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(name):
            number = SIZES.get(name) if name not in values else values[name]
            if number is None:
                raise Unset
            return number
        case ast.Constant(value):
            return value
        case ast.BoolOp(kind, parts):
            every = (bool(_value(part, values)) for part in parts)
            return all(every) if isinstance(kind, ast.And) else any(every)
        case ast.BinOp(left, kind, right):
            return OPERATORS[type(kind)](_value(left, values), _value(right, values))
        case ast.Compare(left, kinds, rest):
            sides = [_value(part, values) for part in (left, *rest)]
            pairs = zip(kinds, sides, sides[1:], strict=False)
            return all(OPERATORS[type(kind)](one, other) for kind, one, other in pairs)
        case ast.UnaryOp(_, part):
            return not _value(part, values)
    raise AssertionError(ast.dump(node))
