"""Writes what is made of a catalog: C files, and JSON for other readers."""

from __future__ import annotations

from pathlib import Path

from . import describe, tables, wrappers
from .edges import edges
from .model import Catalog


def generate(catalog: Catalog, out: Path) -> None:
    """Write the C files and the JSON that the build takes from the catalog."""
    numbered = edges(catalog)
    texts = {
        "ops.h": tables.ops_h(catalog),
        "handlers.h": tables.handlers_h(catalog),
        "wrappers.h": tables.wrappers_h(catalog, numbered),
        "tables.c": tables.tables_c(catalog, numbered),
        "entries.S": tables.entries_s(numbered),
        "catalog.json": describe.catalog_json(catalog),
        "oracle.json": describe.oracle_json(catalog),
    }
    for api in catalog.apis:
        texts[f"wrappers_{api.path.stem}.c"] = wrappers.wrappers_c(api, numbered)
    write(out, texts)


def write(out: Path, texts: dict[str, str]) -> None:
    """Write files whose text changed, so that a build compiles no more than it must."""
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = out / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
