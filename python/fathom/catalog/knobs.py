"""Reads catalog/knobs: what can be set, by which route, within which limits."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .model import CatalogError
from .row import NAME, Row, one_of

#: How a value gets to the library.
ROUTES: Mapping[str, str] = {
    "property-list": "HDF5 property list",
    "mpi-info": "MPI_Info",
    "environment": "environment",
    "mca": "MCA parameter",
    "layout": "layout",
    "option": "forwarding servers",
}
#: HDF5's lists, by the calls that take them.
LISTS = ("file-create", "file-access", "dataset-create", "dataset-access", "transfer")
SAFETY: Mapping[str, str] = {
    "free": "changes speed only",
    "changes-file": "the file looks different inside",
    "all-ranks": "wrong or hanging unless all ranks make the same calls",
}
TYPES = ("bytes", "int", "choice", "text")
#: C types of HDF5's setters -> printf-like class of the value.
C_TYPES = ("int", "unsigned", "size_t", "hsize_t", "hbool_t", "double", "dims")
#: What `fathom list knobs --prove` looks at.
SHOWN: Mapping[str, str] = {
    "writes": "number of writes below MPI-IO",
    "reads": "number of reads below MPI-IO",
    "largest": "largest write",
    "largest-read": "largest read",
    "writers": "ranks that write",
    "offset": "where data lies in the file",
    "collective": "collective calls of MPI-IO",
    "locks": "locks taken",
    "operations": "calls below MPI-IO",
    "opens": "ranks that open the file",
    "files": "files made",
    "servers": "forwarding servers that have data",
}
LAYER_KEYS: Mapping[str, type] = {
    "layer": str, "title": str, "stacks": list, "route": str, "source": str, "tried": bool, "left_out": dict,
}  # fmt: skip
KNOB_KEYS: Mapping[str, type] = {
    "name": str, "means": str, "route": str, "list": str, "set": str, "values": list, "type": str,
    "least": int, "most": int, "choices": list, "default": str, "search": str, "when": str, "safety": str,
    "warns": str, "since": str, "parallel": bool, "serial": bool, "attribute": str, "with": dict,
    "prove": dict, "dead": dict, "later": dict, "inverted": str, "source": str, "tried": bool,
}  # fmt: skip
VALUE_KEYS: Mapping[str, type] = {
    "name": str, "c": str, "bytes": bool, "least": int, "most": int, "words": dict,
}  # fmt: skip
PROVE_KEYS: Mapping[str, type] = {"with": list, "shows": str, "mode": str}
MODES = ("collective", "independent", "serial")


@dataclass(frozen=True)
class Value:
    """One value that a knob takes."""

    name: str
    kind: str  # bytes, int, number, bool, choice, text
    least: float | None = None
    most: float | None = None
    words: tuple[str, ...] = ()  # of a choice
    numbers: tuple[int, ...] = ()  # what the library calls them; empty: as they are
    c: str = ""  # its type in HDF5's setter
    many: bool = False  # any number of them


@dataclass(frozen=True)
class Proof:
    """Two settings of a knob, and what a recorded run of each must show differently."""

    settings: tuple[tuple[str, ...], tuple[str, ...]]
    shows: str
    mode: str  # what its program does


@dataclass(frozen=True)
class Knob:
    """One row."""

    layer: Layer
    name: str
    means: str
    route: str
    values: tuple[Value, ...]
    default: str
    safety: str
    search: str
    when: str
    warns: str
    since: str
    source: str
    tried: bool
    list: str  # HDF5: which property list
    set: str  # HDF5: the library's function
    parallel: bool  # HDF5: only of files that are opened by MPI-IO
    serial: bool  # HDF5: only of others
    attribute: str  # a layout's extended attribute
    beside: Mapping[str, str]  # settings without which it does nothing
    proof: Proof | None
    dead: Mapping[str, str]  # stack -> why it does nothing there
    later: Mapping[str, str]  # stack -> calls by which a file that is open takes it
    inverted: str

    @property
    def key(self) -> str:
        """layer.name: unique."""
        return f"{self.layer.name}.{self.name}"


@dataclass(frozen=True)
class Layer:
    """One file: the knobs of a library or a file system."""

    path: Path
    name: str
    title: str
    stacks: tuple[str, ...]
    source: str
    left_out: Mapping[str, str]


def load_knobs(paths: Iterable[Path]) -> tuple[Knob, ...]:
    """All rows of these files; raises CatalogError at the first mistake."""
    return tuple(knob for path in sorted(paths) for knob in _load(path))


def _load(path: Path) -> list[Knob]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogError(path, "", "file", f"is not TOML: {error}") from error
    for key in data:
        if key not in ("layer", "knob"):
            raise CatalogError(path, "", key, "is neither [layer] nor [[knob]]")
    head = Row(path, "[layer]", data.get("layer", {}), LAYER_KEYS)
    layer = Layer(
        path, head.text("layer"), head.text("title"), head.words("stacks"), head.text("source"),
        head.pairs("left_out"),
    )  # fmt: skip
    knobs: dict[str, Knob] = {}
    for number, table in enumerate(data.get("knob", []), 1):
        row = Row(path, str(table.get("name", f"knob {number}")), table, KNOB_KEYS)
        if row.name in knobs:
            raise row.error("name", "is there twice in this file")
        knobs[row.name] = _knob(layer, head, row)
    for knob in knobs.values():
        for name in knob.beside:
            if name not in knobs:
                raise CatalogError(path, knob.name, "with", f"'{name}' is no knob of this file")
    return list(knobs.values())


def _knob(layer: Layer, head: Row, row: Row) -> Knob:
    route = one_of(row, "route", row.text("route", head.text("route")), ROUTES)
    if not NAME.fullmatch(row.text("name")):
        raise row.error("name", "must be a C name")
    hdf5 = route == "property-list"
    for key in ("list", "set", "values"):
        if (key in row.data) != hdf5:
            raise row.error(key, "goes with the route property-list, and only with it")
    dead = row.pairs("dead")
    for stack in dead:
        one_of(row, "dead", stack, layer.stacks)
    for stack in row.pairs("later"):
        one_of(row, "later", stack, layer.stacks)
    if route == "layout" and layer.stacks and "attribute" not in row.data:
        raise row.error("attribute", "is missing: which extended attribute is it?")
    values = _c_values(row) if hdf5 else (_value(row),)
    return Knob(
        layer=layer,
        name=row.text("name"),
        means=row.text("means"),
        route=route,
        values=values,
        default=row.text("default"),
        safety=one_of(row, "safety", row.text("safety"), SAFETY),
        search=row.text("search", ""),
        when=row.text("when", ""),
        warns=row.text("warns", ""),
        since=row.text("since", ""),
        source=row.text("source", layer.source),
        tried=bool(row.data.get("tried", head.data.get("tried", True))),
        list=one_of(row, "list", row.text("list"), LISTS) if hdf5 else "",
        set=row.text("set", ""),
        parallel=row.flag("parallel"),
        serial=row.flag("serial"),
        attribute=row.text("attribute", ""),
        beside=row.pairs("with"),
        proof=_proof(row),
        dead=dead,
        later=row.pairs("later"),
        inverted=row.text("inverted", ""),
    )


def _value(row: Row) -> Value:
    kind = one_of(row, "type", row.text("type"), TYPES)
    words = row.words("choices")
    if bool(words) != (kind == "choice"):
        raise row.error("choices", "goes with type choice, and only with it")
    if kind in ("bytes", "int") and not {"least", "most"} <= row.data.keys():
        raise row.error("least", "and most are missing: what is beyond may end the job")
    return Value(row.name, kind, row.data.get("least"), row.data.get("most"), words)


def _c_values(row: Row) -> tuple[Value, ...]:
    c_values = []
    for table in row.data["values"]:
        one = Row(row.path, f"{row.name} {table.get('name', '')}", table, VALUE_KEYS)
        c = one_of(one, "c", one.text("c"), C_TYPES)
        words: dict[str, Any] = one.data.get("words", {})
        kinds = {"hbool_t": "bool", "double": "number"}
        kind = "choice" if words else "bytes" if one.flag("bytes") else kinds.get(c, "int")
        if kind in ("int", "bytes", "number") and "least" not in one.data:
            raise one.error("least", "is missing")
        c_values.append(
            Value(
                one.text("name"), kind, one.data.get("least"), one.data.get("most"), tuple(words),
                tuple(words.values()), c, c == "dims",
            )
        )  # fmt: skip
    if any(value.many for value in c_values) and len(c_values) > 1:
        raise row.error("values", "extents go alone")
    return tuple(c_values)


def _proof(row: Row) -> Proof | None:
    if "prove" not in row.data:
        return None
    table = Row(row.path, f"{row.name} prove", row.data["prove"], PROVE_KEYS)
    settings = [tuple(map(str, one)) for one in table.data.get("with", [])]
    if len(settings) != 2 or settings[0] == settings[1]:
        raise table.error("with", "must be two settings that differ")
    return Proof(
        (settings[0], settings[1]),
        one_of(table, "shows", table.text("shows"), SHOWN),
        one_of(table, "mode", table.text("mode", MODES[0]), MODES),
    )
