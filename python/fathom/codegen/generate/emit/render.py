"""Expressions as source: the same value, in 64 bits, in C and in Fortran."""

from collections.abc import Callable

from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.language.expression import BINDS

Local = Callable[
    [ex.Expression], str
]  # the local variable that a name, before() or total() is held in


def folded(it: ex.Expression) -> ex.Expression:
    """Parts that are numbers alone as one number: no arithmetic of ints is left to overflow."""
    if isinstance(it, ex.Binary):
        left, right = folded(it.left), folded(it.right)
        if isinstance(left, ex.Number) and isinstance(right, ex.Number) and it.operator != "/":
            value = ex.Values(1, {}).of(ex.Binary(it.place, it.operator, left, right), 0)
            if value >= 0:
                return ex.Number(it.place, value)
        return _simpler(ex.Binary(it.place, it.operator, left, right), left, right)
    if isinstance(it, ex.Negative):
        return ex.Negative(it.place, folded(it.operand))
    if isinstance(it, ex.Call) and it.function not in ("before", "total"):
        return ex.Call(it.place, it.function, tuple(map(folded, it.arguments)))
    return it


def _simpler(it: ex.Binary, left: ex.Expression, right: ex.Expression) -> ex.Expression:
    """0 + a, a * 1 and the like."""
    if it.operator == "+" and isinstance(left, ex.Number) and left.value == 0:
        return right
    if it.operator in "+-" and isinstance(right, ex.Number) and right.value == 0:
        return left
    if it.operator in "*/" and isinstance(right, ex.Number) and right.value == 1:
        return left
    return it


def c(it: ex.Expression, local: Local) -> str:
    """In C and C++."""
    return _c(folded(it), local)


def _c(it: ex.Expression, local: Local) -> str:
    if isinstance(it, ex.Number):
        return str(it.value)
    if isinstance(it, ex.Negative):
        return f"-{_around(it.operand, 3, local, _c)}"
    if isinstance(it, ex.Binary):
        return _infix(it.operator, it.left, it.right, local, _c)
    if isinstance(it, ex.Call) and it.function == "div":
        return _infix("/", it.arguments[0], it.arguments[1], local, _c)
    if isinstance(it, ex.Call) and it.function in ("min", "max"):
        left, right = (_c(argument, local) for argument in it.arguments)
        sign = "<" if it.function == "min" else ">"
        return f"(({left}) {sign} ({right}) ? ({left}) : ({right}))"
    return local(it)


def fortran(it: ex.Expression, local: Local) -> str:
    """In Fortran; numbers are of kind int64."""
    return _fortran(folded(it), local)


def _fortran(it: ex.Expression, local: Local) -> str:
    if isinstance(it, ex.Number):
        return f"{it.value}_int64"
    if isinstance(it, ex.Negative):
        return f"(-{_around(it.operand, 3, local, _fortran)})"
    if isinstance(it, ex.Binary) and it.operator == "%":
        return f"mod({_fortran(it.left, local)}, {_fortran(it.right, local)})"
    if isinstance(it, ex.Binary):
        return _infix(it.operator, it.left, it.right, local, _fortran)
    if isinstance(it, ex.Call) and it.function == "div":
        return _infix("/", it.arguments[0], it.arguments[1], local, _fortran)
    if isinstance(it, ex.Call) and it.function in ("min", "max"):
        return f"{it.function}({', '.join(_fortran(argument, local) for argument in it.arguments)})"
    return local(it)


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
    it: ex.Expression, binds: int, local: Local, write: Callable[[ex.Expression, Local], str]
) -> str:
    text = write(it, local)
    own = 3
    if isinstance(it, ex.Binary):
        own = BINDS[it.operator]
    elif isinstance(it, ex.Call) and it.function == "div":
        own = 2
    elif isinstance(it, ex.Negative):
        own = 0
    return f"({text})" if own < binds else text
