"""fathom knobs: what can be set in I/O libraries, how, how safely, and what is alive on this machine.

examples:
  fathom knobs
  fathom knobs cb_nodes romio.striping_unit
  fathom knobs --layer hdf5
  fathom knobs --prove
  fathom knobs --prove cb_nodes alignment
  fathom knobs --check settings.toml
  fathom knobs --to-xml settings.toml > config.xml
  fathom knobs --from-xml config.xml > settings.toml
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from fathom.catalogue.knob_pages import values_text
from fathom.catalogue.knobs import ROUTES, SHOWN, Knob
from fathom.errors import UsageError
from fathom.tuning import compiled, layouts, settings, toml, xml
from fathom.tuning.prove import Kept, Verdict, provable, prove
from fathom.tuning.stacks import STACKS, here
from fathom.view import tables
from fathom.view.tables import Column, text

COLUMNS = (
    Column("knob", "knob", text, right=False),
    Column("here", "here", text, right=False),
    Column("set by", "route", text, right=False, spare=1),
    Column("values", "values", text, right=False, spare=3),
    Column("default", "default", text, right=False, spare=2),
    Column("safety", "safety", text, right=False, spare=4),
    Column("means", "means", text, right=False),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which knobs; or what to do with a settings file."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these: NAME or LAYER.NAME")
    parser.add_argument("--layer", metavar="NAME", help="only this layer")
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
        read = settings.read(arguments.apply)
        for line in layouts.apply(read):
            print(f"fathom: {line}", file=sys.stderr)
        sys.stdout.write(compiled.text(read))
    elif arguments.check:
        sys.stdout.write(compiled.text(settings.read(arguments.check)))
    elif arguments.to_xml:
        written, left_out = xml.write(settings.read(arguments.to_xml))
        sys.stdout.write(written)
        for line in left_out:
            print(f"fathom: {line}: H5Tuner has no word for it", file=sys.stderr)
    elif arguments.from_xml:
        sys.stdout.write(toml.text(settings.read(arguments.from_xml)))
    elif arguments.prove or arguments.again:
        return _prove(arguments, chosen(arguments.names, arguments.layer))
    else:
        _show(arguments, chosen(arguments.names, arguments.layer))
    return 0


def chosen(names: Sequence[str], layer: str | None) -> list[Knob]:
    """The knobs of these names."""
    every = list(settings.catalogue().values())
    if layer:
        every = [knob for knob in every if knob.layer.name == layer]
        if not every:
            layers = dict.fromkeys(k.layer.name for k in settings.catalogue().values())
            raise UsageError(f"knobs: no layer '{layer}'; there are {', '.join(layers)}")
    for name in names:
        if not any(name in (knob.name, knob.key) for knob in every):
            raise UsageError(f"knobs: no knob '{name}'; fathom knobs lists them")
    return [k for k in every if not names or k.name in names or k.key in names]


def state(knob: Knob, kept: Kept) -> str:
    """What is known of it on this machine, in a few words."""
    stacks = [name for name in knob.layer.stacks if name in here()]
    verdicts = {stack.name: kept.of(knob, stack) for stack in provable(knob)}
    words: dict[str, list[str]] = {}
    for stack in stacks:
        verdict = verdicts.get(stack)
        dead = "dead, by documents" if stack in knob.dead else "not proved"
        words.setdefault(verdict.verdict if verdict else dead, []).append(stack)
    if words:
        return "; ".join(f"{word} ({', '.join(on)})" for word, on in words.items())
    if not knob.tried:
        return "not tried here"
    return "not here" if STACKS.keys() & set(knob.layer.stacks) else "by tests"


def _rows(knobs: Sequence[Knob]) -> list[dict[str, str]]:
    kept = Kept()
    return [
        {
            "knob": knob.key,
            "here": state(knob, kept),
            "route": knob.set or ROUTES[knob.route],
            "values": values_text(knob),
            "default": knob.default,
            "safety": knob.safety,
            "means": knob.means,
            "when": knob.when,
            "warns": "; ".join(filter(None, (knob.warns, knob.inverted))),
            "search": knob.search,
            "since": knob.since,
            "source": knob.source,
        }
        for knob in knobs
    ]


def _show(arguments: argparse.Namespace, knobs: Sequence[Knob]) -> None:
    rows = _rows(knobs)
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    elif arguments.csv:
        sys.stdout.write(tables.csv_text(pa.Table.from_pylist(rows)))
    else:
        tables.show(COLUMNS, pa.Table.from_pylist(rows))
        if arguments.names:
            for row in rows:
                for key in ("values", "when", "warns", "search", "since", "source"):
                    if row[key]:
                        print(f"{row['knob']} {key}: {row[key]}")


def _prove(arguments: argparse.Namespace, knobs: Sequence[Knob]) -> int:
    """One line a verdict; exit status 1 when a proof could not be made."""
    if not any(provable(knob) for knob in knobs):
        raise UsageError("knobs --prove: none of these can be proved on the stacks of this machine")
    found = []
    for knob, verdict in prove(knobs, arguments.again):
        found.append(verdict)
        if not arguments.json:
            print(f"{knob.key:32} {verdict.stack:13} {_sentence(knob, verdict)}", flush=True)
    if arguments.json:
        print(json.dumps([verdict.__dict__ for verdict in found], indent=1))
    return 1 if any(verdict.verdict == "failed" for verdict in found) else 0


def _where_apart(first: str, second: str) -> tuple[str, str]:
    """Lists of many numbers from where they differ."""
    one, other = first.split(), second.split()
    if len(one) < 2 and len(other) < 2:
        return first, second
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    a, b = (" ".join(words[same : same + 4]) or "nothing" for words in (one, other))
    return (f"…{a}…", f"…{b}…") if same else (f"{a}…", f"{b}…")


def _sentence(knob: Knob, verdict: Verdict) -> str:
    if verdict.verdict == "failed":
        return f"failed: {verdict.why}"
    what = SHOWN[verdict.shows]
    values = _where_apart(*verdict.values)
    pairs = [
        f"{value} with {setting}" for setting, value in zip(verdict.settings, values, strict=True)
    ]
    expected = knob.dead.get(verdict.stack, "")
    reason = f" ({expected})" if verdict.verdict == "dead" and expected else ""
    reason = f" ({knob.inverted})" if verdict.verdict == "inverted" else reason
    return f"{verdict.verdict}: {what} {', '.join(pairs)}{reason}"
