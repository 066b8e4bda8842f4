"""Expressions as source: the same value, in 64 bits, in C and in Fortran."""

from collections.abc import Callable

from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.language.expression import BINDS

Local = Callable[
    [ex.Expression], str
]  # the local variable that a name, before() or total() is held in


def folded(expression: ex.Expression) -> ex.Expression:
    """Parts that are numbers alone as one number: no arithmetic of ints is left to overflow."""
    if isinstance(expression, ex.Binary):
        left, right = folded(expression.left), folded(expression.right)
        if (
            isinstance(left, ex.Number)
            and isinstance(right, ex.Number)
            and expression.operator != "/"
        ):
            value = ex.Values(1, {}).of(
                ex.Binary(expression.place, expression.operator, left, right), 0
            )
            if value >= 0:
                return ex.Number(expression.place, value)
        return _simpler(ex.Binary(expression.place, expression.operator, left, right), left, right)
    if isinstance(expression, ex.Negative):
        return ex.Negative(expression.place, folded(expression.operand))
    if isinstance(expression, ex.Call) and expression.function not in ("before", "total"):
        return ex.Call(
            expression.place, expression.function, tuple(map(folded, expression.arguments))
        )
    return expression


def _simpler(binary: ex.Binary, left: ex.Expression, right: ex.Expression) -> ex.Expression:
    """0 + a, a * 1 and the like."""
    if binary.operator == "+" and isinstance(left, ex.Number) and left.value == 0:
        return right
    if binary.operator in "+-" and isinstance(right, ex.Number) and right.value == 0:
        return left
    if binary.operator in "*/" and isinstance(right, ex.Number) and right.value == 1:
        return left
    return binary


def c(expression: ex.Expression, local: Local) -> str:
    """In C and C++."""
    return _c(folded(expression), local)


def _c(expression: ex.Expression, local: Local) -> str:
    if isinstance(expression, ex.Number):
        return str(expression.value)
    if isinstance(expression, ex.Negative):
        return f"-{_around(expression.operand, 3, local, _c)}"
    if isinstance(expression, ex.Binary):
        return _infix(expression.operator, expression.left, expression.right, local, _c)
    if isinstance(expression, ex.Call) and expression.function == "div":
        return _infix("/", expression.arguments[0], expression.arguments[1], local, _c)
    if isinstance(expression, ex.Call) and expression.function in ("min", "max"):
        left, right = (_c(argument, local) for argument in expression.arguments)
        sign = "<" if expression.function == "min" else ">"
        return f"(({left}) {sign} ({right}) ? ({left}) : ({right}))"
    return local(expression)


def fortran(expression: ex.Expression, local: Local) -> str:
    """In Fortran; numbers are of kind int64."""
    return _fortran(folded(expression), local)


def _fortran(expression: ex.Expression, local: Local) -> str:
    if isinstance(expression, ex.Number):
        return f"{expression.value}_int64"
    if isinstance(expression, ex.Negative):
        return f"(-{_around(expression.operand, 3, local, _fortran)})"
    if isinstance(expression, ex.Binary) and expression.operator == "%":
        return f"mod({_fortran(expression.left, local)}, {_fortran(expression.right, local)})"
    if isinstance(expression, ex.Binary):
        return _infix(expression.operator, expression.left, expression.right, local, _fortran)
    if isinstance(expression, ex.Call) and expression.function == "div":
        return _infix("/", expression.arguments[0], expression.arguments[1], local, _fortran)
    if isinstance(expression, ex.Call) and expression.function in ("min", "max"):
        return f"{expression.function}({', '.join(_fortran(argument, local) for argument in expression.arguments)})"
    return local(expression)


def _infix(
    sign: str,
    left: ex.Expression,
    right: ex.Expression,
    local: Local,
    write: Callable[[ex.Expression, Local], str],
) -> str:
    binds = BINDS[sign]
    return f"{_around(left, binds, local, write)} {sign} {_around(right, binds + 1, local, write)}"


def _around(
    expression: ex.Expression,
    binds: int,
    local: Local,
    write: Callable[[ex.Expression, Local], str],
) -> str:
    text = write(expression, local)
    own = 3
    if isinstance(expression, ex.Binary):
        own = BINDS[expression.operator]
    elif isinstance(expression, ex.Call) and expression.function == "div":
        own = 2
    elif isinstance(expression, ex.Negative):
        own = 0
    return f"({text})" if own < binds else text
