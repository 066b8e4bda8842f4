"""A run's calls for another number of ranks, or with larger blocks, where the run is regular.

Rank 0 does what rank 0 did, every other one what rank 1 did, with its own parts of the arrays that `fathom patterns`
finds. That is regular when the run itself comes out, call by call, for its own number of ranks. Of two ranks both must
do as rank 0.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np

from fathom.analysis.distribution.patterns import Pattern, Patterns
from fathom.analysis.distribution.patterns import patterns as patterns_of
from fathom.analysis.distribution.shapes import Shape
from fathom.analysis.distribution.strides import Nest, settled
from fathom.codegen.replay.calls import MOST, Call, Object, Recorded
from fathom.codegen.replay.growth import Grown, Irregular, Job, Layout, grown, growth, layout
from fathom.codegen.replay.making import Cannot
from fathom.codegen.replay.mpiio import PLAIN, View
from fathom.errors import RunError
from fathom.run.store import Run

T = TypeVar("T")
DATA = ("read", "write", "post")
#: Numbers that count a file's bytes, by call; 0 is 0 in every file.
PLACES = ("distance", "length", "start", "view_offset")
SIZED = (
    "fallocate", "posix_fallocate", "posix_fadvise", "readahead", "sync_file_range", "MPI_File_set_size",
    "MPI_File_preallocate",
)  # fmt: skip
#: Arguments that say how a call ended, or what a view makes of an offset.
OUTCOMES = ("actual_io", "no_collective", "view_offset")


@dataclass(frozen=True)
class Resized:
    """A run as it was, or as if it had been made so; `remarks`: what became of its arrays."""

    recorded: Recorded
    views: Mapping[int, View]
    shapes: Mapping[int, Shape]
    remarks: list[str]


def resized(run: Run, given: Resized, job: Job) -> Resized:
    """For this job; RunError says why it is not regular."""
    for_what = f"{run.name}: no replay for {job}"
    if job.was < 2:
        raise RunError(f"{for_what}: one rank does not show what others do; record two or more")
    seen = patterns_of(run)
    if seen.part < 1 or seen.arrays_left:
        raise RunError(f"{for_what}: too many calls or arrays: record a part (fathom run --select)")
    _check(_Resizing(given, seen, job.same), for_what)
    resizing = _Resizing(given, seen, job)
    many = sum(len(given.recorded.calls[job.like(rank)]) for rank in range(job.ranks))
    if many > MOST:
        raise RunError(f"{for_what}: {many:,} calls, more than the {MOST:,} that one is made of")
    calls = [resizing.rank(rank, for_what) for rank in range(job.ranks)]
    return Resized(
        replace(given.recorded, calls=calls, objects=resizing.objects(), groups=resizing.groups()),
        resizing.views, resizing.shapes, growth(resizing.arrays),
    )  # fmt: skip


@dataclass
class _Resizing:
    given: Resized
    seen: Patterns
    job: Job
    arrays: dict[str, Grown] = field(default_factory=dict)  # by what a user calls them

    def __post_init__(self) -> None:
        self.recorded = self.given.recorded
        self.views, self.shapes = dict(self.given.views), dict(self.given.shapes)
        self.paths = _Paths(self.recorded)
        self.own = {
            path
            for use in self.seen.uses
            if use.use == "per process" and len(use.ranks) > 1
            for path in use.paths
        }
        self.patterns: dict[int, list[Pattern]] = defaultdict(list)
        for pattern in self.seen.patterns:
            self.patterns[pattern.file].append(pattern)
        self._layouts: dict[int, Layout] = {}
        self._named: dict[tuple[int, str], Grown | None] = {}
        self._numbers: dict[object, int] = {}  # of new views and shapes

    def rank(self, rank: int, for_what: str) -> list[Call]:
        """All calls of one."""
        resized_calls = []
        for call in self.recorded.calls[self.job.like(rank)]:
            try:
                resized_calls.append(self.call(call, rank))
            except (Irregular, Cannot) as why:
                raise RunError(f"{for_what}: {call.op} on {call.path or 'a file'}: {why}") from why
        return resized_calls

    def call(self, call: Call, rank: int) -> Call:
        """What another rank does where this one did that."""
        moved = replace(call, rank=rank, path=self.paths.of(call.path, call.rank, rank))
        if "to" in call.arguments:
            to = self.paths.of(str(call.arguments["to"]), call.rank, rank)
            moved.arguments = call.arguments | {"to": to}
        one = _of(self.recorded.objects, call.object)
        if one is None:
            return moved
        self._check_group(one)
        if call.layer == "hdf5":
            return self._selected(moved, call, one)
        is_data, is_view = call.kind in DATA, call.op == "MPI_File_set_view"
        if not (is_data or is_view or _placed(call)):
            return moved
        of = self._layout(call, one)
        if is_data and call.size and not of.regions:
            raise Irregular("where it moves data was not recorded")
        if of.stays:
            return moved
        if is_data:
            return self._moved(moved, call, of)
        number = self._view(call, of, rank) if is_view else None
        if number is None:
            return self._sought(moved, call, of)
        arguments = moved.arguments | {"displacement": self.views[number].displacement}
        return replace(moved, selection=number, arguments=arguments)

    def _check_group(self, one: Object) -> None:
        members = self.recorded.groups.get(one.row["group_hash"], ())
        if len(members) not in (0, 1, self.job.was):
            raise Irregular("ranks opened it in groups")

    # ---- bytes

    def _layout(self, call: Call, one: Object) -> Layout:
        number = one.row["file"]
        if number not in self._layouts:
            seen = self.patterns[number]
            other = next((p.layer for p in seen if p.layer != call.layer), None)
            if other in ("mpiio", "hdf5"):
                raise Irregular(f"its data was moved by {other}: replay that, by --layer {other}")
            if other or any(p.below_hdf5 for p in seen):
                raise Irregular(f"where {other or 'HDF5'} puts what in a file is not worked out")
            path = seen[0].path if seen else one.path
            grown_layout = self._layouts[number] = layout(seen, self.job, path in self.own)
            for at, region in enumerate(grown_layout.regions):
                self.arrays[f"array {at + 1} of {_last(path)} (bytes)"] = region.array
        return self._layouts[number]

    def _moved(self, moved_call: Call, call: Call, of: Layout) -> Call:
        """A read or write."""
        if call.failed or call.offset is None or call.offset < 0 or call.size is None:
            raise Irregular("it failed, or where it moved how much was not recorded")
        if not call.size:
            return moved_call
        if call.bytes is not None and 0 <= call.bytes != call.size:
            raise Irregular("it moved less than was asked")
        rank, number = moved_call.rank, self._view(call, of, moved_call.rank)
        view = _of(self.given.views, call.selection) or PLAIN
        if view.plain:
            nest = of.region(call.offset).moved(Nest(call.offset, call.size, ()), call.rank, rank)
            if nest.levels:
                raise Irregular("what a rank moves at once is in several pieces then")
            offset, size = nest.first, nest.run
        else:
            index, size, new = view.index(call.offset), call.size, self.views[number or 0]
            if new.total != view.total:
                if index or size != view.total:
                    raise Irregular("it moves a part of what its view shows")
                size = new.total
            offset = new.place(index)
        bytes_ = size if call.bytes == call.size else call.bytes
        return replace(moved_call, offset=offset, size=size, bytes=bytes_, selection=number)

    def _view(self, call: Call, of: Layout, rank: int) -> int | None:
        """The number of another rank's."""
        if call.selection is None:
            return None
        view = _of(self.given.views, call.selection)
        if view is None:
            raise Irregular("its view is too irregular to have been recorded")
        return self._number(self.views, _shifted(view, of, call.rank, rank))

    def _number(self, known: dict[int, Any], one: Any, key: object = None) -> int:
        key = one if key is None else key
        if key not in self._numbers:
            self._numbers[key] = max(known, default=0) + 1
            known[self._numbers[key]] = one
        return self._numbers[key]

    def _sought(self, moved: Call, call: Call, of: Layout) -> Call:
        """A call on a place in the file: only of lseek it is known what it stands for."""
        if not _placed(call):
            return moved
        if call.op == "lseek" and int(call.arguments["whence"]) == 0:
            to = of.point(int(call.arguments["distance"]), call.rank, moved.rank)
            return replace(moved, arguments=moved.arguments | {"distance": to})
        raise Irregular("it names a place in the file, or a length")

    # ---- datasets

    def dataset(self, one: Object) -> Grown | None:
        """None: none that grows."""
        key = one.row["file"], one.path
        if key not in self._named:
            seen = [p for p in self.patterns.get(key[0], []) if p.name == one.path]
            file = next((p.path for p in seen), "")
            candidates = {grown(p, self.job, file in self.own) for p in seen}
            if len(candidates) > 1:
                raise Irregular("it is not read as it is written")
            array = candidates.pop() if candidates else None
            self._named[key] = array if array and not array.stays else None
            if array:
                self.arrays[f"{one.path} of {_last(file)}"] = array
        return self._named[key]

    def _selected(self, changed: Call, call: Call, one: Object) -> Call:
        array = self.dataset(one) if one.row["class"] == "hdf5_dataset" else None
        if array is None or call.kind not in DATA:
            return changed
        shape = _of(self.given.shapes, call.selection)
        start = int(call.arguments.get("start", 0))
        if shape is None or shape.boxes is None or start < 0 or call.size is None:
            raise Irregular("what it selected is not known")
        if not shape.total:
            return changed
        corner = np.array(np.unravel_index(start, array.extents))
        boxes = shape.boxes + corner[None, :, None]
        moved = np.array(
            [
                array.box(tuple((int(a), int(b)) for a, b in box), call.rank, changed.rank)
                for box in boxes
            ]
        )
        first, end = moved[:, :, 0].min(axis=0), moved[:, :, 1].max(axis=0)
        total = int((moved[:, :, 1] - moved[:, :, 0]).prod(axis=1).sum())
        inside = moved - first[None, :, None]
        new = replace(shape, total=total, box=tuple(map(int, end - first)), boxes=inside)
        number = self._number(self.shapes, new, (inside.shape, inside.tobytes()))
        at = int(np.ravel_multi_index(tuple(map(int, first)), array.grown))
        size = call.size // shape.total * total
        bytes_ = size if call.bytes == call.size else call.bytes
        arguments = changed.arguments | {"start": at}
        return replace(changed, size=size, bytes=bytes_, selection=number, arguments=arguments)

    # ---- what calls are on

    def objects(self) -> dict[int, Object]:
        """With their extents, opened by as many ranks."""
        resized_objects = {}
        for number, one in self.recorded.objects.items():
            row = one.row
            if row["communicator_size"] == self.job.was > 1:
                row = row | {"communicator_size": self.job.ranks}
            array = self._named.get((row["file"], one.path))
            if row["class"] == "hdf5_dataset" and array:
                row = row | {"extents": list(array.grown)}
            resized_objects[number] = replace(one, row=row)
        return resized_objects

    def groups(self) -> dict[int, tuple[int, ...]]:
        """Of ranks that open together: all, or each alone."""
        return {
            one: tuple(range(self.job.ranks)) if len(members) > 1 else members
            for one, members in self.recorded.groups.items()
        }


