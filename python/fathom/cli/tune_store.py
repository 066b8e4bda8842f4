"""fathom tune store: what was found for one program, for others that access their data alike."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import fathom
from fathom.analysis import Remembered
from fathom.analysis.distribution.choice import check_any
from fathom.analysis.distribution.patterns import patterns
from fathom.errors import FathomError, UsageError
from fathom.files import is_folder, is_there
from fathom.text import numbers, tables
from fathom.text.quoting import json_text
from fathom.text.tables import Column, heading, printable, text
from fathom.tune.search.ledger import folder_of
from fathom.tune.store import exchange
from fathom.tune.store.base import Base, default_place
from fathom.tune.store.distance import THRESHOLD
from fathom.tune.store.entry import Entry
from fathom.tune.store.look import TRAIN, Lookup, Match, look_up, named
from fathom.tune.store.predicted import learnt
from fathom.tune.store.searched import entry_of

USAGE = {
    "add": "NAME.tune …",
    "look": "RUN [-o settings.toml]",
    "list": "",
    "export": "FILE",
    "import": "FILE …",
    "merge": "STORE …",
    "remove": "ID",
}
COLUMNS = (
    Column("id", "id", text, right=False),
    Column("search", "name", text, right=False),
    Column("added", "added", text, right=False),
    Column("ranks", "ranks", text),
    Column("gain", "gain", numbers.times),
    Column("pattern", "key", text, right=False),
    Column("files", "files", text, right=False),
    Column("settings", "settings", text, right=False, spare=1),
)


def run(arguments: argparse.Namespace) -> int:
    """One of them."""
    what, *given = arguments.words[1:] or [""]
    few = {"list": 0, "look": 1, "export": 1, "remove": 1}
    right = len(given) == few[what] if what in few else bool(given)
    if what not in USAGE or not right or arguments.program:
        every = ", ".join(f"{name} {words}".strip() for name, words in USAGE.items())
        raise UsageError(f"tune store: one of {every}")
    place = arguments.store or default_place()
    if what == "look":
        return _look(given[0], place, arguments.output, arguments.json)
    if what == "list":
        return _list(_there(place), arguments.json)
    if what == "export":
        count = exchange.write(_there(place), Path(given[0]))
        print(f"{given[0]}: {numbers.things(count, 'search', 'searches')}")
        return 0
    if what == "remove":
        gone = Base(_there(place).path, write=True).remove(given[0])
        print(f"{place}: {gone.id} {printable(gone.name)} removed")
        return 0
    if what == "add":
        return _add(place, _searches(given))
    return _add(place, [entry for name in given for entry in _entries(what, Path(name))])


def _there(place: Path) -> Base:
    if not is_there(place):
        raise FathomError(f"{place}: there is no pattern store; fathom tune store add makes it")
    return _warned(Base(place))


def _warned(base: Base) -> Base:
    base.entries()
    for line in base.unread:
        print(f"fathom: tune store: left out: {line}", file=sys.stderr)
    return base


def _entries(what: str, path: Path) -> Sequence[Entry]:
    if what == "import":
        return exchange.read(path)
    return _there(path).entries()


def _searches(names: Sequence[str]) -> list[Entry]:
    """Searches of one program at several sizes have a model for all others."""
    folders = [Path(name) if is_folder(Path(name)) else folder_of(name) for name in names]
    entries = [entry_of(folder) for folder in folders]
    model = learnt(folders)
    return [replace(entry, model=model) for entry in entries]


def _add(place: Path, entries: Sequence[Entry]) -> int:
    new = Base(place, write=True).add(entries)
    known = len(entries) - new
    rest = f", {known} there already" if known else ""
    print(f"{place}: {numbers.things(new, 'search', 'searches')} added{rest}")
    return 0


def _list(base: Base, as_json: bool) -> int:
    entries = base.entries()
    if as_json:
        print(json_text([{"id": entry.id, **entry.data()} for entry in entries]))
        return 0
    tables.show(COLUMNS, pa.Table.from_pylist([row for entry in entries for row in _rows(entry)]))
    return 0


def _rows(entry: Entry) -> list[dict[str, Any]]:
    day = time.strftime("%Y-%m-%d", time.localtime(entry.added))
    return [
        {
            "id": entry.id[:8], "name": entry.name, "added": day, "ranks": entry.ranks,
            "gain": entry.gain, "key": group.shape.key, "files": group.files,
            "settings": " ".join(map(named, group.settings)) or "as it is",
        }
        for group in entry.groups
    ]  # fmt: skip


# ---- look


def _look(name: str, place: Path, output: str | None, as_json: bool) -> int:
    opened = fathom.open(name)
    known = patterns(Remembered(opened))
    check_any(known, opened)
    if not is_there(place):
        print(f"fathom: tune store: {place}: there is none, so nothing is known", file=sys.stderr)
    lookup = look_up(opened, place, known)
    for line in lookup.unread:
        print(f"fathom: tune store: left out: {line}", file=sys.stderr)
    if as_json:
        print(json_text(_values(lookup)))
    else:
        for match in lookup.matches:
            _print(match)
    if lookup.text and output:
        try:
            Path(output).write_text(lookup.text, encoding="utf-8")
        except OSError as error:
            raise FathomError(f"{output}: {error.strerror}") from error
        if not as_json:
            print(f"fathom run --tuned {output} -- …")
    return 1 if all(match.verdict == TRAIN for match in lookup.matches) else 0


def _print(match: Match) -> None:
    shape, group = match.group.shape, match.group
    share = numbers.percent(shape.share)
    heading(f"{printable(group.files)}: {_verdict(match)}")
    print(f"  {shape.key}: {numbers.things(shape.arrays, 'array')}, {share} of its bytes")
    if match.entry and match.tuned and match.distance:
        what = f"{printable(match.entry.name)}, {printable(match.tuned.files)}: {match.tuned.shape.key}"
        print(f"  nearest: {what}; distance {match.distance.total:.3f}: {match.distance.words()}")
    if match.verdict != TRAIN and match.entry:
        advice = printable(" ".join(map(named, match.settings))) or "leave it as it is"
        print(f"  {advice}; there {numbers.times(match.entry.gain)}")
    for remark in match.remarks:
        print(f"  {printable(remark)}")


def _verdict(match: Match) -> str:
    if match.verdict != TRAIN:
        return match.verdict
    if match.distance is None:
        return "train: nothing is known of this file system and MPI-IO"
    return f"train: nothing is nearer than {THRESHOLD}"


def _values(lookup: Lookup) -> dict[str, Any]:
    return {
        "threshold": THRESHOLD,
        "groups": [
            {
                "files": match.group.files,
                "verdict": match.verdict,
                "key": match.group.shape.key,
                "features": asdict(match.group.shape),
                "nearest": None if match.entry is None else match.entry.id,
                "name": None if match.entry is None else match.entry.name,
                "nearest_key": None if match.tuned is None else match.tuned.shape.key,
                "distance": None if match.distance is None else match.distance.total,
                "parts": None if match.distance is None else dict(match.distance.parts),
                "settings": [vars(setting) for setting in match.settings],
                "remarks": match.remarks,
                "gain": None if match.entry is None else match.entry.gain,
            }
            for match in lookup.matches
        ],
        "settings": lookup.text,
    }
