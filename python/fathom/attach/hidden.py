"""Libraries that were linked into a program: fathom-engine works out what is written into it so that they are seen."""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

from fathom.catalog.layers import Library, catalog_files, libraries
from fathom.catalog.load import load
from fathom.run import elf, engine


def _inside(program: Path) -> list[Library]:
    """The libraries, by the program's symbol table; none when it was stripped."""
    image = elf.read(program)
    if image is None or not image.has(".symtab"):
        return []
    return [
        library
        for library in libraries()
        if image.names(library.has) and library.has in image.defines - image.imports
    ]


_LAYER = re.compile(r'^layer\s*=\s*"(\w+)"', re.MULTILINE)


@functools.cache
def _names(layer: str) -> tuple[str, ...]:
    """Only of this layer's files: to read all takes longer than all the rest."""
    probes = catalog_files("probes")
    of_layer = [path for path in probes if _LAYER.findall(path.read_text("utf-8"))[:1] == [layer]]
    return tuple(
        symbol
        for api, call in load(of_layer).calls()
        if not api.inside
        for symbol in (*call.symbols(), *call.fortran)
    )


def _wanted(linked: list[Library]) -> Iterator[str]:
    for library in linked:
        for layer in library.layers:
            # One function has both names, and the event is the one without the P.
            for symbol in sorted(_names(layer), key=lambda name: name.startswith("PMPI_")):
                yield f"name {library.name} {symbol}"
        for prefix in library.inside:
            yield f"inner {library.name} {prefix}"
    for library in libraries():
        for prefix in library.handlers:
            yield f"symbol {prefix}"


def prepare(program: Path, output: Path) -> dict[str, int]:
    """Of how many functions of which libraries calls will be seen; `output` is what the runtime reads, if any. Raises
    the line that says why there are none."""
    linked = _inside(program)
    if not linked:
        return {}
    lines = "\n".join(_wanted(linked))
    reply = engine.ask(["hidden", str(program), "-o", str(output)], lines)
    functions: dict[str, int] = json.loads(reply)["libraries"]
    return functions
