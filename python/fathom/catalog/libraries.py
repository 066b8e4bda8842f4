"""Code that is not the user's own: catalog/libraries.toml."""

from __future__ import annotations

from .layers import catalog_data, layers

_MEANINGS = {
    "modules": "File names of programs and libraries begin so.",
    "programs": "File names of programs that run other people's code.",
    "directories": "Shared libraries lie below these.",
    "folders": "Paths of programs and libraries have this in them.",
    "functions": "Names as the linker knows them begin so.",
    "generated": "Names of code without a file begin so.",
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
    telling = [(layer.name, layer.telling) for layer in layers() if layer.telling]
    lists.append(
        "/// Layers, and a function that every program with one has.\n"
        f"#[rustfmt::skip]\npub const TELLING: [(&str, &str); {len(telling)}] = [\n"
        + "".join(f'\t("{name}", "{symbol}"),\n' for name, symbol in telling)
        + "];\n"
    )
    return "//! Made from catalog/libraries.toml and layers.toml by `make facts`.\n\n" + "\n".join(
        lists
    )


def c_header() -> str:
    """runtime/edges/packages.h."""
    data = catalog_data("libraries.toml")
    names = "\n".join(f'\t"{name}",' for name in (*data["packages"], *data["scripts"]))
    return f"""/* Made from catalog/libraries.toml by `make facts`. */
#ifndef FATHOM_PACKAGES_H
#define FATHOM_PACKAGES_H

/* Packages of Python that move data; from SCRIPTS on those that are Python alone. */
/* clang-format off */
static const char *const packages[] = {{
{names}
}};
/* clang-format on */
enum {{ SCRIPTS = {len(data["packages"])}, PACKAGES = sizeof(packages) / sizeof(packages[0]) }};

#endif
"""
