"""Writes what other languages and the docs have of the catalog: `make facts`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from . import columns, launchers, layers, libraries, records, stores, stream
from .markdown import marked


def _whole(make: Callable[[], str]) -> Callable[[str], str]:
    return lambda _: make()


#: Files of the source tree that hold facts of the catalog: each made of what it was.
FILES: Mapping[str, Callable[[str], str]] = {
    "python/fathom/analysis/sql/layers.sql": _whole(layers.sql),
    "python/fathom/analysis/sql/stores.sql": _whole(stores.sql),
    "engine/pack/src/network.rs": _whole(stores.rust),
    "runtime/core/layers.h": _whole(layers.c_header),
    "engine/select/src/layers.rs": _whole(layers.rust),
    "web/src/draw/layers.ts": _whole(layers.typescript),
    "runtime/core/launchers.h": _whole(launchers.c_header),
    "runtime/edges/packages.h": _whole(libraries.c_header),
    "runtime/core/stream_format.h": _whole(stream.c_header),
    "engine/stream/src/format.rs": _whole(stream.rust),
    "engine/stream/src/plain.rs": _whole(records.rust),
    "engine/pack/src/libraries.rs": _whole(libraries.rust),
    "engine/pack/src/schema.rs": _whole(columns.rust),
    "python/fathom/run/columns.py": _whole(columns.python),
    "docs/stream-format.md": lambda text: marked(text, stream.TABLES),
    "docs/tables.md": lambda text: marked(text, columns.page_tables()),
    "docs/centre.md": lambda text: marked(text, columns.page_tables("lake.toml")),
}


def write_facts(root: Path) -> list[str]:
    """Writes those that have changed, and names them."""
    texts = {name: _text(root / name) for name in FILES}
    generated = {name: make(texts[name]) for name, make in FILES.items()}
    changed = [name for name, text in generated.items() if text != texts[name]]
    for name in changed:
        (root / name).write_text(generated[name], encoding="utf-8")
    return changed


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
