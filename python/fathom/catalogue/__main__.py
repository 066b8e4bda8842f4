"""python -m fathom.catalogue generate OUT FILE…  |  docs OUT FILE…  |  check FILE…"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import describe, tables, wrappers
from .edges import edges
from .load import load
from .model import Catalogue, CatalogueError


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


def main(arguments: list[str]) -> int:
    """Run one of the three commands; a mistake is one line and status 2."""
    parser = argparse.ArgumentParser(prog="python -m fathom.catalogue", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("generate", "docs", "check"):
        command = commands.add_parser(name)
        if name != "check":
            command.add_argument("out", type=Path)
        command.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    try:
        catalogue = load(options.files)
        if options.command == "generate":
            generate(catalogue, options.out)
        elif options.command == "docs":
            write(
                options.out, {f"{api.path.stem}.md": describe.page(api) for api in catalogue.apis}
            )
    except CatalogueError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
