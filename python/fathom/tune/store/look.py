"""What the store knows for a run: settings of the same pattern, of the nearest one, or nothing, and then it says so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from fathom.analysis.distribution.patterns import Patterns
from fathom.files import is_there
from fathom.run.store import Run
from fathom.text.numbers import size, things
from fathom.text.tables import printable
from fathom.tune.search.space import Point, Space
from fathom.tune.settings.settings import catalog
from fathom.tune.store.base import Base, default_place
from fathom.tune.store.distance import THRESHOLD, Distance, distance
from fathom.tune.store.entry import Entry, Given, Tuned, covers, space_of
from fathom.tune.store.fingerprint import Machine, Stack, machine_of, ranks_of, stack_of
from fathom.tune.store.predicted import predicted
from fathom.tune.store.shape import Group, groups
from fathom.tune.store.transfer import may_move, moved, nearest

EXACT, SIMILAR, TRAIN = "exact", "similar", "train"


@dataclass(frozen=True)
class Match:
    """Of one group of files."""

    group: Group
    verdict: str  # exact, similar, train: nothing known is near enough
    entry: Entry | None  # the nearest, also where it is too far
    tuned: Tuned | None  # its group
    distance: Distance | None
    settings: tuple[Given, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Lookup:
    """Of a run, the group of most bytes first."""

    matches: tuple[Match, ...]
    unread: tuple[str, ...] = ()  # what of the store cannot be read here

    @property
    def settings(self) -> list[tuple[Group, Given]]:
        """All, with their files. Of a launch, and of a directory, there is one value: that of the most bytes."""
        settings: dict[tuple[str, ...], tuple[Group, Given]] = {}
        for match in self.matches:
            for setting in match.settings:
                settings.setdefault(_target(match.group, setting), (match.group, setting))
        return list(settings.values())

    @property
    def text(self) -> str:
        """A settings file; empty where nothing is known, or nothing gains."""
        space = space_of(
            [
                given.dimension(str(number), PurePosixPath(group.files).name, _directory(group))
                for number, (group, given) in enumerate(self.settings)
            ]
        )
        return space.settings((1,) * len(space.dimensions))

    def lines(self) -> Iterator[str]:
        """What was found, a line for each group that something is known of."""
        for match in self.matches:
            if match.entry and match.distance and match.verdict != TRAIN:
                what = " ".join(map(named, match.settings)) or "as it is"
                nearest_entry = f"{match.entry.name}, distance {match.distance.total:.3f}"
                yield printable(f"{match.group.files}: {match.verdict}, {nearest_entry}: {what}")

    def seeds(self, space: Space) -> list[Point]:
        """Where a search in this space should begin: the settings found, at the nearest of its values."""
        point = tuple(self._value(space, number) for number in range(len(space.dimensions)))
        return [point] if any(point) and space.allowed(point) else []

    def _value(self, space: Space, number: int) -> int:
        one = space.dimensions[number]
        for group, given in self.settings:
            if one.knob == given.knob and covers(one.where, group.paths):
                return nearest(one, given.value)
        return 0


def _directory(group: Group) -> str:
    return str(PurePosixPath(group.paths[0]).parent)


def _target(group: Group, given: Given) -> tuple[str, ...]:
    if given.launch:
        return (given.knob,)
    if given.layout:
        return (given.knob, _directory(group))
    return (given.knob, group.files, given.dataset)


def look_up(
    run: Run, store: Path | None = None, patterns: Patterns | None = None,
    accept: Sequence[str] = (),
) -> Lookup:  # fmt: skip
    """Asks the store (default: the user's) for each group of the run's files. A store that is not there knows nothing.

    `accept`: dangers of settings that the caller accepts, as a settings file does.
    Raises FathomError of a store or a run that cannot be read.
    """
    place = store or default_place()
    groups_of_run = groups(run, patterns)
    if not is_there(place):
        return Lookup(tuple(_nothing(group) for group in groups_of_run))
    base = Base(place)
    entries, stack, ranks = base.entries(), stack_of(run), ranks_of(run)
    matches = [
        _match(one, entries, stack, machine_of(run, one.paths), ranks, accept)
        for one in groups_of_run
    ]
    matches = [_at_this_size(match, run, stack, accept) for match in matches]
    return Lookup(tuple(matches), tuple(base.unread))


def _at_this_size(match: Match, run: Run, stack: Stack, accept: Sequence[str]) -> Match:
    """Of the same pattern at another size, what its model predicts goes before what was measured elsewhere."""
    if match.verdict != EXACT or match.entry is None or match.entry.model is None:
        return match
    prediction = predicted(match.entry.model, run, match.group.paths)
    if prediction is None:
        return match
    movable = tuple(one for one in prediction[0] if may_move(one, match.group, stack, accept) == "")
    return replace(match, settings=movable, remarks=(prediction[1],))


def _nothing(group: Group) -> Match:
    return Match(group, TRAIN, None, None, None, (), ())


def _match(
    group: Group, entries: Sequence[Entry], stack: Stack, machine: Machine, ranks: int,
    accept: Sequence[str],
) -> Match:  # fmt: skip
    known = [
        (entry, tuned, distance(group.shape, tuned.shape))
        for entry in entries
        for tuned in entry.groups
        if _comparable(group, stack, entry, tuned)
    ]
    if not known:
        return _nothing(group)

    same = [one for one in known if one[1].shape.key == group.shape.key and one[2].total < 1]
    entry, tuned, far = min(same or known, key=lambda one: _order(one[0], one[2], machine))
    if not same and far.total > THRESHOLD:
        return Match(group, TRAIN, entry, tuned, far, (), ())
    pairs = list(moved(tuned, entry.ranks, group, ranks, stack, accept))
    if not group.files.isprintable():
        pairs = [(replace(given, value=None), remark) for given, remark in pairs]
    remarks = [remark for _, remark in pairs if remark] + _otherwise(entry, tuned, group, ranks)
    if not entry.machine.same(machine):
        remarks.append("measured on another machine")
    if entry.stack.libraries != stack.libraries:
        remarks.append("measured with other releases of libraries")
    if not group.files.isprintable():
        remarks.append("not set: the name of these files cannot stand in a settings file")
    verdict = EXACT if same and entry.machine.same(machine) else SIMILAR
    settings = tuple(given for given, _ in pairs if given.value is not None)
    return Match(group, verdict, entry, tuned, far, settings, tuple(remarks))


def _otherwise(entry: Entry, tuned: Tuned, group: Group, ranks: int) -> list[str]:
    """At which size the settings were measured, where it was another one."""
    that_size, this_size = tuned.shape.rank_bytes, group.shape.rank_bytes
    if (that_size, entry.ranks) == (this_size, ranks):
        return []
    measured = f"measured at {things(entry.ranks, 'rank')} with {size(that_size)} each in a dataset"
    return [f"{measured}, here {ranks:,} and {size(this_size)}"]


def _order(entry: Entry, far: Distance, machine: Machine) -> tuple[Any, ...]:
    """What is near enough; this machine's before others'; the nearest; what gained; the latest."""
    own, gained = entry.machine.same(machine), entry.verdict == "gain"
    return (far.total > THRESHOLD, not own, far.total, not gained, -entry.added)


def _comparable(group: Group, stack: Stack, entry: Entry, tuned: Tuned) -> bool:
    """On another kind of file system, or by another MPI-IO, the same settings are others."""
    return tuned.file_system == group.file_system and entry.stack.mpi_io == stack.mpi_io


def named(given: Given) -> str:
    """A setting in a word."""
    return f"{catalog()[given.knob].name}={given.value}"
