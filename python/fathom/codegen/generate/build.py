"""Statements to a specification; every name is looked up, every number of things counted."""

import re
from collections.abc import Mapping
from dataclasses import replace

from fathom.codegen.generate import words
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.language import statements as st
from fathom.codegen.generate.language.mistake import Mistake, Place
from fathom.codegen.generate.language.parse import parse
from fathom.codegen.generate.language.source import Block, scan
from fathom.codegen.generate.options import check_option, meant
from fathom.codegen.generate.spec import (
    ALIASES,
    TYPES,
    Access,
    Attribute,
    Box,
    Buffer,
    Compound,
    Dimension,
    Member,
    Memory,
    Option,
    Point,
    Spec,
    Type,
    Variable,
)

#: In all of a compound.
MOST_NUMBERS = 256


def read(path: str, text: str) -> Spec:
    """The specification of a source; Mistake where it is none."""
    source = scan(path, text)
    spec = Spec(source)
    statements = [(block, parse(source, block)) for block in source.blocks]
    definitions = [
        statement for statement in statements if statement[0].kind not in ("write", "read")
    ]
    for block, lines in sorted(definitions, key=lambda definition: definition[0].kind != "types"):
        for line in lines:
            _define(spec, block, line)
    for block, lines in statements:
        if block.kind in ("write", "read"):
            spec.points.append(_point(spec, block, lines))
    _check_whole(spec)
    return spec


def _define(spec: Spec, block: Block, statement: st.Statement) -> None:
    """What is no access."""
    if isinstance(statement, st.Defined):
        _name(spec, block.kind, statement)
    elif isinstance(statement, st.RealLine):
        _once(statement.name, {**spec.parameters, **spec.reals, **spec.dimensions}, "parameter")
        words.check(statement.name, "parameter")
        spec.reals[statement.name.text] = statement.value.text
    elif isinstance(statement, st.CompoundLine):
        _compound(spec, statement)
    elif isinstance(statement, st.VariableLine):
        _variable(spec, statement)
    elif isinstance(statement, st.AttributeLine):
        _attribute(spec, statement)
    elif isinstance(statement, st.OptionLine):
        chosen = spec.options if block.kind == "options" else spec.layout
        _once(statement.name, chosen, "option")
        check_option(block.kind, statement)
        name = statement.name.text
        words_meant = tuple(meant(name, word.text) for word in statement.words)
        chosen[name] = Option(words_meant, statement.words[0].place)


def _once(name: st.Word, known: Mapping[str, object], what: str) -> None:
    if name.text in known:
        raise Mistake(name.place, f"the {what} '{name.text}' is said twice", "take one of them out")


def _name(spec: Spec, kind: str, definition: st.Defined) -> None:
    """A parameter or a dimension: both may stand in expressions, so they share their names."""
    what = kind.removesuffix("s")
    _once(definition.name, {**spec.parameters, **spec.reals, **spec.dimensions}, what)
    words.check(definition.name, what)
    if kind == "dimensions":
        spec.dimensions[definition.name.text] = Dimension(
            definition.name.text, definition.length, definition.name.place
        )
    elif definition.length is not None:
        spec.parameters[definition.name.text] = definition.length


def _type(spec: Spec, word: st.Word) -> Type:
    name = ALIASES.get(word.text, word.text)
    if name not in TYPES and name not in spec.types:
        raise Mistake(
            word.place,
            f"no type is called '{word.text}'",
            f"types are {', '.join(TYPES)}, {', '.join(list(ALIASES)[:7])}, and those that a block of"
            " types makes, each of what stands before it",
        )
    return spec.types.get(name) or TYPES[name]


def _number_type(spec: Spec, word: st.Word, what: str) -> Type:
    """A type that is no compound."""
    if word.text in spec.types:
        raise Mistake(
            word.place,
            f"'{word.text}' is a compound type, {what} cannot be one",
            f"write one of {', '.join(TYPES)}",
        )
    return _type(spec, word)


