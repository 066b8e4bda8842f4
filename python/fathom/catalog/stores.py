"""Reads catalog/stores: what an access costs on a file system, as intervals, each with what its sources say.

A figure that a file lacks is that of the general store of its kind, whose interval covers all stores of the kind.
"""

from __future__ import annotations

import math
import textwrap
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from .layers import catalog_files
from .model import CatalogError
from .row import NAME, Row, one_of

KINDS: Mapping[str, str] = {
    "memory": "in the node's memory",
    "local": "on a device of the node",
    "network": "on servers that nodes share",
}
DIRECTIONS = ("read", "write")
#: Figures of each direction -> what they are.
MOVES: Mapping[str, str] = {
    "request.cached": "seconds of a small access beyond its bytes that the client's memory serves",
    "request.server": "seconds of a small access beyond its bytes that goes to the server or device",
    "rate": "bytes/s of one process with large accesses",
    "server_rate": "bytes/s of one server, target or device, for all clients together",
}
#: Figures that have no direction -> what they are.
CALLS: Mapping[str, str] = {
    "sync": "seconds of an fsync of little data",
    "open": "seconds of the open of a file that exists",
    "create": "seconds of an open that makes the file",
    "stat": "seconds of a stat",
    "remove": "seconds of an unlink",
    "lock": "seconds of one conflict of two clients on one lock",
}
#: What a file's layout is where nobody chose one -> what it is. A store without stripes has none.
LAYOUT: Mapping[str, str] = {
    "stripe_bytes": "bytes of a stripe",
    "stripe_count": "servers or targets that a file is on",
    "block_bytes": "bytes that the store keeps or moves as one",
    "lock_unit": "bytes that one lock covers at the least",
}
#: By which type an unknown one goes: the program may share it with others.
UNKNOWN = "network"

_FILE_KEYS = ("store", "sources", "figure", "layout")
_STORE_KEYS: Mapping[str, type] = {
    "title": str, "kind": str, "types": list, "unshared": list, "general": bool,
}  # fmt: skip
_SOURCE_KEYS: Mapping[str, type] = {"title": str, "year": int, "at": str}
_FIGURE_KEYS: Mapping[str, type] = {
    "of": str, "read": list, "write": list, "range": list, "says": dict,
}  # fmt: skip
_LAYOUT_KEYS: Mapping[str, type] = {"of": str, "value": int, "says": dict}


@dataclass(frozen=True)
class Source:
    """A paper, a manual, a published benchmark."""

    key: str
    title: str
    year: int
    at: str  # URL or DOI


@dataclass(frozen=True)
class Figure:
    """An interval of seconds or of bytes/s."""

    of: str  # a key of MOVES or CALLS
    direction: str  # read, write; empty: it has none
    low: float
    high: float
    says: Mapping[str, str]  # key of a source -> what it says; of a general store: none
    store: str  # whose figure it is: the general one's where the store has none

    @property
    def best(self) -> float:
        """One value where one is needed: the interval spans orders of magnitude, so its geometric mean."""
        return math.sqrt(self.low * self.high)


@dataclass(frozen=True)
class Default:
    """A number of a file's layout where nobody chose one."""

    of: str  # a key of LAYOUT
    value: int
    says: Mapping[str, str]


@dataclass(frozen=True)
class Store:
    """A file system."""

    path: Path
    name: str  # that of its file
    title: str
    kind: str  # a key of KINDS
    types: tuple[str, ...]  # its names in mount tables, statfs and logs of Darshan
    unshared: tuple[str, ...]  # of these, where nodes need not see the same files
    general: bool  # its figures cover all stores of its kind
    sources: Mapping[str, Source]
    figures: Mapping[tuple[str, str], Figure]  # by name and direction
    layout: Mapping[str, Default]

    def figure(self, of: str, direction: str = "") -> Figure | None:
        """Of MOVES give a direction. None: neither it nor any store of its kind has one."""
        return self.figures.get((of, direction))

    def default(self, of: str) -> int | None:
        """Of LAYOUT. None: not known, or the store has no such thing."""
        default = self.layout.get(of)
        return default.value if default else None


@cache
def stores() -> Mapping[str, Store]:
    """All of the catalog, by name."""
    return load_stores(catalog_files("stores"))


#: Columns of the macro stores() -> what of MOVES and CALLS is in them.
_COLUMNS = {"cached": "request.cached", "server": "request.server"} | {
    name: name for name in (*MOVES, *CALLS) if "." not in name
}


def network_types() -> tuple[str, ...]:
    """Types whose files are the same under the same names on every node that mounts them."""
    shared = (store for store in stores().values() if store.kind == "network")
    return tuple(
        sorted(name for store in shared for name in store.types if name not in store.unshared)
    )


