"""fathom generate: optimised parallel I/O code from hints.

FILE has blocks of hints (docs/generate-language.md): a program's source, or a file of hints alone. What is wrong
with them is said before anything is written.

examples:
  fathom generate solver.c -o out        out/solver.c with the calls in it, out/NAME_io.c, .h and .md
  fathom generate s3d.iog --explain      what is decided, by which rule, and why
  fathom generate s3d.iog --check        only looks for mistakes, over all ranks
  fathom generate s3d.iog -o out --self-check
"""

import argparse
import sys
from pathlib import Path

from fathom.generate import command, readme
from fathom.generate.emit.shared import RAW
from fathom.generate.spec import LANGUAGES, LIBRARIES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, where to, and what to print instead."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a source, or hints alone")
    parser.add_argument(
        "-o",
        metavar="OUT",
        dest="out",
        type=Path,
        default=None,
        help="directory (default: FILE's own)",
    )
    parser.add_argument("--library", choices=LIBRARIES, help="instead of the one FILE names")
    parser.add_argument("--language", choices=LANGUAGES, help="instead of FILE's")
    parser.add_argument(
        "--explain", action="store_true", help="print decisions and reasons; write nothing"
    )
    parser.add_argument(
        "--plan", action="store_true", help="print the calls in order; write nothing"
    )
    parser.add_argument(
        "--check", action="store_true", help="look for mistakes only; write nothing"
    )
    parser.add_argument(
        "--self-check",
        action="store_true",
        help="also a program that writes known values and reads them back in other pieces",
    )


def run(arguments: argparse.Namespace) -> int:
    """Checks, then prints or writes."""
    source: Path = arguments.file
    instead = {
        name: value
        for name in ("library", "language")
        if (value := getattr(arguments, name)) is not None
    }
    if arguments.explain or arguments.plan or arguments.check:
        spec, plans = command.checked(source, instead)
        for one in plans:
            lines = readme.explain(one) if arguments.explain else []
            lines += readme.steps(one) if arguments.plan else []
            for line in lines:
                print(line)
        if arguments.check:
            counts = ", ".join(map(str, spec.processes))
            print(f"fathom: {source}: nothing wrong with {counts} processes", file=sys.stderr)
        return 0
    made = command.generate(source, instead, arguments.self_check)
    out = source.parent if arguments.out is None else arguments.out
    written = command.write(made, source, out)
    for path in written:
        print(path)
    if made.spec.attributes and made.spec.library in RAW:
        print(
            "fathom: attributes are left out: a plain file has no place for them", file=sys.stderr
        )
    if not written:
        print("fathom: nothing has changed", file=sys.stderr)
    return 0
