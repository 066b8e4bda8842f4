"""What the templates see: names, tables and texts in the language, nothing left to decide."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fathom.codegen.generate.emit import render
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.plan import Plan, Transfer
from fathom.codegen.generate.spec import Box, Spec

Write = Callable[[ex.Expression, render.Local], str]


@dataclass(frozen=True)
class BoxText:
    """A box as text; of single processes: `cases` by process, else `start` and `count`."""

    name: str
    start: list[str]
    count: list[str]
    cases: dict[int, tuple[list[str], list[str]]]


@dataclass(frozen=True)
class MemoryText:
    name: str
    extents: list[str]
    start: list[str]


@dataclass(frozen=True)
class TransferText:
    """`offset`: elements of the buffer before its part, "" for none."""

    variable: int
    box: str
    buffer: str
    offset: str
    memory: str


@dataclass(frozen=True)
class LocalText:
    """A name and its value; `sum` is before or total where the value is a sum over ranks of `value`."""

    name: str
    value: str
    sum: str = ""


@dataclass(frozen=True)
class BufferText:
    name: str
    type: str  # ours: float64 …
    rooms: list[str]  # elements each of its transfers needs


@dataclass
class PointText:
    """A function: its arguments, its locals, its boxes, its transfers."""

    function: str
    plan: Plan
    parameters: list[str]
    buffers: list[BufferText]
    locals: list[LocalText] = field(default_factory=list)
    requirements: list[tuple[str, str]] = field(default_factory=list)
    boxes: list[BoxText] = field(default_factory=list)
    memories: list[MemoryText] = field(default_factory=list)
    transfers: list[TransferText] = field(default_factory=list)
    reals: list[str] = field(default_factory=list)  # parameters that are no whole numbers
    worked_out: list[str] = field(default_factory=list)  # values of attributes
    uses_rank: bool = False
    has_cases: bool = False
    uses_nprocs: bool = False


class _Names:
    """Locals a function needs, each once, what they stand on before them."""

    def __init__(self, spec: Spec, write: Write) -> None:
        self.spec, self.write = spec, write
        self.parameters: dict[str, None] = {}
        self.locals: dict[str, LocalText] = {}
        self.divisors: dict[str, tuple[str, str]] = {}
        self.divisions: dict[str, tuple[str, str]] = {}
        self.seen: set[str] = set()

    def text(self, expression: ex.Expression) -> str:
        """The expression in the language; what it needs is noted."""
        self._note_divisions(expression)
        return self.write(expression, self._local)

    def _note_divisions(self, expression: ex.Expression) -> None:
        named = self.spec.named()
        for part in ex.parts(expression):
            if isinstance(part, ex.Name):
                self.seen.add(part.name)
            self._note_divisor(part)
            exact = isinstance(part, ex.Binary) and part.operator == "/"
            if exact and isinstance(part, ex.Binary) and not ex.depends_on_rank(part.left, named):
                rest = ex.Binary(part.place, "%", part.left, part.right)
                text = self.write(rest, self._local)
                self.divisions[text] = (text, ex.key(part))

    def _note_divisor(self, part: ex.Expression) -> None:
        """What the program gives at run time may be 0."""
        right: ex.Expression | None = None
        if isinstance(part, ex.Binary) and part.operator in "/%":
            right = part.right
        elif isinstance(part, ex.Call) and part.function == "div":
            right = part.arguments[1]
        if right is None or isinstance(right, ex.Number) or ex.key(right) == "nprocs":
            return
        text = f"{self.write(right, self._local)} < 1"
        self.divisors[text] = (text, f"{ex.key(right)} is less than 1")

    def _local(self, expression: ex.Expression) -> str:
        if isinstance(expression, ex.Call):
            return self._sum(expression)
        assert isinstance(expression, ex.Name)
        self.seen.add(expression.name)
        if expression.name in self.spec.dimensions:
            name, length = f"len_{expression.name}", self.spec.dimensions[expression.name].length
            if name not in self.locals and length is not None:
                self.locals[name] = LocalText(name, self.text(length))
            return name
        if expression.name in self.spec.parameters:
            self.parameters[expression.name] = None
        return expression.name

    def _sum(self, call: ex.Call) -> str:
        inner = self.text(call.arguments[0])
        for known in self.locals.values():
            if known.sum == call.function and known.value == inner:
                return known.name
        own = call.arguments[0].name if isinstance(call.arguments[0], ex.Name) else "sum"
        name = f"{own}_{call.function}"
        while name in self.locals:
            name += "_"
        self.locals[name] = LocalText(name, inner, call.function)
        return name


def point_text(
    plan: Plan, function: str, write: Write, all_dimensions: bool, attributes: bool
) -> PointText:
    """The function of a point; `all_dimensions`: lengths of all are needed (a file is made or laid out); `attributes`:
    so are their values."""
    spec = plan.spec
    names = _Names(spec, write)
    text = PointText(function, plan, [], [])
    if all_dimensions:
        for dim in spec.dimensions.values():
            if dim.length is not None:
                names.text(ex.Name(dim.place, dim.name))
    _boxes(text, plan.transfers, names)
    if attributes:
        _attributes(text, names)
    text.requirements += names.divisors.values()
    grids = {ex.key(a.processes): a.processes for a in plan.point.accesses if a.processes}
    for name, grid in grids.items():
        if name != "nprocs":
            wrong = f"{names.text(grid)} != {names.text(ex.Name(grid.place, 'nprocs'))}"
            text.requirements.append((wrong, f"{name} is not the number of processes"))
    text.requirements += [
        (f"{rest} != 0", f"{what} leaves a remainder") for rest, what in names.divisions.values()
    ]
    text.parameters = [name for name in spec.parameters if name in names.parameters]
    text.locals = list(names.locals.values())
    text.uses_rank = "rank" in names.seen
    text.has_cases = any(box.cases for box in text.boxes)
    text.uses_nprocs = "nprocs" in names.seen
    return text


def _attributes(text: PointText, names: _Names) -> None:
    """Values that are worked out, in order; those that do not fit are found when the program runs."""
    spec = names.spec
    for attribute in spec.attributes:
        for one in attribute.values:
            if isinstance(one, str):
                continue
            if spec.is_real(one):
                text.reals += [ex.key(one)] * (ex.key(one) not in text.reals)
                continue
            value = names.text(one)
            text.worked_out.append(value)
            kind = attribute.type
            if kind and kind.name.startswith("int") and kind.size < 8:
                wrong = f"{value} > {kind.most}"
                what = f"{ex.key(one)} is too large for the attribute {attribute.name}"
                text.requirements.append((wrong, what))


def _boxes(text: PointText, transfers: list[Transfer], names: _Names) -> None:
    boxes: dict[object, str] = {}
    memories: dict[object, str] = {}
    rooms: dict[str, BufferText] = {}
    for transfer in transfers:
        box = _box(text, transfer, names, boxes)
        memory = _memory(text, transfer, names, memories)
        offset = " + ".join(_elements(one, names) for one in transfer.earlier)
        name = transfer.buffer.name
        room = rooms.setdefault(name, BufferText(name, transfer.variable.type.name, []))
        room.rooms.extend(_rooms(transfer, names, offset))
        text.transfers.append(TransferText(transfer.variable.number, box, name, offset, memory))
    text.buffers = list(rooms.values())


def _elements(box: Box, names: _Names) -> str:
    place = box.count[0].place
    product = box.count[0]
    for one in box.count[1:]:
        product = ex.Binary(place, "*", product, one)
    return names.text(product)


def _rooms(transfer: Transfer, names: _Names, offset: str) -> Iterable[str]:
    """Elements the buffer must have."""
    if transfer.buffer.elements is not None:
        return [names.text(transfer.buffer.elements)]
    memory = transfer.buffer.memory
    if memory is not None:
        return [_elements(Box((), memory.extents), names)]
    most = [_elements(box, names) for box in transfer.boxes.values()]
    return [f"{offset} + {one}" if offset else one for one in most]


def _box(text: PointText, transfer: Transfer, names: _Names, known: dict[object, str]) -> str:
    sides = {
        process: ([names.text(e) for e in box.start], [names.text(e) for e in box.count])
        for process, box in transfer.boxes.items()
    }
    key = str(sides)
    if key not in known:
        known[key] = f"box_{len(known)}"
        start, count = sides.get(None, ([], []))
        cases = {process: side for process, side in sides.items() if process is not None}
        text.boxes.append(BoxText(known[key], start, count, cases))
    return known[key]


def _memory(text: PointText, transfer: Transfer, names: _Names, known: dict[object, str]) -> str:
    memory = transfer.buffer.memory
    if memory is None:
        return ""
    extents, start = ([names.text(e) for e in side] for side in (memory.extents, memory.start))
    key = str((extents, start))
    if key not in known:
        known[key] = f"memory_{len(known)}"
        text.memories.append(MemoryText(known[key], extents, start))
    return known[key]


def rank_of(spec: Spec) -> int:
    """Most dimensions that a variable or a memory has."""
    most = max(len(v.dimensions) for v in spec.variables.values())
    memories = [
        len(a.buffer.memory.extents) for p in spec.points for a in p.accesses if a.buffer.memory
    ]
    return max([most, *memories])
