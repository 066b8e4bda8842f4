"""Emits knobs.c: how HDF5's setters are called, from the rows of catalog/knobs that name one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .ctext import file_text, fold
from .knobs import Knob, Value

#: hbool_t was wider before HDF5 1.10: as a register's lower half both read the same.
_PASSED = {
    "int": "int",
    "unsigned": "unsigned",
    "size_t": "size_t",
    "hsize_t": "uint64_t",
    "hbool_t": "unsigned",
    "double": "double",
}


def table(knobs: Sequence[Knob]) -> dict[str, str]:
    """File name -> text."""
    return {"knobs.c": file_text(_source([knob for knob in knobs if knob.set]))}


def _source(knobs: Sequence[Knob]) -> Iterable[str]:
    yield "/* HDF5's knobs, generated from catalog/knobs. */"
    yield '#include "tune/knobs.h"'
    yield ""
    yield "#include <string.h>"
    for knob in knobs:
        yield ""
        yield from _setter(knob)
    yield ""
    yield "const struct knob knobs[] = {"
    for knob in knobs:
        yield from _row(knob)
    yield "};"
    yield f"const uint32_t knobs_count = {len(knobs)};"
    yield f'_Static_assert({len(knobs)} <= KNOBS_MOST, "more knobs than there is room for");'


def _setter(knob: Knob) -> Iterable[str]:
    types = [t for value in knob.values for t in _types(value)]
    yield f"/* catalog/knobs/{knob.layer.path.name}: {knob.name} */"
    head = f"static int set_{knob.name}("
    yield from fold(
        head,
        ["void *function", "int64_t list", "const union knob_value *value", "uint32_t n"],
        ")",
    )
    yield "{"
    yield from fold("int (*set)(", ["int64_t", *types], ");", "\t")
    yield ""
    yield "\tmemcpy(&set, &function, sizeof(set));"
    if knob.values[0].many:
        yield "\treturn set(list, (int)n, (const uint64_t *)value);"
    else:
        yield "\t(void)n;"
        given = [_given(value, number) for number, value in enumerate(knob.values)]
        yield from fold("return set(", ["list", *given], ");", "\t")
    yield "}"


def _types(value: Value) -> tuple[str, ...]:
    return ("int", "const uint64_t *") if value.many else (_PASSED[value.c],)


def _given(value: Value, number: int) -> str:
    if value.c == "double":
        return f"value[{number}].real"
    return f"({_PASSED[value.c]})value[{number}].whole"


def _row(knob: Knob) -> Iterable[str]:
    yield "\t{"
    yield f'\t\t.name = "{knob.name}",'
    yield f'\t\t.function = "{knob.set}",'
    yield f"\t\t.list = {knob.list.upper().replace('-', '_')},"
    yield f"\t\t.values = {len(knob.values)},"
    flags = {"many": knob.values[0].many, "parallel": knob.parallel, "serial": knob.serial}
    yield from (f"\t\t.{name} = true," for name, on in flags.items() if on)
    real = ", ".join(f"[{n}] = true" for n, v in enumerate(knob.values) if v.c == "double")
    if real:
        yield f"\t\t.real = {{{real}}},"
    yield f"\t\t.set = set_{knob.name},"
    yield "\t},"
