"""C and C++: a header, a unit, a program that checks them."""

from textwrap import wrap
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from fathom.codegen.generate.emit import render, shared
from fathom.codegen.generate.emit.context import PointText, point_text
from fathom.codegen.generate.emit.files import Files
from fathom.codegen.generate.emit.folding import fold
from fathom.codegen.generate.emit.libraries import CTYPES, LIBRARIES
from fathom.codegen.generate.emit.seal import sealed
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.plan import Plan, plan
from fathom.codegen.generate.selfcheck import read_all
from fathom.codegen.generate.spec import Compound, Spec

FORMATS = {"cdf5": " | NC_64BIT_DATA", "cdf2": " | NC_64BIT_OFFSET", "cdf1": ""}


def _ctypes(spec: Spec) -> dict[str, str]:
    return CTYPES | {it.name: f"struct {it.name}" for it in spec.compounds()}


def suffixes(spec: Spec) -> tuple[str, str]:
    return (".cpp", ".hpp") if spec.language == "c++" else (".c", ".h")


def generate(spec: Spec, plans: list[Plan], check: bool) -> Files:
    """The header and the unit, and the self-check where it is asked for."""
    source, header = suffixes(spec)
    points = [_point(spec, one, shared.function_name(spec, one.point)) for one in plans]
    views = [_view(spec, point) for point in points]
    guard = f"{spec.name}_io{header}".upper().replace(".", "_").replace("+", "X")
    unit = _unit(spec, plans, views)
    head = {"points": views, "guard": guard, "compounds": unit["compounds"]}
    texts = {
        f"{spec.name}_io{header}": _text("header.h.j2", spec, head),
        f"{spec.name}_io{source}": _text("unit.c.j2", spec, unit),
    }
    if check:
        texts[f"{spec.name}_check{source}"] = _check(spec, plans, points)
    return Files(texts, points)


def _point(spec: Spec, one: Plan, function: str) -> PointText:
    lengths = one.creates or spec.library in shared.RAW
    return point_text(one, function, render.c, lengths, shared.needs_attributes(spec, one))


