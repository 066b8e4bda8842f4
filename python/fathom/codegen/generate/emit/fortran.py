"""Fortran 2008: a module, and a program that checks it. Dimensions are turned round here, and nowhere else."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from fathom.codegen.generate.emit import render, shared
from fathom.codegen.generate.emit.context import BoxText, PointText, point_text, rank_of
from fathom.codegen.generate.emit.files import Files
from fathom.codegen.generate.emit.fortran_lines import fixed, fold
from fathom.codegen.generate.emit.libraries import LIBRARIES
from fathom.codegen.generate.emit.seal import sealed
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.language.fortran import interface_of
from fathom.codegen.generate.plan import Plan, plan
from fathom.codegen.generate.selfcheck import read_all
from fathom.codegen.generate.spec import SIZES, Spec
from fathom.errors import UsageError

TYPES = {
    "int8": "integer(int8)",
    "int16": "integer(int16)",
    "int32": "integer(int32)",
    "int64": "integer(int64)",
    "float32": "real(real32)",
    "float64": "real(real64)",
}
KINDS = {name: text.partition("(")[2].rstrip(")") for name, text in TYPES.items()}
#: Of members of a bind(c) type, by names that the compiler knows to be C's.
C_KINDS = {
    "int8": "c_int8_t",
    "int16": "c_int16_t",
    "int32": "c_int32_t",
    "int64": "c_int64_t",
    "float32": "c_float",
    "float64": "c_double",
}
CONVERT = {
    name: f"{'real' if name.startswith('float') else 'int'}(value, {kind})"
    for name, kind in KINDS.items()
}
NC = {
    "int8": "NF90_BYTE",
    "int16": "NF90_SHORT",
    "int32": "NF90_INT",
    "int64": "NF90_INT64",
    "float32": "NF90_FLOAT",
    "float64": "NF90_DOUBLE",
}
FORMATS = {
    "cdf5": "ior(NF90_CLOBBER, NF90_64BIT_DATA)",
    "cdf2": "ior(NF90_CLOBBER, NF90_64BIT_OFFSET)",
    "cdf1": "NF90_CLOBBER",
}
ZERO = "0_int64"


def generate(spec: Spec, plans: list[Plan], check: bool) -> Files:
    """The module, and the self-check where it is asked for."""
    if spec.library == "netcdf4":
        raise UsageError(
            "generate: netCDF-4 has no Fortran here: its Fortran library is not parallel; choose pnetcdf or hdf5"
        )
    points = [_point(spec, one, shared.function_name(spec, one.point)) for one in plans]
    views = [_view(spec, point) for point in points]
    content = _module(spec, plans, views) | {"module": f"{spec.name}_io", "walks": False}
    texts = {f"{spec.name}_io.f90": _text("module.f90.j2", spec, content)}
    if check:
        texts[f"{spec.name}_check.f90"] = _check(spec, plans, points)
    return Files(texts, points)


def bring_lines(spec: Spec) -> list[str]:
    """What makes the functions known in the program."""
    line = f"use {spec.name}_io"
    return fixed(line).rstrip("\n").split("\n") if spec.source.fixed else [line]


def interface(spec: Spec) -> str:
    """Of MPI, as the program uses it: `mpi_f08`, or `mpi`, in which a communicator is an integer."""
    return spec.option("mpi", "") or interface_of(spec.source)


def call_lines(spec: Spec, point: PointText) -> list[str]:
    """The call at the I/O point."""
    comm = spec.option("communicator", "MPI_COMM_WORLD")
    file = spec.option("file", f"{spec.name}.{LIBRARIES[spec.library].suffix}")
    path = f"trim({file})" if file.isidentifier() else f"'{file}'"
    sizes = [f"int({name}, {spec.name}_int)" for name in point.parameters]
    status = spec.option("status", "")
    sizes += [f"dble({name})" for name in point.reals]
    given = [comm, path, *sizes, *(b.name for b in point.buffers)]
    if status:
        lines = f"call {point.function}({', '.join([*given, status])})"
    else:
        name = f"{spec.name}_error"
        call = f"call {point.function}({', '.join([*given, name])})"
        abort = f"if ({name} /= 0) call MPI_Abort({comm}, 1, {name})"
        lines = f"block\n  integer :: {name}\n\n  {call}\n  {abort}\nend block"
    form = fixed if spec.source.fixed else fold
    return form(lines).rstrip("\n").split("\n")


def _point(spec: Spec, one: Plan, function: str) -> PointText:
    lengths = one.creates or spec.library in shared.RAW
    return point_text(one, function, render.fortran, lengths, shared.needs_attributes(spec, one))


def _text(template: str, spec: Spec, content: dict[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader("fathom.codegen.generate.emit"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.globals.update(
        library=spec.library,
        handles=interface(spec) == "mpi",
        ftype=TYPES,
        ckind=C_KINDS,
        sizes=SIZES,
        convert=CONVERT,
        name=spec.name,
    )
    text = environment.get_template(f"fortran/{template}").render(content)
    return sealed(fold(text.lstrip("\n")), "! ", "")


def _turned(spec: Spec, side: list[str]) -> list[str]:
    """Fastest dimension first, as many as anything has."""
    return [*reversed(side), *([ZERO] * (rank_of(spec) - len(side)))]


def _view(spec: Spec, p: PointText) -> dict[str, Any]:
    reading = p.plan.reading
    raw = p.plan.creates or spec.library in shared.RAW
    boxes = [
        BoxText(
            b.name,
            _turned(spec, b.start),
            _turned(spec, b.count),
            {n: (_turned(spec, s), _turned(spec, c)) for n, (s, c) in b.cases.items()},
        )
        for b in p.boxes
    ]
    memories = [
        {
            "name": m.name,
            "rank": len(m.start),
            "extents": _turned(spec, m.extents),
            "start": _turned(spec, m.start),
        }
        for m in p.memories
    ]
    integers = [x.name for x in p.locals]
    integers += ["rank"] * p.uses_rank + ["nprocs"] * p.uses_nprocs
    return {
        **vars(p),
        "boxes": boxes,
        "memories": memories,
        "requirements": [(wrong.replace("!=", "/="), what) for wrong, what in p.requirements],
        "buffers": [
            {
                "name": b.name,
                "declared": TYPES.get(b.type, f"type({b.type})"),
                "room": _room(b.rooms),
                "parts": shared.parts(spec, True)[b.type],
            }
            for b in p.buffers
        ],
        "arguments": [
            *("comm", "path", *p.parameters, *p.reals),
            *(b.name for b in p.buffers),
            "error",
        ],
        "job_members": shared.job_members(p),
        "integers": integers,
        "does": "Reads from the file at path." if reading else "Writes into the file at path.",
        "reading": reading,
        "does_by": shared.file_function(p.plan),
        "dimensions": _lengths(spec) if raw else [],
        "transfer_lines": "\n".join(_transfers(spec, p)),
    }


def _room(rooms: list[str]) -> str:
    most = list(dict.fromkeys(rooms))
    return most[0] if len(most) == 1 else f"max({', '.join(most)})"


def _lengths(spec: Spec) -> list[str]:
    return [ZERO if d.length is None else f"len_{d.name}" for d in spec.dimensions.values()]


def _transfers(spec: Spec, p: PointText) -> list[str]:
    """One assignment each; memory of rank 0 is contiguous."""
    empty = ", ".join([ZERO] * rank_of(spec))
    lines = []
    for number, t in enumerate(p.transfers, 1):
        data = f"c_loc({t.buffer}(1{' + ' + t.offset if t.offset else ''}))"
        memory = ""
        if shared.uses_memory(spec):
            memory = f", {t.memory}" if t.memory else f", memory_type(0, [{empty}], [{empty}])"
        transfer = f"transfer_type({t.variable + 1}, {t.box}, {data}{memory})"
        lines.append(f"    transfer({number}) = {transfer}")
    return lines


def _variables(spec: Spec) -> list[dict[str, Any]]:
    order = list(spec.dimensions)
    longest = max(len(shared.path(spec, v)) for v in spec.variables.values())
    rows: list[dict[str, Any]] = []
    for v in spec.variables.values():
        dims = [str(order.index(d.name) + 1) for d in reversed(v.dimensions)]
        padded = [*dims, *(["0"] * (rank_of(spec) - len(dims)))]
        rows.append(
            {
                "path": shared.path(spec, v).ljust(longest),
                "rank": len(dims),
                "dims": padded,
                "size": v.type.size,
                "kind": v.type.name[0],
            }
        )
    return rows


def _literal(spec: Spec, a: dict[str, Any]) -> str:
    """An attribute's values as Fortran writes them."""
    if a["text"]:
        return "'" + str(a["given"][0]).replace("'", "''") + "'"
    kind = KINDS[a["type"]]
    values = [_number(spec, value, a["type"], kind) for value in a["given"]]
    return f"[{', '.join(values)}]"


