"""Hints before they are text: what a file holds and who moves what, with remarks on where it is known from."""

import re
from dataclasses import dataclass, field

from fathom.codegen.generate.words import LONGEST, TAKEN
from fathom.errors import printable


def name_of(text: str, known: set[str]) -> str:
    """A name of the language, like the text, that is not known yet; it is known now."""
    name = re.sub(r"\W", "_", text.strip("/").rpartition("/")[2], flags=re.ASCII) or "data"
    if not re.match(r"[A-Za-z]", name):
        name = f"n_{name.lstrip('_')}"
    name = name[: LONGEST - 4]
    taken = name.lower() in TAKEN or name.startswith(("MPI_", "len_"))
    base = f"{name}_" if taken else name
    name, number = base, 2
    while name.lower() in known:
        name, number = f"{base}_{number}", number + 1
    known.add(name.lower())
    return name


@dataclass(frozen=True)
class Array:
    """A variable: its name in the hints, its path in the file, dimensions by name, remarks."""

    name: str
    path: str
    type: str
    dimensions: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@dataclass
class Sketch:
    """A file of hints. `points`: statements by kind of I/O point; `left_out`: what could not be said, and why."""

    name: str
    library: str
    processes: int
    remarks: list[str]
    fill: bool = False
    parameters: dict[str, str] = field(default_factory=dict)
    dimensions: dict[str, str] = field(default_factory=dict)
    arrays: list[Array] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    points: dict[str, list[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The file."""
        remarks = [*self.remarks, *(f"Left out: {one}" for one in self.left_out)]
        lines = [f"// {printable(remark)}" for remark in remarks]
        options = [f"name: {self.name};", f"library: {self.library};"]
        options.append(f"processes: {self.processes};")
        lines += _block("options", [*options, *(["gaps: fill;"] if self.fill else [])])
        lines += _block("parameters", [f"{k}: {v};" for k, v in self.parameters.items()])
        lines += _block("dimensions", [f"{k}: {v};" for k, v in self.dimensions.items()])
        lines += _block("variables", [line for array in self.arrays for line in _variable(array)])
        lines += _block("attributes", self.attributes)
        for kind, statements in self.points.items():
            lines += _block(kind, statements)
        return "\n".join(lines) + "\n"


def _variable(array: Array) -> list[str]:
    path = "" if array.path == array.name else f' as "{array.path}"'
    dims = f"{len(array.dimensions)}, {', '.join(array.dimensions)}"
    return [
        *(f"// {printable(remark)}" for remark in array.remarks),
        f"{array.name}{path}: {array.type}, {dims};",
    ]


def _block(kind: str, lines: list[str]) -> list[str]:
    return ["", f"#begin_{kind}", *lines, f"#end_{kind}"] if lines else []