def _compound(spec: Spec, line: st.CompoundLine) -> None:
    """Members are aligned as C aligns them: each to its largest number, the whole to the largest of all."""
    name = line.name.text
    _once(line.name, spec.types, "type")
    words.check(line.name, "type")
    if name in TYPES or name in ALIASES:
        raise Mistake(line.name.place, f"'{name}' is a type of its own", "give it another name")
    members: dict[str, Member] = {}
    at = 0
    for member in line.members:
        _once(member.name, members, "member")
        words.check(member.name, "member")
        kind, length = _type(spec, member.type), _length(member)
        at += -at % kind.align
        members[member.name.text] = Member(member.name.text, kind, at, length)
        at += kind.size * max(length, 1)
    compound = Compound(name, at, tuple(members.values()), line.name.place)
    if len(compound.leaves()) > MOST_NUMBERS:
        raise Mistake(
            line.name.place,
            f"{name} has {len(compound.leaves())} numbers, more than {MOST_NUMBERS}",
            "make what is so long a dimension of a variable",
        )
    spec.types[name] = replace(compound, size=at + -at % compound.align)


def _length(member_part: st.MemberPart) -> int:
    """Of an array that is a member, else 0."""
    if member_part.length is None:
        return 0
    if not 1 <= int(member_part.length.text) <= MOST_NUMBERS:
        what = f"an array of {member_part.length.text} elements, not 1 to {MOST_NUMBERS}"
        raise Mistake(
            member_part.length.place, what, "make what is so long a dimension of a variable"
        )
    return int(member_part.length.text)


def _variable(spec: Spec, line: st.VariableLine) -> None:
    _once(line.name, spec.variables, "variable")
    kind, rank = _type(spec, line.type), int(line.rank.text)
    if rank != len(line.dimensions) or rank == 0:
        raise Mistake(
            line.rank.place,
            f"{line.name.text} is said to have {rank} dimensions, {len(line.dimensions)} are named",
            "name as many as the number says, at least one",
        )
    dims = []
    for at, word in enumerate(line.dimensions):
        if word.text not in spec.dimensions:
            raise Mistake(
                word.place,
                f"no dimension is called '{word.text}'",
                _there(spec.dimensions, "dimensions"),
            )
        dim = spec.dimensions[word.text]
        if at > 0 and dim.length is None:
            raise Mistake(
                word.place,
                f"the unlimited dimension {dim.name} is not the first of {line.name.text}",
                "put it first: only the slowest dimension can grow",
            )
        dims.append(dim)
    path = line.path.text if line.path else line.name.text
    if not path.strip("/") or any(path == v.path for v in spec.variables.values()):
        place = (line.path or line.name).place
        raise Mistake(place, f"'{path}' names no variable, or a second one", "give another path")
    spec.variables[line.name.text] = Variable(
        line.name.text, path, kind, tuple(dims), line.name.place, len(spec.variables)
    )


def _there(known: Mapping[str, object], what: str) -> str:
    names = ", ".join(known)
    return f"there are {names}" if names else f"write a block of {what} before it"


_WHOLE = re.compile(r"[+-]?[0-9]+")


def _attribute(spec: Spec, line: st.AttributeLine) -> None:
    variable = None
    if line.variable.text != "global":
        if line.variable.text not in spec.variables:
            raise Mistake(
                line.variable.place,
                f"no variable is called '{line.variable.text}'",
                f"write global, or a variable; {_there(spec.variables, 'variables')}",
            )
        variable = spec.variables[line.variable.text]
    if any(a.name == line.name.text and a.variable is variable for a in spec.attributes):
        raise Mistake(
            line.name.place, f"the attribute '{line.name.text}' is said twice", "drop one"
        )
    text = line.type.text in ("text", "char", "string", "NC_CHAR")
    kind = None if text else _number_type(spec, line.type, "an attribute")
    for value in line.values:
        _check_value(spec, value, kind)
    if text and len(line.values) != 1:
        raise Mistake(line.values[1].place, "a text has one value", "put it all into one")
    values = tuple(value.text if isinstance(value, st.Word) else value for value in line.values)
    spec.attributes.append(Attribute(line.name.text, variable, kind, values, line.name.place))


def _check_value(spec: Spec, word: st.Word | ex.Expression, kind: Type | None) -> None:
    """A number fits its type; a text is one; of an expression the checks over all ranks say the rest."""
    if isinstance(word, ex.Expression):
        _check_worked_out(spec, word, kind)
        return
    quoted = word.place.text[word.place.column - 1 : word.place.column] == '"'
    if kind is None or quoted:
        if kind is not None or not quoted:
            wants = 'a text in "…"' if kind is None else f"a number of type {kind.name}"
            raise Mistake(word.place, f"'{word.text}' is not {wants}", f"write {wants}")
        if "\\" in word.text or not word.text.isascii() or not word.text.isprintable():
            raise Mistake(word.place, "a text of other than plain letters", "write it in ASCII")
        return
    if kind.name.startswith("int"):
        limit = 2 ** (8 * kind.size - 1)
        if not _WHOLE.fullmatch(word.text) or not -limit < int(word.text) < limit:
            raise Mistake(
                word.place,
                f"'{word.text}' is no number of type {kind.name}",
                "write a whole number that fits, or change the type",
            )