def rust() -> str:
    """engine/pack/src/network.rs."""
    types = network_types()
    rows = "\n".join(f'\t"{name}",' for name in types)
    return f"""//! Made from catalog/stores by `make facts`.

/// Types of file systems that have the same files under the same names on every node that mounts them.
#[rustfmt::skip]
pub const NETWORK: [&str; {len(types)}] = [
{rows}
];
"""


def sql() -> str:
    """python/fathom/analysis/sql/stores.sql: the macros stores(), store_types(), store_of() and is_network()."""
    spans = [f"{name}_{end}" for name in _COLUMNS for end in ("low", "high")]
    rows = [_as_sql(store, direction) for store in stores().values() for direction in DIRECTIONS]
    columns = _wrapped(", ".join(["store", "kind", "direction", *spans, *LAYOUT]))
    types = [
        f"('{name}', '{store.name}')" for store in stores().values() for name in sorted(store.types)
    ]
    shared = _wrapped(", ".join(f"'{name}'" for name in network_types()))
    return f"""\
-- What accesses cost on a file system: made from catalog/stores by `make facts`.

-- Each store and direction: seconds and bytes/s, as the ends of intervals (docs/stores.md); null: not known, or none.
create or replace macro stores() as table
select * from (values
	{f",{_BREAK}".join(rows)}
) as t ({columns});

-- The store of each type of file system.
create or replace macro store_types() as table
select * from (values
	{f",{_BREAK}".join(types)}
) as t (name, store);

-- The store of a file system, by its type; of an unknown one or none the general one of networks.
create or replace macro store_of(type) as
coalesce((select any_value(store) from store_types() where name = lower(type)), '{UNKNOWN}');

-- Is a file system of this type a network's, whose files lie on servers that other nodes ask too?
create or replace macro is_network(file_system) as
coalesce(file_system, '') in (
	{shared}
);
"""


_BREAK = "\n\t"


def _as_sql(store: Store, direction: str) -> str:
    values = [f"'{store.name}'", f"'{store.kind}'", f"'{direction}'"]
    for of in _COLUMNS.values():
        figure = store.figure(of, direction if of in MOVES else "")
        values += [f"{figure.low:g}", f"{figure.high:g}"] if figure else ["null::double"] * 2
    numbers = (store.default(name) for name in LAYOUT)
    values += ["null::bigint" if number is None else f"{number}::bigint" for number in numbers]
    return _wrapped(f"({', '.join(values)})")


def _wrapped(text: str) -> str:
    return "\n\t\t".join(textwrap.wrap(text, 140, break_long_words=False))


def load_stores(paths: Iterable[Path]) -> Mapping[str, Store]:
    """All stores of these files by name, each with the figures of its kind's general one where it has none.

    Raises CatalogError at the first mistake.
    """
    read = [_load(path) for path in sorted(paths)]
    types: dict[str, Store] = {}
    for store in read:
        for name in store.types:
            if name in types:
                there = types[name].path.name
                raise CatalogError(store.path, "[store]", "types", f"'{name}' is also in {there}")
            types[name] = store
    generals = _generals(read)
    return {store.name: _completed(store, generals) for store in read}


def _generals(read: Iterable[Store]) -> Mapping[str, Store]:
    """Kind -> its general store, with figures."""
    generals: dict[str, Store] = {}
    for store in read:
        if store.general:
            if store.kind in generals:
                there = generals[store.kind].path.name
                raise CatalogError(
                    store.path, "[store]", "general", f"{there} is that of kind {store.kind}"
                )
            of_kind = [one for one in read if one.kind == store.kind and not one.general]
            generals[store.kind] = replace(store, figures=_cover(store.name, of_kind))
    return generals


def _cover(name: str, of_kind: Iterable[Store]) -> Mapping[tuple[str, str], Figure]:
    figures: dict[tuple[str, str], Figure] = {}
    for store in of_kind:
        for key, one in store.figures.items():
            so_far = figures.get(key, one)
            low, high = min(so_far.low, one.low), max(so_far.high, one.high)
            figures[key] = Figure(*key, low, high, {}, name)
    return figures


def _completed(store: Store, generals: Mapping[str, Store]) -> Store:
    general = generals.get(store.kind)
    return replace(store, figures={**general.figures, **store.figures}) if general else store