def _number(spec: Spec, value: str | ex.Expression, of_type: str, kind: str) -> str:
    if not isinstance(value, str):
        turned = "real" if of_type.startswith("float") else "int"
        return f"{turned}(job%{shared.member(spec, value)}, {kind})"
    if of_type.startswith("float"):
        return f"{float(value.lower().replace('d', 'e'))!r}_{kind}"
    return f"{int(value)}_{kind}"


def _module(spec: Spec, plans: list[Plan], views: list[dict[str, Any]]) -> dict[str, Any]:
    variables = _variables(spec)
    types = [
        t
        for t in shared.number_types(spec)
        if any(v.type.name == t for v in spec.variables.values())
    ]
    attributes = shared.attributes(spec)
    used = {"int64", "error_unit", *(KINDS[t] for t in shared.number_types(spec))}
    used |= {KINDS[a["type"]] for a in attributes if a["type"] and spec.library == "pnetcdf"}
    memories = shared.uses_memory(spec)
    used |= {KINDS[kind] for kind, _ in shared.members(spec, plans)}
    if memories and spec.in_memory.packed:
        used |= {"int8", *(f"int{8 * size}" for size in shared.memory_sizes(spec))}
    if spec.library in shared.RAW:
        used.add("int8")
    if spec.library == "hdf5":
        used |= set(KINDS.values())
    return shared.content(spec, plans, views) | {
        "points": views,
        "variables": variables,
        "longest": max(len(v["path"]) for v in variables),
        "types": types,
        "c_kinds": sorted(
            {C_KINDS[leaf.type.name] for it in spec.compounds() for leaf in it.leaves()}
        ),
        "nc_types": [NC.get(v.type.name, "") for v in spec.variables.values()],
        "attributes": [a | {"literal": _literal(spec, a)} for a in attributes],
        "kinds": sorted(used),
        "texts": any(a["text"] for a in attributes),
        "grows": [_logical(v.dimensions[0].length is None) for v in spec.variables.values()],
        "format_flag": FORMATS[plans[0].has("format")],
        "shared_names": [],
    }


