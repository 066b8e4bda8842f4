"""Only where the option `lump` asks for it: variables that are alike become one of one more dimension.

Where they lie side by side in memory, as components of one array, the new dimension is the fastest, and what was an
access of each is one of all. Else it is the slowest, and each array is a slice.
"""

from collections.abc import Sequence
from dataclasses import replace

from fathom.codegen.generate import words
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.language.statements import Word
from fathom.codegen.generate.spec import (
    Access,
    Attribute,
    Box,
    Dimension,
    Lump,
    Memory,
    Point,
    Spec,
    Variable,
)


def restructure(spec: Spec) -> None:
    """Carries out what the options ask for. Errors: Mistake for variables that cannot become one."""
    if "lump" not in spec.options or spec.options["lump"].words == ("off",):
        return
    members = _members(spec)
    fastest = all(_side_by_side(point, members) for point in spec.points)
    whole = _whole(spec, members, fastest)
    now = _numbered(spec, members, whole)
    spec.points = [
        replace(point, accesses=tuple(_accesses(point, members, now, fastest)))
        for point in spec.points
    ]
    names = tuple(v.name for v in members)
    spec.variables = {v.name: v for v in now.values()}
    spec.dimensions |= {d.name: d for d in whole.dimensions}
    spec.attributes = [_attribute(attribute, names, now) for attribute in spec.attributes]
    listed = Attribute("variables", now[names[0]], None, (" ".join(names),), whole.place)
    spec.attributes.append(listed)
    spec.lump = Lump(now[names[0]], names, fastest)


def _members(spec: Spec) -> list[Variable]:
    """Those that are named, which must be alike."""
    option = spec.options["lump"]
    form = "write lump: NAME, VARIABLE, VARIABLE, …; or lump: off;"
    name, *named = option.words
    if len(named) < 2 or len(set(named)) < len(named):
        raise Mistake(option.place, f"'{name}' is made of two variables at least, each once", form)
    for one in named:
        if one not in spec.variables:
            raise Mistake(option.place, f"no variable is called '{one}'", form)
    first, *rest = members = [spec.variables[one] for one in named]
    for other in rest:
        if (other.type, other.dimensions) != (first.type, first.dimensions):
            raise Mistake(
                option.place,
                f"{first.name} and {other.name} have not the same type and dimensions",
                "name only variables that are alike",
            )
    if first.dimensions[0].length is None:
        raise Mistake(
            option.place,
            f"{first.name} grows, and what grows has its records first",
            "name only variables of a fixed size",
        )
    taken = {*spec.parameters, *spec.reals, *spec.dimensions, *spec.types, *spec.variables}
    if {name, _dimension_name(name)} & (taken - set(named)):
        raise Mistake(option.place, f"something else is called '{name}' too", "give another name")
    words.check(Word(_dimension_name(name), option.place), "dimension")
    return members


def _dimension_name(name: str) -> str:
    return f"{name}_parts"


def _whole(spec: Spec, members: list[Variable], fastest: bool) -> Variable:
    option, first = spec.options["lump"], members[0]
    name = option.words[0]
    length = ex.Number(option.place, len(members))
    own = Dimension(_dimension_name(name), length, option.place)
    dims = (*first.dimensions, own) if fastest else (own, *first.dimensions)
    folders = {v.path.rpartition("/")[0] for v in members}
    path = "/".join(filter(None, (*folders, name))) if len(folders) == 1 else name
    return Variable(name, path, first.type, dims, option.place, first.number)


def _numbered(spec: Spec, members: list[Variable], whole: Variable) -> dict[str, Variable]:
    """What each variable of before is now; the whole stands where the first of its members stood."""
    member_names = {v.name for v in members}
    first = next(name for name in spec.variables if name in member_names)
    left = [v for v in spec.variables.values() if v.name not in member_names or v.name == first]
    renumbered = {v.name: replace(v, number=n) for n, v in enumerate(left)}
    one = replace(whole, number=renumbered[first].number)
    return {name: one if name in member_names else renumbered[name] for name in spec.variables}


def _side_by_side(point: Point, members: list[Variable]) -> bool:
    """Whether accesses take all of them from one array, component by component."""
    known = {v.name: n for n, v in enumerate(members)}
    of_members = [a for a in point.accesses if a.variable.name in known]
    return len(of_members) % len(members) == 0 and all(
        known[access.variable.name] == n % len(members)
        and _is_part(access, of_members[n - n % len(members)], n % len(members))
        for n, access in enumerate(of_members)
    )


def _is_part(access: Access, first: Access, part: int) -> bool:
    """Whether an access moves what the first does, but for the component, so many behind the first's."""
    array_memory, first_memory = access.buffer.memory, first.buffer.memory
    if (
        array_memory is None
        or first_memory is None
        or len(array_memory.extents) != len(access.variable.dimensions) + 1
    ):
        return False
    at, begin = array_memory.start[-1], first_memory.start[-1]
    if not isinstance(at, ex.Number) or not isinstance(begin, ex.Number):
        return False
    return at.value == begin.value + part and _but_component(access) == _but_component(first)


def _but_component(access: Access) -> tuple[object, ...]:
    """What accesses to components of one array have in common, as text."""
    memory, elements = access.buffer.memory, access.buffer.elements
    assert memory is not None
    sides = [side for box in access.boxes for side in (box.start, box.count)]
    keys = [tuple(map(ex.key, side)) for side in (*sides, memory.extents, memory.start[:-1])]
    return access.buffer.name, access.process, elements and ex.key(elements), *keys


def _accesses(
    point: Point, members: list[Variable], now: dict[str, Variable], fastest: bool
) -> list[Access]:
    """Those of the members turned into some of the whole; others stay."""
    number = {v.name: n for n, v in enumerate(members)}
    widened = []
    for access in point.accesses:
        variable = now[access.variable.name]
        part = number.get(access.variable.name)
        if part is None:
            widened.append(replace(access, variable=variable))
        elif not fastest:
            widened.append(_widened(access, variable, part, 1, False))
        elif part == 0:
            widened.append(_widened(access, variable, 0, len(members), True))
    return widened


def _widened(access: Access, whole: Variable, start: int, count: int, last: bool) -> Access:
    """An access to the whole: one more start and count, at the end or before all others."""
    place = access.place

    def more(side: Sequence[ex.Expression], value: int) -> tuple[ex.Expression, ...]:
        own = ex.Number(place, value)
        return (*side, own) if last else (own, *side)

    boxes = tuple(Box(more(box.start, start), more(box.count, count)) for box in access.boxes)
    buffer, memory = access.buffer, access.buffer.memory
    if memory is not None and not last:
        buffer = replace(buffer, memory=Memory(more(memory.extents, 1), more(memory.start, 0)))
    return replace(access, variable=whole, boxes=boxes, buffer=buffer)


def _attribute(attribute: Attribute, names: tuple[str, ...], now: dict[str, Variable]) -> Attribute:
    """`MEMBER.units` of the whole was `units` of that member."""
    if attribute.variable is None:
        return attribute
    old = attribute.variable.name
    name = f"{old}.{attribute.name}" if old in names else attribute.name
    return replace(attribute, name=name, variable=now[old])