def _of(known: Mapping[int, T], number: int | None) -> T | None:
    return None if number is None else known.get(number)


def _placed(call: Call) -> bool:
    """Does it name a place in the file, or a length?"""
    sized = call.op in SIZED and (call.offset or call.size)
    return bool(sized or any(call.arguments.get(name) for name in PLACES))


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _shifted(view: View, of: Layout, rank: int, to: int) -> View:
    """Of another rank in the grown file."""
    if view.plain:
        return replace(view, displacement=of.point(view.displacement, rank, to))
    if len(view.parts) > 1:
        raise Irregular("a view of several parts")
    part = view.parts[0]
    region = of.region(view.displacement + part.first)
    if (view.displacement, view.period) != (region.begin, region.bytes):
        raise Irregular("a view that is not of one whole array")
    nest = region.moved(replace(part, first=view.displacement + part.first), rank, to)
    inside = replace(nest, first=nest.first - region.grown_begin)
    return View(region.grown_begin, region.grown_bytes, (inside,))


class _Paths:
    """Names of files that are of one rank each, by the number of the rank in them."""

    def __init__(self, recorded: Recorded) -> None:
        self.root = recorded.root
        users: dict[str, set[int]] = defaultdict(set)
        for call in recorded.every():
            for path in (call.path, call.arguments.get("to")):
                if path:
                    users[str(path)].add(call.rank)
        self.own = {path: min(ranks) for path, ranks in users.items() if len(ranks) == 1}

    def of(self, path: str, rank: int, to: int) -> str:
        """Another rank's."""
        if rank == to or self.own.get(path) != rank:
            return path
        words = self._words(path)
        alike = [
            places
            for other, owner in self.own.items()
            if owner != rank and (places := _differs(words, rank, self._words(other), owner))
        ]
        if not alike:
            raise Irregular("other ranks have no file of a name like this, but for their number")
        changed = min(alike, key=len)
        for at in changed:
            number = int(words[at]) - rank + to
            width = len(words[at]) if words[at].startswith("0") else 0
            words[at] = f"{number:0{width}d}"
        return self.root + "".join(words)

    def _words(self, path: str) -> list[str]:
        """Below the root; every second one a number."""
        return re.split(r"(\d+)", path.removeprefix(self.root))


