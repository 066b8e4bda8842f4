"""What the header of a netCDF or HDF5 file says, in the words of hints."""

import math
import re
from dataclasses import dataclass, field
from typing import Any

from fathom.codegen.hints.sketch import Array, Sketch, name_of


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
