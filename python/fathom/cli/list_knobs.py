"""fathom list knobs: what can be set in I/O libraries, how, how safely, and what is alive on this machine.

examples:
  fathom list knobs
  fathom list knobs cb_nodes romio.striping_unit
  fathom list knobs --layers hdf5
  fathom list knobs --prove
  fathom list knobs --prove cb_nodes alignment
  fathom list knobs --check settings.toml
  fathom list knobs --to-xml settings.toml > config.xml
  fathom list knobs --from-xml config.xml > settings.toml
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fathom.catalog.knobs import Knob
from fathom.cli.arguments import of_list
from fathom.errors import UsageError, unknown
from fathom.tune.settings import compiled, file, layouts, settings, toml, xml


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which knobs; or what to do with a settings file."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these: NAME or LAYER.NAME")
    parser.add_argument("--layers", metavar="LIST", help="only of these layers, as hdf5,mpiio")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--prove", action="store_true", help="run a small program with two values of each; kept"
    )
    what.add_argument("--again", action="store_true", help="the same, also of those that are known")
    what.add_argument("--check", type=Path, metavar="FILE", help="what these settings come to")
    what.add_argument("--to-xml", type=Path, metavar="FILE", help="settings as H5Tuner's XML")
    what.add_argument("--from-xml", type=Path, metavar="FILE", help="H5Tuner's XML as settings")
    what.add_argument("--apply", type=Path, help=argparse.SUPPRESS)  # of `fathom run --tuned`
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values")
    form.add_argument("--json", action="store_true", help="a list of objects")


def run(arguments: argparse.Namespace) -> int:
    """Prints rows, proves them, or turns settings into other forms."""
    if arguments.apply:
        read = file.read(arguments.apply)
        for line in layouts.apply(read):
            print(f"fathom: {line}", file=sys.stderr)
        sys.stdout.write(compiled.text(read))
    elif arguments.check:
        sys.stdout.write(compiled.text(file.read(arguments.check)))
    elif arguments.to_xml:
        written, left_out = xml.write(file.read(arguments.to_xml))
        sys.stdout.write(written)
        for line in left_out:
            print(f"fathom: {line}: H5Tuner has no word for it", file=sys.stderr)
    elif arguments.from_xml:
        sys.stdout.write(toml.text(file.read(arguments.from_xml)))
    elif arguments.prove or arguments.again:
        return _proved(arguments)
    else:
        _shown(arguments)
    return 0


# What these need is loaded by them: a run with settings does not wait for it.
def _proved(arguments: argparse.Namespace) -> int:
    from fathom.pages import knobs

    every = chosen(arguments.names, arguments.layers)
    return knobs.prove_all(every, arguments.again, arguments.json)


def _shown(arguments: argparse.Namespace) -> None:
    from fathom.pages import knobs

    form = "json" if arguments.json else "csv" if arguments.csv else ""
    knobs.show(chosen(arguments.names, arguments.layers), form, bool(arguments.names))


def chosen(names: Sequence[str], layers: str | None) -> list[Knob]:
    """The knobs of these names, of these layers."""
    every = list(settings.catalog().values())
    if layers is not None:
        wanted = of_list("list knobs: no layer", layers, (knob.layer.name for knob in every))
        every = [knob for knob in every if knob.layer.name in wanted]
    for name in names:
        if not any(name in (knob.name, knob.key) for knob in every):
            known = [word for knob in settings.catalog().values() for word in (knob.name, knob.key)]
            raise UsageError(
                unknown("list knobs: no knob", name, known, "fathom list knobs lists them")
            )
    return [k for k in every if not names or k.name in names or k.key in names]
