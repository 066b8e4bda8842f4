"""Statements that make the calls of HDF5 again."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from fathom.analysis import Source
from fathom.analysis.distribution.shapes import Shape
from fathom.codegen.replay.calls import Call, Object
from fathom.codegen.replay.fold import Line
from fathom.codegen.replay.making import Cannot, LeftOut, Lines, Making
from fathom.codegen.replay.mpiio import Files
from fathom.codegen.replay.order import ASKS, CHANGES, Effect
from fathom.text.quoting import c_string

RDWR = 1
ACCESS = {0: "H5F_ACC_RDONLY", RDWR: "H5F_ACC_RDWR", 2: "H5F_ACC_TRUNC", 4: "H5F_ACC_EXCL"}
CLOSES = ("H5Fclose", "H5Dclose", "H5Gclose", "H5Aclose")
#: What only asks: no object is made or changed.
ASKING = re.compile(r"exists|get|iterate|visit|_is_|info", re.I)
NUMBER = re.compile(r"(u?)(int|float)(8|16|32|64) (LE|BE)|(u?int)8")


@dataclass
class Library:
    """What is known of HDF5's objects beyond one call: properties, selections; names by number, as C lists them."""

    files: Files
    objects: Mapping[int, Object]
    properties: Mapping[int, Mapping[str, str]]
    shapes: Mapping[int, Shape]
    labels: dict[str, int] = field(default_factory=dict)

    def label(self, name: str) -> int:
        """The number of a name inside a file."""
        return self.labels.setdefault(name, len(self.labels))

    def property(self, of: int | None, key: str) -> str:
        """In force; "": not known."""
        return self.properties.get(of or 0, {}).get(key, "")


def library(
    source: Source, files: Files, objects: Mapping[int, Object], known: Mapping[int, Shape]
) -> Library:
    """Of a run."""
    rows = source.sql(
        "select object, key, value from hints_in_force where source = 'in force' and object is not null"
        " and object in (select object from objects where starts_with(class, 'hdf5'))"
    ).to_pylist()
    in_force: dict[int, dict[str, str]] = {}
    for row in rows:
        in_force.setdefault(row["object"], {})[row["key"]] = row["value"]
    return Library(files, objects, in_force, known)


def type_of(text: str, size: int | None = None) -> str:
    """A type as C names it; `size`: of the same kind, but of so many bytes."""
    string = re.fullmatch(r"string (\d+)", text)
    if string:
        return f"string_of({string[1]})"
    number = re.fullmatch(r"(u?)(int|float)(\d+)( LE| BE|)", text)
    if not number:
        raise Cannot(f"elements of type '{text or 'not known'}'")
    sign, kind, bits, order = number.groups()
    bits = str(8 * size) if size else bits
    if bits not in (("32", "64") if kind == "float" else ("8", "16", "32", "64")):
        raise Cannot(f"elements of type '{text}' in {size} bytes of memory")
    letter = "U" if sign else "I"
    end = order.strip() or "LE"
    return f"H5T_IEEE_F{bits}{end}" if kind == "float" else f"H5T_STD_{letter}{bits}{end}"