def _load(path: Path) -> Store:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogError(path, "", "file", f"is not TOML: {error}") from error
    for key in data:
        if key not in _FILE_KEYS:
            raise CatalogError(
                path, "", key, "is neither [store], [sources], [[figure]] nor [[layout]]"
            )
    head = _row(path, "[store]", data.get("store", {}), _STORE_KEYS)
    sources = _sources(path, data.get("sources", {}))
    figures: dict[tuple[str, str], Figure] = {}
    for row in _rows(path, "figure", data, _FIGURE_KEYS):
        for figure in _figures(row, path.stem, sources):
            if (figure.of, figure.direction) in figures:
                raise row.error(figure.direction or "of", "is there twice in this file")
            figures[figure.of, figure.direction] = figure
    layout: dict[str, Default] = {}
    for row in _rows(path, "layout", data, _LAYOUT_KEYS):
        of = one_of(row, "of", row.text("of"), LAYOUT)
        if of in layout:
            raise row.error("of", "is there twice in this file")
        layout[of] = Default(of, _positive(row, "value"), _says(row, sources))
    _check_used(path, sources, [*figures.values(), *layout.values()])
    general = head.flag("general")
    if general and figures:
        raise head.error("general", "has no [[figure]]: it covers those of the other files")
    types = head.words("types")
    if not types:
        raise head.error("types", "is missing: by which names do mount tables call it?")
    for name in types:
        if name != name.lower():
            raise head.error("types", f"'{name}' must be in small letters: names are compared so")
    unshared = head.words("unshared")
    for name in unshared:
        if name not in types:
            raise head.error("unshared", f"'{name}' is none of its types")
    return Store(
        path=path,
        name=path.stem,
        title=head.text("title"),
        kind=one_of(head, "kind", head.text("kind"), KINDS),
        types=types,
        unshared=unshared,
        general=general,
        sources=sources,
        figures=figures,
        layout=layout,
    )


def _row(path: Path, name: str, table: Any, keys: Mapping[str, type]) -> Row:
    if not isinstance(table, dict):
        raise CatalogError(path, name, "", "must be a table")
    for key in table:
        if key not in keys:
            raise CatalogError(path, name, key, f"is none of {', '.join(keys)}")
    return Row(path, name, table, keys)


def _rows(path: Path, kind: str, data: Mapping[str, Any], keys: Mapping[str, type]) -> list[Row]:
    tables = data.get(kind, [])
    if not isinstance(tables, list):
        raise CatalogError(path, "", kind, f"must be written as [[{kind}]]")
    return [
        _row(path, f"{kind} {table.get('of', number)}", table, keys)
        for number, table in enumerate(tables, 1)
    ]


def _sources(path: Path, tables: Any) -> Mapping[str, Source]:
    if not isinstance(tables, dict):
        raise CatalogError(path, "", "sources", "must be a table")
    sources = {}
    for key, table in tables.items():
        row = _row(path, f"source {key}", table, _SOURCE_KEYS)
        if not NAME.fullmatch(key):
            raise row.error("", "must be a C name")
        year = _positive(row, "year")
        sources[key] = Source(key, row.text("title"), year, row.text("at"))
    return sources


def _figures(row: Row, store: str, sources: Mapping[str, Source]) -> list[Figure]:
    of = one_of(row, "of", row.text("of"), (*MOVES, *CALLS))
    ways = DIRECTIONS if of in MOVES else ("range",)
    there = [key for key in (*DIRECTIONS, "range") if key in row.data]
    for key in there:
        if key not in ways:
            raise row.error(key, f"is not for {of}, which takes {' and '.join(ways)}")
    if not there:
        raise row.error(ways[0], "is missing")
    says = _says(row, sources)
    return [
        Figure(of, way if of in MOVES else "", *_interval(row, way), says, store) for way in there
    ]


def _interval(row: Row, key: str) -> tuple[float, float]:
    ends = row.data[key]
    is_number = [isinstance(end, int | float) and not isinstance(end, bool) for end in ends]
    if len(ends) != 2 or not all(is_number):
        raise row.error(key, "must be two numbers, [low, high]")
    low, high = map(float, ends)
    if not 0 < low <= high < math.inf:
        raise row.error(key, f"[{low:g}, {high:g}] must be above 0, the lower end first")
    return low, high


def _positive(row: Row, key: str) -> int:
    if key not in row.data:
        raise row.error(key, "is missing")
    value = int(row.data[key])
    if value <= 0:
        raise row.error(key, f"{value} must be above 0")
    return value


def _says(row: Row, sources: Mapping[str, Source]) -> Mapping[str, str]:
    says = row.pairs("says")
    if not says:
        raise row.error("says", "is missing: no source, no figure")
    for key, words in says.items():
        if key not in sources:
            raise row.error("says", f"'{key}' is none of this file's sources")
        if not words.strip():
            raise row.error(f"says.{key}", "must tell what the source says")
    return says


def _check_used(
    path: Path, sources: Mapping[str, Source], rows: Iterable[Figure | Default]
) -> None:
    used = {key for row in rows for key in row.says}
    for key in sources:
        if key not in used:
            raise CatalogError(path, f"source {key}", "", "is named by no figure")
