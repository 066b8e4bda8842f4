"""What the header of a netCDF or HDF5 file says, and hints for a file like it."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fathom.codegen.hints.sketch import Array, Sketch, name_of
from fathom.errors import RunError, needed

PROCESSES = 4  # that a file alone says nothing of


@dataclass(frozen=True)
class Dimension:
    """`key` tells dimensions apart; `grows`: the length is that of now."""

    key: str
    name: str
    length: int
    grows: bool = False


@dataclass(frozen=True)
class Variable:
    """`type`: a name of the hints; None: `what` is one that they have not."""

    path: str
    type: str | None
    what: str
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True)
class Attribute:
    """`variable`: the path of what it belongs to; None: the file. A text, or numbers of a type."""

    variable: str | None
    name: str
    type: str | None
    values: tuple[Any, ...]


@dataclass
class Header:
    """`kind`: netCDF, netCDF-4, HDF5."""

    kind: str
    variables: list[Variable] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)


def kind_of(path: Path) -> str:
    """classic, hdf5, or nothing: by the first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError:
        return ""
    if head[:3] == b"CDF" and head[3:4] in (b"\x01", b"\x02", b"\x05"):
        return "classic"
    return "hdf5" if head == b"\x89HDF\r\n\x1a\n" else ""


def read(path: Path) -> Header:
    """RunError for a file that is damaged, or neither of them."""
    kind = kind_of(path)
    if kind == "classic":
        from fathom.codegen.hints import classic

        return classic.read(path)
    if kind == "hdf5":
        with needed(f"reading {path}", "hdf5"):
            from fathom.codegen.hints import hdf5  # h5py takes a while to load

        return hdf5.read(path)
    raise RunError(f"{path}: no file of netCDF or HDF5")


class Maker:
    """Names of dimensions and variables as they are found, each once."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self._known: set[str] = set()
        self._arrays: set[str] = set()
        self._dimensions: dict[object, str] = {}

    def dimension(self, key: object, name: str, length: str) -> str:
        """The name of a dimension; the same for the same key."""
        if key not in self._dimensions:
            unique = name_of(name, self._known)
            self._dimensions[key] = unique
            self.sketch.dimensions[unique] = length
        return self._dimensions[key]

    def length(self, length: int) -> str:
        """A dimension that is known by its length alone."""
        return self.dimension(length, f"n{length}", str(length))

    def of_header(self, dimension: Dimension) -> str:
        return self.dimension(
            dimension.key, dimension.name, "unlimited" if dimension.grows else str(dimension.length)
        )

    def array(self, path: str, kind: str, dims: list[str], remarks: tuple[str, ...] = ()) -> Array:
        """A variable more."""
        new_array = Array(name_of(path, self._arrays), path.strip("/"), kind, tuple(dims), remarks)
        self.sketch.arrays.append(new_array)
        return new_array

    def attribute(self, of: str | None, attribute: Attribute) -> None:
        """Where the hints can say it; else it is among what was left out."""
        values = _values(attribute)
        if values and re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", attribute.name):
            line = f"{attribute.name}: {of or 'global'}, {attribute.type or 'text'}, {values};"
            self.sketch.attributes.append(line)
        else:
            self.sketch.left_out.append(
                f"attribute {attribute.name} of {attribute.variable or 'the file'}"
            )


def _values(attribute: Attribute) -> str:
    """As the hints have them; "": they cannot."""
    if attribute.type is None:
        text = str(attribute.values[0]) if attribute.values else ""
        plain = text.isascii() and text.isprintable() and not set(text) & {'"', "\\"}
        return f'"{text}"' if plain else ""
    if any(not math.isfinite(value) for value in attribute.values):
        return ""
    return ", ".join(str(value) for value in attribute.values)


def sketch(path: Path, library: str) -> Sketch:
    """Hints for a file with what this one has, in pieces as even as can be along one dimension."""
    header = read(path)
    remarks = [
        f"From the header of {path} ({header.kind}).",
        f"Cut over {PROCESSES} processes: change that below.",
    ]
    hints = Sketch(name_of(path.stem, set()), library, PROCESSES, remarks)
    maker, names = Maker(hints), {}
    for variable in header.variables:
        if variable.type is None or not variable.dimensions:
            hints.left_out.append(f"{variable.path}: {variable.what}")
            continue
        dims = [maker.of_header(dimension) for dimension in variable.dimensions]
        array = maker.array(variable.path, variable.type, dims)
        names[variable.path] = array.name
        access = _pieces(array.name, dims, variable.dimensions)
        for kind in ("write", "read"):
            hints.points.setdefault(kind, []).append(access)
    if not hints.arrays:
        raise RunError(
            f"{path}: holds no array that hints can describe; left out: {hints.left_out or 'nothing'}"
        )
    for attribute in header.attributes:
        if attribute.variable is None or attribute.variable in names:
            maker.attribute(names[attribute.variable] if attribute.variable else None, attribute)
    return hints


def _pieces(array: str, names: list[str], dims: tuple[Dimension, ...]) -> str:
    """The slowest dimension with room for all is cut; where none has, the longest."""
    able = [at for at, dim in enumerate(dims) if not dim.grows] or [0]
    long = max(able, key=lambda at: dims[at].length)
    cut = next((at for at in able if dims[at].length >= PROCESSES), long)
    parts = []
    for at, (name, one) in enumerate(zip(names, dims, strict=True)):
        length = str(one.length) if one.grows else name
        start = f"div({length} * rank, nprocs)"
        count = f"div({length} * (rank + 1), nprocs) - {start}"
        parts.append(f"{start}, {count}" if at == cut else f"0, {length}")
    return f"array: *, {array}, {', '.join(parts)}, {array};"