def _logical(value: bool) -> str:
    return ".true." if value else ".false."


def _check(spec: Spec, plans: list[Plan], points: list[PointText]) -> str:
    """A module that reads all in other pieces, and a program that writes, reads and compares."""
    whole = plan(spec, read_all(spec))
    own = _point(spec, whole, f"{spec.name}_read_pieces")
    given = [*shared.writes_first(zip(plans, points, strict=True)), (whole, own)]
    tries = [_try(spec, one, text) for one, text in given if shared.writes(spec) or one.reading]
    module = _module(spec, [whole], [_view(spec, own)])
    sums = {x.sum for text in tries for x in text["locals"]}
    names = ["sum_before"] * ("before" in sums) + ["sum_of_all"] * ("total" in sums) + ["mpi"]
    return _text(
        "check.f90.j2",
        spec,
        module
        | {
            "module": f"{spec.name}_pieces",
            "walks": True,
            "tries": tries,
            "shared_names": names,
            "uses_before": "before" in sums,
            "uses_total": "total" in sums,
            "file": f"{spec.name}.{LIBRARIES[spec.library].suffix}",
            "sample": [
                (n, render.fortran(value, shared.sample)) for n, value in spec.parameters.items()
            ],
            "reals": [
                (n, _number(spec, value, "float64", "real64")) for n, value in spec.reals.items()
            ],
            "kinds": sorted({*module["kinds"], *(["real64"] if spec.reals else [])}),
        },
    )


def _try(spec: Spec, one: Plan, entry: PointText) -> dict[str, Any]:
    text = point_text(one, entry.function, render.fortran, True, False)
    text.parameters = [n for n in spec.parameters if n in {*text.parameters, *entry.parameters}]
    text.reals = entry.reals
    view = _view(spec, text) | {"dimensions": _lengths(spec), "job_members": []}
    given = ["comm", "path", *entry.parameters, *entry.reals]
    given += [*(b.name for b in entry.buffers), "error"]
    return view | {
        "call": f"{entry.function}({', '.join(given)})",
        "says": f"{'Reads' if one.reading else 'Writes'} by {entry.function}.",
        "parameters_given": "".join(f", {name}" for name in [*text.parameters, *text.reals]),
    }
