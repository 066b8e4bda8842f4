"""Code that is not the user's own: catalog/libraries.toml."""

from __future__ import annotations

from .layers import catalog_data

_MEANINGS = {
    "modules": "File names of programs and libraries begin so.",
    "directories": "Shared libraries lie below these.",
    "functions": "Names as the linker knows them begin so.",
    "sources": "Paths of source files have this in them.",
}


def rust() -> str:
    """engine/pack/src/libraries.rs."""
    data = catalog_data("libraries.toml")
    lists = [
        f"/// {meaning}\n#[rustfmt::skip]\npub const {name.upper()}: [&str; {len(data[name])}] = [\n"
        + "".join(f'\t"{word}",\n' for word in data[name])
        + "];\n"
        for name, meaning in _MEANINGS.items()
    ]
    return "//! Made from catalog/libraries.toml by `make facts`.\n\n" + "\n".join(lists)
