"""What is made of the catalog.

python -m fathom.catalog generate OUT FILE… | docs OUT FILE… | check FILE… | preload, before OUT SERVED FILE… |
linked OUT RUNTIME FILE… | knobs, knob-docs OUT FILE… | facts ROOT
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import describe, knob_pages, knob_table
from .before import before
from .facts import write_facts
from .generate import generate, write
from .knobs import load_knobs
from .linked import linked
from .load import load
from .model import CatalogError
from .preload import preload


def main(arguments: list[str]) -> int:
    """Run one of the commands; a mistake is one line and status 2."""
    parser = argparse.ArgumentParser(prog="python -m fathom.catalog", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("generate", "docs", "check", "preload", "before", "linked", "knobs", "knob-docs"):
        command = commands.add_parser(name)
        if name != "check":
            command.add_argument("out", type=Path)
        if name in ("preload", "before"):
            command.add_argument("served", type=Path)
        if name == "linked":
            command.add_argument("runtime", type=Path)
        command.add_argument("files", type=Path, nargs="+")
    commands.add_parser("facts").add_argument("root", type=Path)
    options = parser.parse_args(arguments)
    try:
        if options.command == "facts":
            print(*write_facts(options.root), sep="\n", end="")
            return 0
        if options.command.startswith("knob"):
            knobs = load_knobs(options.files)
            make_texts = knob_table.table if options.command == "knobs" else knob_pages.pages
            write(options.out, make_texts(knobs))
            return 0
        catalog = load(options.files)
        if options.command == "generate":
            generate(catalog, options.out)
        elif options.command == "preload":
            preload(catalog, options.served, options.out)
        elif options.command == "before":
            before(catalog, options.served, options.out)
        elif options.command == "linked":
            write(options.out, linked(catalog, options.runtime))
        elif options.command == "docs":
            write(options.out, {f"{api.path.stem}.md": describe.page(api) for api in catalog.apis})
    except CatalogError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