@dataclass
class Maker:
    """Of one rank."""

    making: Making
    library: Library

    def lines(self, call: Call) -> Lines:
        """Of one call of layer hdf5."""
        if call.failed:
            raise Cannot("it failed")
        if call.op in CLOSES:
            return [Line(f"holds({call.op}(id[$0]));", (self.making.gave("id", call),))]
        maker = {
            "H5Fcreate": self._file, "H5Fopen": self._file, "H5Fflush": self._flush,
            "H5Gcreate2": self._group, "H5Gopen2": self._group,
            "H5Dcreate2": self._create, "H5Dopen2": self._open,
            "H5Dwrite": self._move, "H5Dread": self._move,
            "H5Acreate2": self._attribute, "H5Awrite": self._value, "H5Aread": self._value,
        }.get(call.op)  # fmt: skip
        if maker:
            return maker(call)
        if ASKING.search(call.op):
            raise LeftOut
        raise Cannot("no statement is known for it")

    def _file(self, call: Call) -> Lines:
        how = ACCESS.get(int(call.arguments["flags"]) & 7)
        if how is None or not call.path:
            raise Cannot("an open in a way that is not known")
        slot = self.making.take_slot("id", call)
        if call.op == "H5Fcreate":
            call_text = f"H5Fcreate(path($0), {how}, H5P_DEFAULT, {{access}})"
        else:
            call_text = f"H5Fopen(path($0), {how}, {{access}})"
        access, more = self._access(call)
        text = f"id[$1] = had({call_text.format(access=access)});"
        return [Line(text, (self.making.names[call.path], slot, *more))]

    def _access(self, call: Call) -> tuple[str, tuple[int, ...]]:
        """The access list."""
        known, of = self.library.property, call.object
        driver = known(of, "driver")
        aligned = re.match(r"(\d+) bytes, of objects of (\d+) and more", known(of, "alignment"))
        step, least = (int(aligned[1]), int(aligned[2])) if aligned else (1, 1)
        low = (
            "H5F_LIBVER_EARLIEST"
            if known(of, "libver_low") in ("", "earliest")
            else "H5F_LIBVER_LATEST"
        )
        meta = known(of, "meta_block").split(" ")[0] or "2048"
        rest = f"{least}, {step}, {meta}, {low}"
        if driver == "mpio":
            words, more = self.library.files.communicator(call)
            hints = self.library.files.hints_by_path.get(self.library.objects[of or 0].path)
            info = f"hints({c_string(hints)})" if hints else "MPI_INFO_NULL"
            collective = [
                int(known(of, key) == "true")
                for key in ("collective_metadata_read", "collective_metadata_write")
            ]
            return (
                f"parallel({words}, {info}, {collective[0]}, {collective[1]}, file_access({rest}))",
                more,
            )
        if driver in ("sec2", ""):
            return f"file_access({rest})", ()
        raise Cannot(f"files of the driver {driver}")

    def _flush(self, call: Call) -> Lines:
        return [
            Line("holds(H5Fflush(id[$0], H5F_SCOPE_GLOBAL));", (self.making.opened("id", call),))
        ]

    def _inside(self, call: Call) -> tuple[int, int]:
        """Where what it lies in is open, and the number of its name there."""
        one = self.library.objects[call.object or 0]
        parent = one.row["parent"]
        at = self.making.slot("id").of.get(parent)
        above = self.library.objects.get(parent)
        if at is None or above is None:
            raise Cannot("what it lies in is not known")
        name = one.path
        if above.row["class"] != "hdf5_file" and name.startswith(above.path.rstrip("/") + "/"):
            name = name[len(above.path.rstrip("/")) + 1 :]
        name = name.strip("/")
        if not name:
            raise Cannot("it has no name")
        return at, self.library.label(name)

    def _group(self, call: Call) -> Lines:
        more = ", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT" if "create" in call.op else ", H5P_DEFAULT"
        at, name = self._inside(call)
        text = f"id[$2] = had({call.op}(id[$0], label[$1]{more}));"
        return [Line(text, (at, name, self.making.take_slot("id", call)))]

    def _create(self, call: Call) -> Lines:
        known, of = self.library.property, call.object
        at, name = self._inside(call)
        extents = self._extents(call)
        places = ", ".join(f"${3 + d}" for d in range(len(extents)))
        dims = f"{len(extents)}, (const hsize_t[]){{{places}}}" if extents else "0, NULL"
        text = (
            f"id[$2] = had(create_dataset(id[$0], label[$1], {type_of(known(of, 'type'))}, {dims},"
            f" {self._layout(call)}));"
        )
        return [Line(text, (at, name, self.making.take_slot("id", call), *extents))]

    def _extents(self, call: Call) -> tuple[int, ...]:
        return tuple(self.library.objects[call.object or 0].row["extents"] or ())

    def _layout(self, call: Call) -> str:
        known, of = self.library.property, call.object
        layout, chunk = known(of, "layout"), known(of, "chunk")
        never = int(known(of, "fill_time") == "never")
        early = int(known(of, "alloc_time") == "early")
        if layout == "contiguous":
            return f"layout(0, NULL, 0, -1, {never}, {early})" if never or early else "H5P_DEFAULT"
        if layout != "chunked" or not chunk:
            raise Cannot(f"a dataset laid out as '{layout or 'not known'}'")
        filters = re.fullmatch(
            r"(shuffle(?:\(\d+\))?)? ?(?:deflate\((\d+)\))?", known(of, "filters")
        )
        if filters is None:
            raise Cannot(f"the filters {known(of, 'filters')}")
        sizes = chunk.split("x")
        if any(int(a) > b for a, b in zip(sizes, self._extents(call), strict=True)):
            raise Cannot("its chunks are larger than itself")
        return (
            f"layout({len(sizes)}, (const hsize_t[]){{{', '.join(sizes)}}}, {int(bool(filters[1]))},"
            f" {filters[2] or -1}, {never}, {early})"
        )

    def _open(self, call: Call) -> Lines:
        at, name = self._inside(call)
        text = "id[$2] = had(H5Dopen2(id[$0], label[$1], H5P_DEFAULT));"
        return [Line(text, (at, name, self.making.take_slot("id", call)))]

    def _move(self, call: Call) -> Lines:
        extents = self._extents(call)
        box = self._box(call, extents)
        room, mode = self.making.room(call), int(call.arguments.get("collective_io", 0))
        many = (
            prod(extents)
            if box is None
            else prod(c * b for c, b in zip(box[2], box[3], strict=True))
        )
        each = room // many if many else 0
        kind = type_of(self.library.property(call.object, "type"), each or None)
        numbers: list[int] = [self.making.opened("id", call)]
        if box is None:
            place = "-1, NULL" if extents or many == 1 else "0, NULL"
        elif not many:
            place = "0, NULL"
        else:
            flat = [number for part in box for number in part]
            places = ", ".join(f"${1 + at}" for at in range(len(flat)))
            place = f"{len(extents)}, (const hsize_t[]){{{places}}}"
            numbers += flat
        transfer = "H5FD_MPIO_COLLECTIVE" if mode == 1 else "H5FD_MPIO_INDEPENDENT"
        move = "write_part" if call.op == "H5Dwrite" else "read_part"
        return [Line(f"holds({move}(id[$0], {kind}, {transfer}, {place}));", tuple(numbers))]

    def _box(self, call: Call, extents: Sequence[int]) -> tuple[tuple[int, ...], ...] | None:
        """Start, stride, count and block of the hyperslab; None: everything."""
        start = int(call.arguments.get("start", 0))
        if call.selection is None:
            return None
        shape = self.library.shapes.get(call.selection)
        if shape is None or start < 0 or shape.boxes is None:
            raise Cannot("a selection that is too irregular to have been recorded")
        zero = (0,) * len(extents)
        if not shape.total:
            return zero, zero, zero, zero
        corner = np.unravel_index(start, extents)
        return _hyperslab(shape.boxes, tuple(int(one) for one in corner))

    def _attribute(self, call: Call) -> Lines:
        at, name = self._inside_of_attribute(call)
        extents = self._extents(call)
        places = ", ".join(f"${3 + d}" for d in range(len(extents)))
        dims = f"{len(extents)}, (const hsize_t[]){{{places}}}" if extents else "0, NULL"
        kind = type_of(self.library.property(call.object, "type"))
        text = f"id[$2] = had(create_attribute(id[$0], label[$1], {kind}, {dims}));"
        return [Line(text, (at, name, self.making.take_slot("id", call), *extents))]

    def _inside_of_attribute(self, call: Call) -> tuple[int, int]:
        """An attribute's name is behind the last slash of its path."""
        one = self.library.objects[call.object or 0]
        at = self.making.slot("id").of.get(one.row["parent"])
        if at is None:
            raise Cannot("what it belongs to is not known")
        return at, self.library.label(one.path.rpartition("/")[2])

    def _value(self, call: Call) -> Lines:
        many = prod(self._extents(call))
        each = self.making.room(call) // many if many else 0
        kind = type_of(self.library.property(call.object, "type"), each or None)
        data = "data(0)" if call.op == "H5Awrite" else "sink"
        return [
            Line(f"holds({call.op}(id[$0], {kind}, {data}));", (self.making.opened("id", call),))
        ]


