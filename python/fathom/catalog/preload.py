"""Emits the preload library's functions: a call on a forwarded file goes to its handler, any other to libc."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from .ctext import block, file_text, fold
from .generate import write
from .model import Api, Call, Catalog, CatalogError, Form, Parameter
from .prototypes import declare, join_type

KEYS = ("served", "by_number", "always", "quiet", "inside", "same", "passed")
DESCRIPTORS = frozenset(("fd", "in_fd", "out_fd", "mount_fd", "wanted"))
HEADERS = ("aio.h", "errno.h", "fcntl.h", "glob.h", "spawn.h", "stdarg.h", "stdio.h", "sys/types.h")


@dataclass(frozen=True)
class Served:
    """What forward/preload/served.toml says of ops."""

    served: frozenset[str]  # there is a handler; of other ops that meet a forwarded file, none
    by_number: frozenset[str]  # the handler takes descriptors as they are
    always: frozenset[str]  # the handler sees every call
    quiet: frozenset[str]  # refused without a line on stderr: programs ask and go on
    inside: frozenset[str]  # it has a handler, for while the working directory is forwarded
    same: dict[str, str]  # op -> op whose handler it has
    passed: dict[str, str]  # op, or glob of symbols -> why libc alone does it

    @property
    def handled(self) -> frozenset[str]:
        """Ops that have a handler."""
        return self.served | self.always | self.inside


@dataclass(frozen=True)
class Place:
    """A path among the arguments, and what it is relative to."""

    name: str  # of the C variable
    directory: str  # C expression of a descriptor
    path: str


def load_served(path: Path) -> Served:
    """Read served.toml; raises CatalogError."""
    with path.open("rb") as file:
        data = tomllib.load(file)
    for key in data.keys() - set(KEYS):
        raise CatalogError(path, "", key, f"is none of {', '.join(KEYS)}")
    served, by_number, always, quiet, inside = (frozenset(data.get(key, ())) for key in KEYS[:5])
    return Served(
        served, by_number, always, quiet, inside, data.get("same", {}), data.get("passed", {})
    )


def why_passed(served: Served, symbol: str, call: Call | None) -> str:
    """Why libc alone does it, "" if that is not said. `call`: the symbol's row, None if it has none."""
    op = call.op if call else ""
    named = call and (descriptors(call) or places(call))
    if call and not named and any(p.type == "FILE *" for p in call.parameters):
        return "a stream of ours ends in functions of ours"
    for name, reason in served.passed.items():
        if name == op or fnmatch(symbol, name):
            return reason
    return ""


def descriptors(call: Call) -> list[str]:
    """C expressions of the descriptors that a call is given."""
    expressions = [p.name for p in call.parameters if p.type == "int" and p.name in DESCRIPTORS]
    expressions += [f"{p.name}->aio_fildes" for p in call.parameters if p.type == "struct aiocb *"]
    return expressions


def places(call: Call) -> list[Place]:
    """The paths that a call is given."""
    names = {p.name for p in call.parameters if p.type in ("const char *", "char *")}
    every = {p.name for p in call.parameters}
    path_places = []
    for variable, path, directory in (
        ("at", "path", "dirfd"),
        ("to_place", "to", "to_dirfd"),
    ):
        if path in names:
            where = directory if directory in every else "AT_FDCWD"
            path_places.append(Place(variable, where, path))
    return path_places


def streams(call: Call) -> list[str]:
    """Directories and streams that a call is given."""
    return [p.name for p in call.parameters if p.type == "DIR *"]


def wrapped(catalog: Catalog, served: Served) -> Iterator[tuple[Api, Call]]:
    """The rows whose symbols the library has."""
    for api, call in catalog.calls():
        named = bool(descriptors(call) or places(call) or streams(call))
        reached = named or call.op in served.always | served.inside
        if reached and call.op not in served.passed and any(call.symbols()):
            yield api, call


def preload(catalog: Catalog, served_file: Path, out: Path) -> None:
    """Write preload_calls.h and preload_calls.c."""
    served = load_served(served_file)
    calls = [call for _, call in wrapped(catalog, served)]
    known = {call.op for call in calls}
    for op in sorted((served.handled | served.by_number | served.quiet) - known):
        raise CatalogError(served_file, "", op, "is no op that takes a descriptor or a path")
    headers = sorted(set(HEADERS).union(*(api.system for api in catalog.apis)))
    write(
        out,
        {
            "preload_calls.h": _header(calls, served, headers),
            "preload_calls.c": file_text(_source(calls, served)),
        },
    )


