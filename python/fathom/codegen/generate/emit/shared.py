"""What the emitters of all languages work out alike."""

from collections.abc import Iterable
from typing import Any

from fathom.codegen.generate.emit.context import PointText
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.plan import Plan
from fathom.codegen.generate.spec import Compound, Leaf, Point, Spec, Variable

RAW = ("mpiio", "posix")  # files without a header: where a variable lies follows from all lengths


def function_name(spec: Spec, point: Point) -> str:
    """What the program calls."""
    return "_".join(filter(None, (spec.name, point.kind, point.name)))


def file_function(plan: Plan) -> str:
    """Which function of the library's template does a point."""
    if plan.reading:
        return "read_file"
    return "write_file" if plan.creates else "update_file"


def memory_sizes(spec: Spec) -> list[int]:
    """Bytes of the elements that are moved from, or into, a part of a larger array; largest first."""
    accesses = [a for point in spec.points for a in point.accesses if a.buffer.memory]
    return sorted({a.variable.type.size for a in accesses}, reverse=True)


def uses_memory(spec: Spec) -> bool:
    return bool(memory_sizes(spec))


def writes(spec: Spec) -> bool:
    return any(point.kind == "write" for point in spec.points)


def writes_first(
    given: Iterable[tuple[Plan, PointText]],
) -> list[tuple[Plan, PointText]]:
    """As the self-check takes I/O points: a program may read before it writes, a check cannot."""
    return sorted(given, key=lambda one: one[0].reading)


def sample(expression: ex.Expression) -> str:
    """Parameters among each other, in the self-check's main program."""
    assert isinstance(expression, ex.Name)
    return expression.name


def path(spec: Spec, variable: Variable) -> str:
    """Groups are HDF5's; elsewhere a path with them gives way to the name."""
    grouped = "/" in variable.path
    return variable.name if grouped and spec.library != "hdf5" else variable.path


def member(spec: Spec, expression: ex.Expression) -> str:
    """What the job keeps an attribute's value in that is not constant: a real parameter's name, or value_N."""
    if spec.is_real(expression):
        return ex.key(expression)
    return f"value_{next(n for n, one in enumerate(spec.worked_out(), 1) if one is expression)}"


def members(spec: Spec, plans: list[Plan]) -> list[tuple[str, str]]:
    """All of these, with their types."""
    if not any(needs_attributes(spec, plan) for plan in plans):
        return []
    values = [value for a in spec.attributes for value in a.values if not isinstance(value, str)]
    types = {member(spec, it): "float64" if spec.is_real(it) else "int64" for it in values}
    return [(kind, name) for name, kind in types.items()]


def job_members(p: PointText) -> list[tuple[str, str]]:
    """Members of the job that a point's function sets, and to what."""
    worked = [(f"value_{n}", text) for n, text in enumerate(p.worked_out, 1)]
    return worked + [(name, name) for name in p.reals]


def needs_attributes(spec: Spec, plan: Plan) -> bool:
    """Whether a point puts attributes."""
    return plan.creates and spec.library not in RAW


def number_types(spec: Spec) -> list[str]:
    """Of variables, and of the members of those that are compounds."""
    kinds: dict[str, None] = {}
    for v in spec.variables.values():
        numbers = v.type.leaves() if isinstance(v.type, Compound) else []
        kinds.update(dict.fromkeys([number.type.name for number in numbers] or [v.type.name]))
    return list(kinds)


def compounds(spec: Spec, fortran: bool) -> list[dict[str, Any]]:
    """With all that they are made of, and the numbers of the variables that are of each."""
    return [
        {
            "name": it.name,
            "members": [{**vars(m), "nested": isinstance(m.type, Compound)} for m in it.members],
            "numbers": [
                {"place": placed(leaf, fortran), "type": leaf.type} for leaf in it.leaves()
            ],
            "variables": [v.number for v in spec.variables.values() if v.type is it],
        }
        for it in spec.compounds()
    ]


def placed(leaf: Leaf, fortran: bool) -> str:
    """A number of an element as the language names it, behind the element."""
    text = ""
    for one in leaf.path:
        if isinstance(one, str):
            text += f"{'%' if fortran else '.'}{one}"
        else:
            text += f"({one + 1})" if fortran else f"[{one}]"
    return text


def parts(spec: Spec, fortran: bool) -> dict[str, list[str]]:
    """What an element of each type is made of, as the language names it: itself, or its members."""
    return {
        v.type.name: [placed(leaf, fortran) for leaf in v.type.leaves()]
        if isinstance(v.type, Compound)
        else [""]
        for v in spec.variables.values()
    }


def attributes(spec: Spec) -> list[dict[str, Any]]:
    return [
        {
            "name": a.name,
            "number": number,
            "variable": -1 if a.variable is None else a.variable.number,
            "type": a.type.name if a.type else "",
            "text": a.type is None,
            "given": a.values,
            "fixed": all(isinstance(value, str) for value in a.values),
            "n": len(a.values) if a.type else len(str(a.values[0])),
        }
        for number, a in enumerate(spec.attributes)
    ]


def hints(spec: Spec, plan: Plan) -> dict[str, str]:
    """Of rules 1, 3, 6 and 14."""
    hints_of_rules = {}
    if spec.library == "pnetcdf" and plan.creates:
        hints_of_rules["nc_var_align_size"] = "1"
    if plan.has("two_phase") != "auto":
        for direction in ("read", "write"):
            value = "enable" if plan.has("two_phase") == "force" else "disable"
            hints_of_rules[f"romio_cb_{direction}"] = value
    if plan.has("sieving") == "off":
        hints_of_rules.update(romio_ds_write="disable", romio_ds_read="disable")
    for name, option in spec.layout.items():
        if name != "alignment":
            hints_of_rules[name] = option.words[0]
    return {} if spec.library == "posix" else hints_of_rules


def content(spec: Spec, plans: list[Plan], views: list[dict[str, Any]]) -> dict[str, Any]:
    """What the template of a unit or module asks, whatever the language."""
    first = plans[0]
    sums = {x.sum for view in views for x in view["locals"]}
    alignment = spec.layout["alignment"].words[0] if "alignment" in spec.layout else ""
    return {
        "dimensions": list(spec.dimensions.values()),
        "rank": _rank(spec),
        "compounds": compounds(spec, spec.language == "fortran"),
        "memories": uses_memory(spec),
        "packs": uses_memory(spec) and spec.in_memory.packed,
        "described": uses_memory(spec) and not spec.in_memory.packed,
        "memory_sizes": memory_sizes(spec),
        "creates": any(plan.creates for plan in plans),
        "writes": any(not plan.reading for plan in plans),
        "reads": any(plan.reading for plan in plans),
        "updates": any(not plan.reading and not plan.creates for plan in plans),
        "uses_dimensions": any(view["dimensions"] for view in views),
        "uses_before": "before" in sums,
        "uses_total": "total" in sums,
        "nonblocking": first.has("posting") == "nonblocking",
        "collective": first.has("calls") == "collective",
        "metadata": first.has("metadata") == "collective",
        "records": any(d.length is None for d in spec.dimensions.values()),
        "fill": first.has("gaps") == "fill",
        "alignment": alignment,
        "hints": hints(spec, first),
        "members": members(spec, plans),
    }


def _rank(spec: Spec) -> int:
    """Most dimensions that a variable or a memory has."""
    most = [len(v.dimensions) for v in spec.variables.values()]
    accesses = [a for p in spec.points for a in p.accesses]
    return max([*most, *(len(a.buffer.memory.extents) for a in accesses if a.buffer.memory)])
