"""The layers of the I/O stack, as catalog/layers.toml has them, and what other languages need of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fathom.errors import FathomError
from fathom.files import listed

PACKAGE = Path(__file__).resolve().parents[1]
FATHOM = "fathom"  # our own rows: no layer that a user names


@dataclass(frozen=True)
class Layer:
    """One layer; the keys are those of the file."""

    name: str
    title: str
    kind: str  # library, system, store, other
    colour: str
    on_white: str
    on_black: str
    bit: int | None = None
    record: str = "off"  # call, count, off
    settings: bool = False
    quick: bool = False
    bytes: bool = True
    telling: str | None = None
    common: bool = False


@dataclass(frozen=True)
class Library:
    """One that may be linked into a program; the keys are those of the file."""

    name: str
    layers: tuple[str, ...]
    has: str
    inside: tuple[str, ...]
    handlers: tuple[str, ...]


def catalog_path(*names: str) -> Path:
    """The folder of catalogs, or what is in it: inside the package when installed, else the source tree's."""
    for folder in (PACKAGE / "catalog", PACKAGE.parents[1] / "catalog"):
        if (folder / "layers.toml").is_file():
            return folder.joinpath(*names)
    raise FathomError("the catalogs are missing from this installation of Fathom")


def catalog_files(folder: str, pattern: str = "*.toml") -> list[Path]:
    """Those of one of the catalogs, in order."""
    return listed(catalog_path(folder), pattern)


def catalog_data(name: str) -> dict[str, Any]:
    """What a file of the catalog says."""
    return tomllib.loads(catalog_path(name).read_text(encoding="utf-8"))


@cache
def layers() -> tuple[Layer, ...]:
    """All, from the program's call down."""
    rows = catalog_data("layers.toml")["layer"]
    return tuple(
        Layer(
            name=row["name"],
            title=row["title"],
            kind=row["is"],
            colour=row["colour"],
            on_white=row.get("on_white", row["colour"]),
            on_black=row.get("on_black", row["colour"]),
            bit=row.get("bit"),
            record=row.get("record", "off"),
            settings=row.get("settings", False),
            quick=row.get("quick", False),
            bytes=row.get("bytes", True),
            telling=row.get("telling"),
            common=row.get("common", False),
        )
        for row in rows
    )


@cache
def libraries() -> tuple[Library, ...]:
    """Those that may be linked into a program."""
    return tuple(
        Library(
            name=row["name"],
            layers=tuple(row["layers"]),
            has=row["has"],
            inside=tuple(row["inside"]),
            handlers=tuple(row["handlers"]),
        )
        for row in catalog_data("layers.toml")["library"]
    )


def names(*kinds: str) -> tuple[str, ...]:
    """Of layers of these kinds, or of all, from the program's call down."""
    return tuple(layer.name for layer in layers() if not kinds or layer.kind in kinds)


def silent() -> tuple[str, ...]:
    """Layers whose calls do not say how many bytes they move."""
    return tuple(layer.name for layer in layers() if not layer.bytes)


def bits() -> Mapping[str, int]:
    """Layer name -> bit of the control page's gate."""
    known = {layer.name: layer.bit for layer in layers() if layer.bit is not None}
    return dict(sorted(known.items(), key=lambda pair: pair[1]))


def _selectable() -> list[Layer]:
    """Those that a user may choose, by bit."""
    return sorted(
        (layer for layer in layers() if layer.bit is not None and layer.name != FATHOM),
        key=lambda layer: layer.bit or 0,
    )


def c_header() -> str:
    """runtime/core/layers.h."""
    ordered = _selectable()
    usual = [layer.name for layer in ordered if layer.record == "call"]
    counted = [f'{layer.name}" LAYER_COUNTED' for layer in ordered if layer.record == "count"]
    numbers = "\n".join(f"\tLAYER_{layer.name.upper()} = {layer.bit}," for layer in ordered)
    quoted = "\n".join(f'\t"{layer.name}",' for layer in ordered)
    tuned = " | ".join(f"1 << {layer.bit}" for layer in ordered if layer.settings)
    asked = (layer for layer in ordered if layer.kind == "library" and not layer.quick)
    library = " | ".join(f"1 << {layer.bit}" for layer in asked)
    return f"""/* Made from catalog/layers.toml by `make facts`. */
#ifndef FATHOM_LAYERS_H
#define FATHOM_LAYERS_H

/* Bits of the gate (docs/control-page.md). */
enum {{
{numbers}
}};

/* clang-format off */
static const char *const layer_names[] = {{
{quoted}
}};
/* clang-format on */
enum {{ LAYERS = sizeof(layer_names) / sizeof(layer_names[0]) }};

/* Whose calls take a run's settings: patched where there are some, recorded or not. */
enum {{ TUNED_LAYERS = {tuned} }};

/* I/O of libraries: a call takes long enough to ask who made it. */
enum {{ LIBRARY_LAYERS = {library} }};

/* In a list `NAME:counted` is a layer whose calls are counted, and are no events. */
#define LAYER_COUNTED ":counted"
#define LAYERS_DEFAULT                                                                             \\
	"{",".join([*usual, *counted])}

#endif
"""


def rust() -> str:
    """engine/select/src/layers.rs."""
    ordered = _selectable()
    names_ = "\n".join(f'\t"{layer.name}",' for layer in ordered)
    return f"""//! Made from catalog/layers.toml by `make facts`.

/// By bit of the gate, as on the control page.
#[rustfmt::skip]
pub const LAYERS: [&str; {len(ordered)}] = [
{names_}
];
"""


def typescript() -> str:
    """web/src/draw/layers.ts."""
    chosen = {layer.name for layer in _selectable()}
    rows = "\n".join(
        f'\t{{ name: "{layer.name}", onWhite: "{layer.on_white}", onBlack: "{layer.on_black}",'
        f" selectable: {'true' if layer.name in chosen else 'false'} }},"
        for layer in layers()
    )
    return f"""/** Made from catalog/layers.toml by `make facts`. */
export interface Layer {{
	name: string;
	onWhite: string;
	onBlack: string;
	/** May a user choose whether it is recorded? */
	selectable: boolean;
}}

/** From the program's call down. */
export const LAYERS: readonly Layer[] = [
{rows}
];
"""


_SQL = {
    "library": "Is it a layer of a library of I/O?",
    "system": "Is it a layer of the operating system's I/O?",
    "store": "Is it a layer of the client of a storage system?",
}


def sql() -> str:
    """python/fathom/analysis/sql/layers.sql."""
    parts = ["-- Made from catalog/layers.toml by `make facts`.\n"]
    for kind, meaning in _SQL.items():
        listed = ", ".join(f"'{name}'" for name in names(kind))
        parts.append(
            f"-- {meaning}\ncreate or replace macro is_{kind}(layer) as\nlayer in ({listed});\n"
        )
    listed = ", ".join(f"'{name}'" for name in silent())
    parts.append(
        "-- Do its calls not say how many bytes they move?\n"
        f"create or replace macro is_silent(layer) as\nlayer in ({listed});\n"
    )
    return "\n".join(parts)