# ---- what both files share


def _symbols(calls: Iterable[Call]) -> list[tuple[Call, Form, str]]:
    return [
        (call, form, symbol) for call in calls for form in call.forms for symbol in form.symbols
    ]


def _result(call: Call) -> str:
    return call.result.type if call.result else "void"


def _handler_parameters(call: Call, served: Served) -> list[Parameter]:
    """Of a handler: its file, its places, and what else the row's form has."""
    if call.op in served.always:
        return list(call.parameters)
    given: list[Parameter] = []
    hidden: set[str] = set()
    numbers = descriptors(call)
    if numbers and not _takes_numbers(call, served):
        given.append(Parameter("struct file *f", "f", "struct file *"))
        hidden.update(numbers)
    for place in places(call):
        text = f"const struct place *{place.name}"
        given.append(Parameter(text, place.name, "const struct place *"))
        hidden.update((place.directory, place.path))
    given += [p for p in call.parameters if p.name not in hidden]
    if call.forms[0].va:
        given.append(Parameter("va_list list", "list", "va_list"))
    return given


def _takes_numbers(call: Call, served: Served) -> bool:
    return len(descriptors(call)) > 1 or call.op in served.by_number | served.always


def _next_name(symbol: str) -> str:
    return f"next_{symbol}"


# ---- the header


def _header(calls: list[Call], served: Served, headers: list[str]) -> str:
    lines = [
        "/* The next library's functions, and the handlers of calls on forwarded files. Generated. */",
        "#ifndef PRELOAD_CALLS_H",
        "#define PRELOAD_CALLS_H",
        "",
        *(f"#include <{header}>" for header in headers),
        "",
        "struct file;",
        "struct place;",
        "",
        "/* Symbols, in the order of next_names. */",
        "enum {",
    ]
    for _, _, symbol in _symbols(calls):
        lines.append(f"\tNEXT_{symbol},")
    lines += ["\tNEXT_COUNT,", "};", "", "extern const char *const next_names[NEXT_COUNT];"]
    lines += [
        "/* Where the symbol is behind us: libc, or another tool. */",
        "void *next_at(int symbol);",
    ]
    for call, form, symbol in _symbols(calls):
        if not form.va:
            lines += ["", *_next(call, form, symbol)]
    lines.append("")
    for call in calls:
        if call.op in served.handled and call.op not in served.same:
            head = join_type(_result(call), f"forward_{call.op}") + "("
            lines += fold(head, declare(_handler_parameters(call, served)), ");")
    lines += ["", "#endif"]
    return file_text(lines)


def _next(call: Call, form: Form, symbol: str) -> list[str]:
    result = _result(call)
    types = ", ".join(p.type for p in form.parameters) + (", ..." if form.variadic else "")
    pointer = f"({result} (*)({types or 'void'}))"
    arguments = ", ".join(p.name for p in form.passed)
    head = f"static inline {join_type(result, _next_name(symbol))}("
    returned = "return " if call.result else ""
    return block(
        fold(head, declare(form.passed), ")"),
        "{",
        f"\t{returned}({pointer}next_at(NEXT_{symbol}))({arguments});",
        "}",
    )


# ---- the functions


def _source(calls: list[Call], served: Served) -> Iterator[str]:
    yield "/* What programs call, from the rows of catalog/probes and forward/preload/more.toml. */"
    yield '#include "skin.h"'
    yield ""
    yield "const char *const next_names[NEXT_COUNT] = {"
    for _, _, symbol in _symbols(calls):
        yield f'\t"{symbol}",'
    yield "};"
    for call, form, symbol in _symbols(calls):
        yield ""
        yield from _function(call, form, symbol, served)


def _function(call: Call, form: Form, symbol: str, served: Served) -> list[str]:
    result, name = _result(call), f"call_{symbol}"
    parameters = declare(form.passed, bool(form.va))
    return block(
        fold(
            f"{join_type(result, name)}(",
            parameters,
            f') __asm__("{symbol}") __attribute__((visibility("default")));',
        ),
        fold(f"{join_type(result, name)}(", parameters, ")"),
        "{",
        _body(call, form, symbol, served),
        "}",
    )