def _hyperslab(boxes: np.ndarray, corner: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Boxes in a grid as one hyperslab; Cannot where they are in none."""
    starts, strides, counts, blocks = [], [], [], []
    for d, low in enumerate(corner):
        firsts = np.unique(boxes[:, d, 0])
        sizes = np.unique(boxes[:, d, 1] - boxes[:, d, 0])
        steps = np.unique(np.diff(firsts))
        if len(sizes) > 1 or len(steps) > 1:
            raise Cannot("a selection of several boxes that are in no grid")
        starts.append(low + int(firsts[0]))
        strides.append(int(steps[0]) if len(steps) else 1)
        counts.append(len(firsts))
        blocks.append(int(sizes[0]))
    if prod(counts) != len(boxes):
        raise Cannot("a selection of several boxes that are in no grid")
    strides = [max(s, b) if c == 1 else s for s, b, c in zip(strides, blocks, counts, strict=True)]
    return tuple(starts), tuple(strides), tuple(counts), tuple(blocks)


def effects(call: Call) -> list[Effect]:
    """What a call of layer hdf5 does to its file."""
    if call.failed or call.op not in ("H5Fcreate", "H5Fopen"):
        return []
    if call.op == "H5Fcreate":
        return [Effect(call.path, CHANGES, length=0, creates=True)]
    return [Effect(call.path, ASKS)]
