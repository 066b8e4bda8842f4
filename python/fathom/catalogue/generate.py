"""Writes what is made of a catalogue: C files, and JSON for other readers."""

from __future__ import annotations

from pathlib import Path

from . import describe, tables, wrappers
from .edges import edges
from .model import Catalogue


def generate(catalogue: Catalogue, out: Path) -> None:
    """Write the C files and the JSON that the build takes from the catalogue."""
    numbered = edges(catalogue)
    texts = {
        "ops.h": tables.ops_h(catalogue),
        "handlers.h": tables.handlers_h(catalogue),
        "wrappers.h": tables.wrappers_h(catalogue, numbered),
        "tables.c": tables.tables_c(catalogue, numbered),
        "entries.S": tables.entries_s(numbered),
        "catalogue.json": describe.catalogue_json(catalogue),
        "oracle.json": describe.oracle_json(catalogue),
    }
    for api in catalogue.apis:
        texts[f"wrappers_{api.path.stem}.c"] = wrappers.wrappers_c(api, numbered)
    write(out, texts)


def write(out: Path, texts: dict[str, str]) -> None:
    """Write files whose text changed, so that a build compiles no more than it must."""
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = out / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