def _body(call: Call, form: Form, symbol: str, served: Served) -> list[str]:
    if call.op in served.always:
        return [*_given(call, form, ""), _handle(call, served)]
    lines = [f"\tstruct place {place.name};" for place in places(call)]
    condition, whose = _ours(call, served)
    if whose:
        lines.append(f"\tstruct file *f = file_get({whose});")
    if call.result and (whose or form.va):
        lines.append(f"\t{join_type(_result(call), 'returned')};")
    if form.va:
        last = form.parameters[-1].name
        lines += ["\tva_list list;", "", f"\tva_start(list, {last});"]
    lines += [""] if lines else []
    lines += _choice(call, form, symbol, served, condition, bool(whose))
    return [*_given(call, form, "\n".join(lines)), *lines]


def _given(call: Call, form: Form, body: str) -> list[str]:
    """What the row's form has, this one has not, and the body uses."""
    own = {p.name for p in form.passed}
    return [
        f"\t{join_type(parameter.type, parameter.name)} = {form.given[parameter.name]};"
        for parameter in call.parameters
        if parameter.name not in own and re.search(rf"\b{parameter.name}\b", body)
    ]


def _ours(call: Call, served: Served) -> tuple[str, str]:
    """C condition that the call is ours; and the descriptor whose file the handler takes."""
    numbers, paths = descriptors(call), places(call)
    if call.op in served.inside:
        return "cwd_is_ours()", ""
    if len(paths) == 2:
        arguments = ", ".join(f"&{p.name}, {p.directory}, {p.path}" for p in paths)
        return f"place_pair({arguments})", ""
    conditions = [f"place_find(&{p.name}, {p.directory}, {p.path})" for p in paths]
    conditions += [f"directory_is_ours({name})" for name in streams(call)]
    if numbers and call.op in served.served and not _takes_numbers(call, served):
        return "f", numbers[0]
    conditions += [f"file_has({number})" for number in numbers]
    return " || ".join(conditions), ""


def _choice(
    call: Call, form: Form, symbol: str, served: Served, condition: str, held: bool
) -> list[str]:
    following = _call_next(form, symbol)
    handled = _handle(call, served).strip()
    if not held and not form.va:
        if call.result:
            return [f"\tif (!({condition}))", f"\t\treturn {following};", f"\t{handled}"]
        return [
            f"\tif (!({condition})) {{",
            f"\t\t{following};",
            "\t\treturn;",
            "\t}",
            f"\t{handled}",
        ]
    store = "returned = " if call.result else ""
    handled = handled.removeprefix("return ")
    lines = [f"\tif ({condition}) {{", f"\t\t{store}{handled}"]
    lines += ["\t\tfile_put(f);"] if held else []
    lines += ["\t} else {", f"\t\t{store}{following};", "\t}"]
    lines += ["\tva_end(list);"] if form.va else []
    return [*lines, "\treturn returned;"] if call.result else lines


def _call_next(form: Form, symbol: str) -> str:
    names = [p.name for p in form.passed] + (["list"] if form.va else [])
    return f"{_next_name(form.va or symbol)}({', '.join(names)})"


def _handle(call: Call, served: Served) -> str:
    """The statement for a call that is ours."""
    returned = "return " if call.result else ""
    if call.op not in served.handled:
        loud = "false" if call.op in served.quiet else "true"
        refuse = f'skin_refuse("{call.op}", {loud})'
        if not call.result:
            return f"\t{refuse};"
        return f"\treturn {'(void *)' if call.result.is_pointer else ''}{_refused(call, refuse)};"
    arguments = []
    for parameter in _handler_parameters(call, served):
        place = parameter.type == "const struct place *"
        cast = f"({parameter.type})" if parameter.is_pointer and not place else ""
        name = f"&{parameter.name}" if place else parameter.name
        arguments.append(f"{cast}{name}" if parameter.type != "struct file *" else name)
    handler = served.same.get(call.op, call.op)
    return f"\t{returned}forward_{handler}({', '.join(arguments)});"


def _refused(call: Call, refuse: str) -> str:
    return f"({refuse}, NULL)" if call.result and call.result.is_pointer else refuse
