"""fathom generate: optimised parallel I/O code from hints, from a run, or from a file's header.

FILE has blocks of hints (docs/generate-language.md): a program's source, or a file of hints alone. What is wrong
with them is said before anything is written. --from writes the hints first, from what is there.

examples:
  fathom generate solver.c -o out        out/solver.c with the calls in it, out/NAME_io.c, .h and .md
  fathom generate s3d.iog --explain      what is decided, by which rule, and why
  fathom generate s3d.iog --explain --rule posting=off    the same without rule 4
  fathom generate s3d.iog --check        only looks for mistakes, over all ranks
  fathom generate s3d.iog -o out --self-check
  fathom generate --from s3d.1 --files '*.field.nc' --library hdf5 -o out
  fathom generate --from checkpoint.h5 --library pnetcdf --language fortran -o out
"""

import argparse
import sys
from pathlib import Path

from fathom.codegen.generate import command, readme
from fathom.codegen.generate.emit.shared import RAW
from fathom.codegen.generate.options import ruled
from fathom.codegen.generate.plan import Plan
from fathom.codegen.generate.spec import LANGUAGES, LIBRARIES, TYPES, Spec
from fathom.errors import UsageError
from fathom.text.tables import shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, where to, and what to print instead."""
    parser.add_argument(
        "source", metavar="FILE", type=Path, nargs="?", help="a source, or hints alone"
    )
    parser.add_argument(
        "--from",
        dest="origin",
        metavar="RUN|FILE",
        help="write the hints (OUT/NAME.iog) from a run's accesses, or from a netCDF or HDF5 file's header",
    )
    parser.add_argument(
        "--files",
        metavar="GLOB",
        help="of a run, only files whose path, or its last part, is like this",
    )
    parser.add_argument(
        "--type", choices=list(TYPES), help="of elements, where a run shows only bytes"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help="directory (default: FILE's own)",
    )
    parser.add_argument("--library", choices=LIBRARIES, help="instead of the one FILE names")
    parser.add_argument("--language", choices=LANGUAGES, help="instead of FILE's")
    parser.add_argument(
        "--rule",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a rule's option: on, off, or one of its values; instead of what FILE says (repeatable)",
    )
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
    if (arguments.source is None) == (arguments.origin is None):
        raise UsageError("generate: give it a FILE with hints, or --from RUN or --from FILE")
    if arguments.origin is None and (arguments.files or arguments.type):
        raise UsageError("generate: --files and --type go with --from RUN")
    instead = {
        name: value
        for name in ("library", "language")
        if (value := getattr(arguments, name)) is not None
    }
    instead |= ruled(arguments.rule)
    if arguments.origin is not None:
        return _from(arguments, instead)
    source: Path = arguments.source
    if arguments.explain or arguments.plan or arguments.check:
        _print(arguments, source, *command.checked(source, instead))
        return 0
    out = source.parent if arguments.output is None else arguments.output
    return _write(command.generate(source, instead, arguments.self_check), source, out)


def _from(arguments: argparse.Namespace, instead: dict[str, str]) -> int:
    """Writes the hints too, beside the code; both are written, or neither is."""
    from fathom.codegen.hints import origin  # reads runs and files: what hints alone do without

    sketched = origin.read_hints(
        arguments.origin, arguments.library, arguments.files, arguments.type
    )
    out = arguments.output or Path()
    path, text = out / f"{sketched.sketch.name}.iog", sketched.sketch.text()
    if arguments.explain or arguments.plan or arguments.check:
        spec, plans = command.checked(path, instead, text)
        _print(arguments, path, spec, plans)
    else:
        code = command.generate(path, instead, arguments.self_check, text)
        spec, plans = code.spec, code.plans
        origin.write(path, text)
        _write(code, path, out)
    for line in sketched.compared(spec, plans):
        print(line, file=sys.stderr)
    return 0


def _print(arguments: argparse.Namespace, source: Path, spec: Spec, plans: list[Plan]) -> None:
    for plan in plans:
        lines = readme.explain(plan) if arguments.explain else []
        lines += readme.steps(plan) if arguments.plan else []
        for line in lines:
            print(line)
    if arguments.check:
        counts = ", ".join(map(str, spec.processes))
        print(f"fathom: {source}: nothing wrong with {counts} processes", file=sys.stderr)


def _write(generated: command.Generated, source: Path, out: Path) -> int:
    written = command.write(generated, source, out)
    for path in written:
        print(shown(path))
    if generated.spec.attributes and generated.spec.library in RAW:
        print(
            "fathom: attributes are left out: a plain file has no place for them", file=sys.stderr
        )
    if not written:
        print("fathom: nothing has changed", file=sys.stderr)
    return 0