def _check_worked_out(spec: Spec, expression: ex.Expression, kind: Type | None) -> None:
    if kind is None:
        raise Mistake(
            expression.place, f"{ex.key(expression)} is no text", "write a text in quotation marks"
        )
    reals = [part for part in ex.parts(expression) if spec.is_real(part)]
    if reals and (reals != [expression] or not kind.name.startswith("float")):
        raise Mistake(
            reals[0].place,
            f"{ex.key(reals[0])} is no whole number",
            "it can only be the whole value of an attribute of type float or double",
        )


def _point(spec: Spec, block: Block, statements: list[st.Statement]) -> Point:
    accesses = [_access(spec, it) for it in statements if isinstance(it, st.AccessLine)]
    if not accesses:
        place = spec.source.place(block.first, 1)
        raise Mistake(place, f"the block {block.kind} moves nothing", "write an access into it")
    return Point(block.kind, block.name, tuple(accesses), block)


def _access(spec: Spec, access_line: st.AccessLine) -> Access:
    if access_line.variable.text not in spec.variables:
        raise Mistake(
            access_line.variable.place,
            f"no variable is called '{access_line.variable.text}'",
            _there(spec.variables, "variables"),
        )
    variable = spec.variables[access_line.variable.text]
    buffer = _buffer(access_line, variable)
    process = None
    if access_line.process is not None:
        process = ex.Values(1, {}).of(access_line.process, 0)
    if access_line.form == "array":
        boxes: tuple[Box, ...] = (_turns(access_line, variable),)
    elif access_line.form == "list":
        boxes = _pairs(access_line, variable)
    else:
        return _global(access_line, variable, buffer)
    return Access(access_line.place, variable, process, boxes, buffer)


def _buffer(access_line: st.AccessLine, variable: Variable) -> Buffer:
    last = access_line.items[-1]
    if not isinstance(last.value, ex.Name):
        raise Mistake(
            last.value.place,
            f"{ex.key(last.value)} is no buffer",
            "end the statement with the name of the program's array",
        )
    for item in access_line.items[:-1]:
        if item.elements or item.memory:
            raise Mistake(
                item.value.place, "only the buffer, which is last, has a shape", "move it there"
            )
    words.check(st.Word(last.value.name, last.value.place), "buffer")
    memory = None
    if last.memory:
        memory = Memory(last.memory.extents, last.memory.start)
        rank = len(variable.dimensions)
        if len(memory.extents) != len(memory.start) or len(memory.extents) < rank:
            raise Mistake(
                last.value.place,
                f"{variable.name} has {rank} dimensions, its memory {len(memory.extents)} extents and"
                f" {len(memory.start)} starts",
                "give an extent and a start for each, and for components behind them",
            )
    return Buffer(last.value.name, last.elements, memory, last.value.place)


def _turns(access_line: st.AccessLine, variable: Variable) -> Box:
    """Starts and counts in turn, as the array form has them."""
    numbers = [item.value for item in access_line.items[:-1]]
    _count(access_line.place, variable, len(numbers), 2, "a start and a count")
    return Box(tuple(numbers[::2]), tuple(numbers[1::2]))


def _count(place: Place, variable: Variable, given: int, each: int, what: str) -> None:
    rank = len(variable.dimensions)
    if given != rank * each:
        raise Mistake(
            place,
            f"{variable.name} has {rank} dimensions: {rank * each} numbers are wanted, {given} given",
            f"give {what} for each of {', '.join(d.name for d in variable.dimensions)}",
        )


def _pairs(access_line: st.AccessLine, variable: Variable) -> tuple[Box, ...]:
    for one in access_line.tuples:
        _count(one[0].place, variable, len(one), 1, "a number")
    return tuple(
        Box(a, b) for a, b in zip(access_line.tuples[::2], access_line.tuples[1::2], strict=True)
    )