def _environment(spec: Spec) -> Environment:
    environment = Environment(
        loader=PackageLoader("fathom.codegen.generate.emit"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    cxx = spec.language == "c++"

    def cast(kind: str, what: str) -> str:
        if cxx:
            return f"static_cast<{kind}>({what})"
        return what if what.startswith("malloc(") or kind == "size_t" else f"({kind}){what}"

    environment.globals.update(cast=cast, cxx=cxx, ctype=_ctypes(spec), library=spec.library)
    return environment


def _text(template: str, spec: Spec, content: dict[str, Any]) -> str:
    template_text = _environment(spec).get_template(f"c/{template}")
    return sealed(fold(template_text.render(content).lstrip("\n")), "/* ", ". */")


def _view(spec: Spec, p: PointText) -> dict[str, Any]:
    """A point as the templates name its parts."""
    reading, library = p.plan.reading, LIBRARIES[spec.library].title
    arguments = ["MPI_Comm comm", "const char *path"]
    arguments += [f"int64_t {name}" for name in p.parameters]
    arguments += [f"double {name}" for name in p.reals]
    arguments += [f"{_ctypes(spec)[b.type]} *{b.name}" for b in p.buffers]
    what = ", ".join(v.name for v in p.plan.point.variables())
    verb = "Reads" if reading else "Writes"
    into = "from" if reading else "into"
    needs_dimensions = p.plan.creates or spec.library in shared.RAW
    return {
        **vars(p),
        "prototype": f"int {p.function}({', '.join(arguments)})",
        "does": "\n * ".join(wrap(f"{verb} {what} {into} the file at path by {library}.", 90)),
        "reading": reading,
        "creates": p.plan.creates,
        "does_by": shared.file_function(p.plan),
        "dimensions": _dimensions(spec) if needs_dimensions else [],
        "transfer_table": _transfers(spec, p),
        "job_members": shared.job_members(p),
    }


def _dimensions(spec: Spec) -> list[dict[str, str]]:
    return [
        {"name": d.name, "length": "0" if d.length is None else f"len_{d.name}"}
        for d in spec.dimensions.values()
    ]


def _transfers(spec: Spec, p: PointText) -> str:
    lines = ["\tconst struct transfer transfers[] = {"]
    memories = shared.uses_memory(spec)
    for t in p.transfers:
        data = f"{t.buffer} + {t.offset}" if t.offset else t.buffer
        memory = (f", &{t.memory}" if t.memory else ", NULL") if memories else ""
        lines.append(f"\t\t{{{t.variable}, {t.box}, {data}{memory}}},")
    return "\n".join([*lines, "\t};"])


def _unit(spec: Spec, plans: list[Plan], views: list[dict[str, Any]]) -> dict[str, Any]:
    knows, first = LIBRARIES[spec.library], plans[0]
    headers = {*knows.headers, "stdio.h"}
    if shared.uses_memory(spec):
        headers |= {"stdlib.h", "string.h"} if spec.in_memory.packed else set()
    if spec.library in ("hdf5", "posix"):
        headers.add("string.h")
    if spec.compounds():
        headers.add("stddef.h")
    if spec.language == "c++":
        headers.add("utility")
    return shared.content(spec, plans, views) | {
        "points": views,
        "knows": knows,
        "own_header": f"{spec.name}_io{suffixes(spec)[1]}",
        "headers": sorted(headers),
        "variables": _variables(spec),
        "attributes": _attributes(spec),
        "most_transfers": max(len(view["transfers"]) for view in views),
        "walks": False,
        "format_flag": FORMATS[first.has("format")],
        "info": "info" if shared.hints(spec, first) else "MPI_INFO_NULL",
    }


def _attributes(spec: Spec) -> list[dict[str, Any]]:
    """With values as C writes them."""

    def text(one: str | ex.Expression, kind: str) -> str:
        if isinstance(one, str):
            return one
        member = f"job->{shared.member(spec, one)}"
        return f"static_cast<{kind}>({member})" if spec.language == "c++" else f"({kind}){member}"

    return [
        a | {"given": [text(one, CTYPES.get(a["type"], "")) for one in a["given"]]}
        for a in shared.attributes(spec)
    ]


def _variables(spec: Spec) -> list[dict[str, Any]]:
    order = list(spec.dimensions)
    knows = LIBRARIES[spec.library]
    return [
        {
            "path": shared.path(spec, v),
            "dims": [order.index(d.name) for d in v.dimensions],
            "size": f"sizeof(struct {v.type.name})"
            if isinstance(v.type, Compound)
            else v.type.size,
            "type": v.type.name,
            "fields": knows.types.get(v.type.name, knows.compound),
            "number": v.number,
            "checked_by": f"{'struct_' * isinstance(v.type, Compound)}{v.type.name}_wrong",
            "grows": v.dimensions[0].length is None,
        }
        for v in spec.variables.values()
    ]


def _check(spec: Spec, plans: list[Plan], points: list[PointText]) -> str:
    """A program that writes known values, reads them back by the specification and by other pieces."""
    point = read_all(spec)
    whole = plan(spec, point)
    own = _point(spec, whole, f"{spec.name}_read_pieces")
    given = [*shared.writes_first(zip(plans, points, strict=True)), (whole, own)]
    tries = [_try(spec, one, text) for one, text in given if shared.writes(spec) or one.reading]
    unit = _unit(spec, [whole], tries)
    unit["uses_dimensions"] = unit["walks"] = True
    unit["headers"] = sorted({*unit["headers"], "stdlib.h"})
    tries[-1]["own"] = _view(spec, own)
    unit |= {
        "points": [],
        "parts": shared.parts(spec, False),
        "tries": tries,
        "own": tries[-1]["own"],
        "types": shared.number_types(spec),
        "file": f"{spec.name}.{LIBRARIES[spec.library].suffix}",
        "sample": [
            ("int64_t", name, render.c(value, shared.sample))
            for name, value in spec.parameters.items()
        ]
        + [("double", name, value) for name, value in spec.reals.items()],
    }
    return _text("check.c.j2", spec, unit)


def _try(spec: Spec, one: Plan, entry: PointText) -> dict[str, Any]:
    text = point_text(one, entry.function, render.c, True, False)
    text.parameters = [n for n in spec.parameters if n in {*text.parameters, *entry.parameters}]
    view = _view(spec, text) | {"dimensions": _dimensions(spec)}
    given = ["comm", "path", *entry.parameters, *entry.reals, *(b.name for b in entry.buffers)]
    return view | {
        "call": f"{entry.function}({', '.join(given)})",
        "says": f"{'Reads' if one.reading else 'Writes'} by {entry.function}.",
        "parameters_typed": "".join(
            [f", int64_t {n}" for n in text.parameters] + [f", double {n}" for n in entry.reals]
        ),
        "parameters_given": "".join(f", {name}" for name in [*text.parameters, *entry.reals]),
    }


def bring_lines(spec: Spec) -> list[str]:
    """What makes the functions known in the program."""
    return [f'#include "{spec.name}_io{suffixes(spec)[1]}"']


def call_lines(spec: Spec, point: PointText) -> list[str]:
    """The call at the I/O point."""
    comm = spec.option("communicator", "MPI_COMM_WORLD")
    file = spec.option("file", f"{spec.name}.{LIBRARIES[spec.library].suffix}")
    path = file if file.isidentifier() else f'"{file}"'
    given = [comm, path, *point.parameters, *point.reals, *(b.name for b in point.buffers)]
    call = f"{point.function}({', '.join(given)})"
    if "status" in spec.options:
        lines = fold(f"{spec.option('status', '')} = {call};")
    else:
        lines = fold(f"if ({call} != 0)\n\tMPI_Abort({comm}, 1);")
    return lines.rstrip("\n").split("\n")