def _differs(one: Sequence[str], rank: int, other: Sequence[str], owner: int) -> list[int]:
    """Which words, when only numbers differ, and each by as much as the ranks."""
    if len(one) != len(other) or any(a != b for a, b in zip(one[::2], other[::2], strict=True)):
        return []
    places = [at for at in range(1, len(one), 2) if one[at] != other[at]]
    right = all(int(one[at]) - rank == int(other[at]) - owner for at in places)
    return places if right else []


# ---- is it regular?


def _check(same: _Resizing, for_what: str) -> None:
    """Does the run itself come out?"""
    for rank, given in enumerate(same.recorded.calls):
        like = same.job.like(rank)
        again = same.rank(rank, for_what)
        for number, (a, b) in enumerate(zip_longest(again, given)):
            if a is None or b is None:
                raise RunError(
                    f"{for_what}: it is not regular: rank {rank} makes {len(given):,} calls, rank {like} {len(again):,}"
                )
            if _comparable(a, same) != _comparable(b, same):
                raise RunError(
                    f"{for_what}: it is not regular: call {number + 1} of rank {rank} is {_words(b)}, that of rank"
                    f" {like}, at its place, {_words(a)}"
                )


def _comparable(call: Call, resizing: _Resizing) -> tuple[object, ...]:
    """All that a replay takes from a call."""
    one = _of(resizing.recorded.objects, call.object)
    view, shape = _of(resizing.views, call.selection), _of(resizing.shapes, call.selection)
    arguments = {key: value for key, value in call.arguments.items() if key not in OUTCOMES}
    return (
        call.layer, call.op, call.path, call.offset, call.size, call.bytes, call.failed, arguments,
        one.path if one and call.layer == "hdf5" and one.row["class"] != "hdf5_file" else None,
        (view.displacement, view.period, [settled(part) for part in view.parts]) if view else None,
        sorted(shape.boxes.tolist()) if shape and shape.boxes is not None and not view else None,
    )  # fmt: skip


def _words(call: Call) -> str:
    where = f" at byte {call.offset:,}" if call.offset is not None else ""
    many = f" of {call.size:,} bytes" if call.size is not None else ""
    return f"{call.op} on {_last(call.path)}{many}{where}"