def _global(access_line: st.AccessLine, variable: Variable, buffer: Buffer) -> Access:
    """<processes, offsets, lengths, strides>: the grid's last dimension is the one that ranks run along first."""
    for one in access_line.tuples:
        _count(one[0].place, variable, len(one), 1, "a number")
    grid, offsets, lengths, strides = access_line.tuples
    place = access_line.place
    rank: ex.Expression = ex.Name(place, "rank")
    starts: list[ex.Expression] = []
    for at in reversed(range(len(grid))):
        inner = _product(grid[at + 1 :], place)
        index = rank if inner is None else ex.Call(place, "div", (rank, inner))
        if at > 0 and not _is(grid[at], 1):
            index = ex.Binary(place, "%", index, grid[at])
        if _is(grid[at], 1):
            starts.append(offsets[at])
            continue
        step = ex.Binary(place, "*", index, strides[at])
        starts.append(step if _is(offsets[at], 0) else ex.Binary(place, "+", offsets[at], step))
    boxes = (Box(tuple(reversed(starts)), lengths),)
    processes = _product(grid, place) or ex.Number(place, 1)
    return Access(place, variable, None, boxes, buffer, processes)


def _is(expression: ex.Expression, value: int) -> bool:
    return isinstance(expression, ex.Number) and expression.value == value


def _product(factors: tuple[ex.Expression, ...], place: Place) -> ex.Expression | None:
    """None where all are 1."""
    product: ex.Expression | None = None
    for factor in factors:
        if not _is(factor, 1):
            product = factor if product is None else ex.Binary(place, "*", product, factor)
    return product


def _check_whole(spec: Spec) -> None:
    """What only the whole can lack."""
    top = spec.source.place(0, 1)
    if not spec.source.blocks:
        raise Mistake(top, "no block of hints is in this file", "begin one: #begin_dimensions")
    if not spec.variables:
        raise Mistake(top, "no variable is described", "write a block of variables")
    if not spec.points:
        raise Mistake(top, "no I/O point is described", "write a block #begin_write or #begin_read")
    names: dict[tuple[str, str], Point] = {}
    types: dict[str, Access] = {}
    _check_cases(spec)
    _check_types(spec)
    for point in spec.points:
        if (point.kind, point.name) in names:
            raise Mistake(
                spec.source.place(point.block.first, 1),
                f"a second I/O point {point.kind} {point.name}".rstrip(),
                f"give it a name: #begin_{point.kind} NAME",
            )
        names[point.kind, point.name] = point
        for access in point.accesses:
            _check_buffer(spec, types, access)


def _buffers(spec: Spec) -> dict[str, Place]:
    return {a.buffer.name: a.buffer.place for p in spec.points for a in p.accesses}


def _check_cases(spec: Spec) -> None:
    """Fortran takes `N` for `n`."""
    seen: dict[str, str] = {}
    places = {name: it.place for name, it in spec.parameters.items()} | _buffers(spec)
    for name, place in places.items() if spec.language == "fortran" else ():
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise Mistake(place, f"{name} and {other} are one name in Fortran", "rename one")


def _check_types(spec: Spec) -> None:
    """A compound's name is its own, in the program and in a netCDF file, where types and variables share names; in
    Fortran letters have no case, those of members neither."""
    others = {*spec.parameters, *spec.reals, *spec.dimensions, *spec.variables, *_buffers(spec)}
    taken = {name.lower() for name in others}
    for it in spec.types.values():
        if it.name.lower() in taken:
            raise Mistake(
                it.place, f"something else is called '{it.name}' too", "give the type another name"
            )
        names = {m.name.lower() for m in it.members}
        if len(names) < len(it.members) and spec.language == "fortran":
            raise Mistake(
                it.place, f"two members of {it.name} are one name in Fortran", "rename one"
            )
        taken.add(it.name.lower())


def _check_buffer(spec: Spec, types: dict[str, Access], access: Access) -> None:
    """One buffer has one type, and no parameter's name."""
    name = access.buffer.name
    known = types.setdefault(name, access)
    if known.variable.type != access.variable.type:
        raise Mistake(
            access.buffer.place,
            f"{name} holds {known.variable.type.name} for {known.variable.name}, and"
            f" {access.variable.type.name} for {access.variable.name}",
            "use a buffer for each type, or make the variables' types equal",
        )
    if name in spec.parameters or name in spec.reals:
        raise Mistake(access.buffer.place, f"{name} is a parameter", "name the program's array")
