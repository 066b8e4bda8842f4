"""What a specification says, typed: dimensions, variables, attributes, options, accesses at I/O points."""

from dataclasses import dataclass, field

from fathom.codegen.generate.language.expression import Expression, Name, Values
from fathom.codegen.generate.language.mistake import Place
from fathom.codegen.generate.language.source import Block, Source

LIBRARIES = ("pnetcdf", "hdf5", "mpiio", "netcdf4", "posix")
LANGUAGES = ("c", "c++", "fortran")


@dataclass(frozen=True)
class Type:
    """An element's type. `name` is ours; the emitters know it in each library and language."""

    name: str
    size: int

    @property
    def align(self) -> int:
        """As C aligns it: a number to its size."""
        return self.size

    @property
    def most(self) -> int:
        """The largest whole number; also the smallest, but for its sign."""
        return int(2 ** (8 * self.size - 1) - 1)


@dataclass(frozen=True)
class Member:
    """Of a compound: how many bytes it lies behind the beginning. `length`: of an array, 0 of none."""

    name: str
    type: Type
    offset: int
    length: int


@dataclass(frozen=True)
class Leaf:
    """A number in a compound: names of members, and places in those that are arrays."""

    path: tuple[str | int, ...]
    type: Type


@dataclass(frozen=True)
class Compound(Type):
    """A type made of named members, which lie as C lays out a struct."""

    members: tuple[Member, ...]
    place: Place

    @property
    def align(self) -> int:
        return max(m.type.align for m in self.members)

    def leaves(self) -> list[Leaf]:
        """All its numbers, in their order."""
        leaves = []
        for m in self.members:
            inner = m.type.leaves() if isinstance(m.type, Compound) else [Leaf((), m.type)]
            places: list[tuple[int, ...]] = [(n,) for n in range(m.length)]
            for place in places or [()]:
                leaves += [Leaf((m.name, *place, *one.path), one.type) for one in inner]
        return leaves


TYPES = {
    name: Type(name, size)
    for name, size in (
        ("int8", 1),
        ("int16", 2),
        ("int32", 4),
        ("int64", 8),
        ("float32", 4),
        ("float64", 8),
    )
}
#: Bytes, by name.
SIZES = {name: it.size for name, it in TYPES.items()}
#: Other spellings: C's, Fortran's, netCDF's.
ALIASES = {
    "byte": "int8",
    "short": "int16",
    "int": "int32",
    "integer": "int32",
    "float": "float32",
    "real": "float32",
    "double": "float64",
    "NC_BYTE": "int8",
    "NC_SHORT": "int16",
    "NC_INT": "int32",
    "NC_INT64": "int64",
    "NC_FLOAT": "float32",
    "NC_DOUBLE": "float64",
}


@dataclass(frozen=True)
class Dimension:
    """A length of None is unlimited."""

    name: str
    length: Expression | None
    place: Place


@dataclass(frozen=True)
class Variable:
    """`path` is its name in the file; dimensions slowest first."""

    name: str
    path: str
    type: Type
    dimensions: tuple[Dimension, ...]
    place: Place
    number: int


@dataclass(frozen=True)
class Attribute:
    """Of a variable, or of the file. `type` None: text. A value is a constant as it was written, or worked out when
    the program runs: whole numbers, or the name of a real parameter."""

    name: str
    variable: Variable | None
    type: Type | None
    values: tuple[str | Expression, ...]
    place: Place


@dataclass(frozen=True)
class Memory:
    """The larger array of which a buffer's part is moved: its extents, where the part begins. Dimensions behind
    the variable's hold components, of which one is moved."""

    extents: tuple[Expression, ...]
    start: tuple[Expression, ...]


@dataclass(frozen=True)
class Buffer:
    """A name of the program's; elements None: as many as are moved."""

    name: str
    elements: Expression | None
    memory: Memory | None
    place: Place


@dataclass(frozen=True)
class Box:
    start: tuple[Expression, ...]
    count: tuple[Expression, ...]


@dataclass(frozen=True)
class Access:
    """What one process, or each (None), moves of a variable: boxes, one behind another in the buffer."""

    place: Place
    variable: Variable
    process: int | None
    boxes: tuple[Box, ...]
    buffer: Buffer
    #: of the global form: as many processes must there be
    processes: Expression | None = None


@dataclass(frozen=True)
class Point:
    """An I/O point: all its accesses are one write or one read of the file."""

    kind: str  # write, read
    name: str
    accesses: tuple[Access, ...]
    block: Block

    def variables(self) -> list[Variable]:
        """Those it moves, each once, in order."""
        return list({access.variable.number: access.variable for access in self.accesses}.values())


@dataclass(frozen=True)
class InMemory:
    """What lies scattered in memory: packed into a copy, or described to the library; and why."""

    packed: bool
    reason: str


@dataclass(frozen=True)
class Lump:
    """Variables that were made one, in their order along its fastest dimension, or its slowest."""

    whole: Variable
    members: tuple[str, ...]
    fastest: bool


@dataclass(frozen=True)
class Option:
    """A value, or several, and where it was said."""

    words: tuple[str, ...]
    place: Place


@dataclass
class Spec:
    """A whole specification."""

    source: Source
    parameters: dict[str, Expression] = field(default_factory=dict)
    reals: dict[str, str] = field(default_factory=dict)  # parameters too, of attributes alone
    types: dict[str, Compound] = field(default_factory=dict)
    dimensions: dict[str, Dimension] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    attributes: list[Attribute] = field(default_factory=list)
    options: dict[str, Option] = field(default_factory=dict)
    layout: dict[str, Option] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    lump: Lump | None = None
    in_memory: InMemory = InMemory(True, "")

    def option(self, name: str, otherwise: str) -> str:
        """The first word of an option."""
        return self.options[name].words[0] if name in self.options else otherwise

    @property
    def name(self) -> str:
        return self.option("name", "checkpoint")

    @property
    def library(self) -> str:
        return self.option("library", "pnetcdf")

    @property
    def language(self) -> str:
        return self.option("language", self.source.language or "c")

    @property
    def processes(self) -> list[int]:
        """Numbers of ranks it is checked with."""
        words = self.options["processes"].words if "processes" in self.options else ("4",)
        return [int(word) for word in words]

    def compounds(self) -> list[Compound]:
        """Those that variables are of, and before them those that they are made of."""
        used = {v.type.name for v in self.variables.values()}
        for it in reversed(self.types.values()):
            used |= {m.type.name for m in it.members if it.name in used}
        return [it for name, it in self.types.items() if name in used]

    def named(self) -> dict[str, Expression]:
        """Parameters and lengths by name: what expressions may name."""
        lengths = {d.name: d.length for d in self.dimensions.values() if d.length is not None}
        return {**self.parameters, **lengths}

    def is_real(self, it: str | Expression) -> bool:
        """Whether an attribute's value is a real parameter."""
        return isinstance(it, Name) and it.name in self.reals

    def worked_out(self) -> list[Expression]:
        """Attributes' values that are whole numbers worked out when the program runs."""
        values = [value for a in self.attributes for value in a.values]
        return [v for v in values if isinstance(v, Expression) and not self.is_real(v)]

    def values(self, nprocs: int) -> Values:
        return Values(nprocs, self.named())
