"""The access patterns of a run: distributions of its arrays, use of its files, order of its calls.

After Behzad et al., ACM TOPC 5(4):15 (2019), section 9 (H5Analyze). Everything stands on calls recorded in full, on the
highest layer that they were made on. Errors: `fathom.errors.RunError` of a damaged run.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from fathom.analysis import Source
from fathom.analysis.distribution import hpf
from fathom.analysis.distribution.access import Access, Pieces, access, pieces
from fathom.analysis.distribution.array import Distribution, distribution
from fathom.analysis.distribution.boxes import elements, merged, product
from fathom.analysis.distribution.facts import Facts, facts_of
from fathom.analysis.distribution.raw import raw
from fathom.analysis.distribution.shapes import shapes
from fathom.analysis.distribution.spans import size as volume
from fathom.analysis.distribution.touched import Touched, arrays
from fathom.analysis.distribution.uses import Use, uses
from fathom.analysis.when import When, when

# So many data calls are looked at; of more, an equal share of each thread's, from its first on. Of fewer the order is.
CALLS, ORDERED = 300_000, 100_000
# So many arrays are taken apart, those of the most bytes first.
ARRAYS = 3_000
HDF5_SUFFIXES = (".h5", ".hdf5", ".he5", ".nc4")
LAYERS = ("netcdf", "pnetcdf", "hdf5")


Way = tuple[Access, tuple[int, ...]]  # how parts of an array lie in it, and of which ranks


@dataclass(frozen=True)
class Pattern:
    """One array's: a dataset, a variable, bytes of a file."""

    file: int
    path: str
    layer: str
    name: str | None
    direction: str
    mode: str  # collective, independent, nonblocking, mixed
    extents: tuple[int, ...]
    element_bytes: int | None
    origin: int | None
    calls: int
    bytes: int
    first_start: int
    distribution: Distribution
    access: tuple[Way, ...]
    touched_bytes: int  # what moved once; of all ranks, each by itself
    pieces: Pieces | None  # of an irregular one
    forward: (
        float | None
    )  # by offsets: share of accesses that begin where the one before ended, or behind it
    why: str | None  # what of it is not known
    chunk: str | None
    below_hdf5: bool  # bytes of an HDF5 file

    @property
    def regular(self) -> bool:
        """Is its distribution known?"""
        return self.distribution.regular

    @property
    def key(self) -> str:
        """Of the pattern store."""
        of_bytes = self.layer not in LAYERS
        return hpf.key(
            self.layer, self.direction, self.mode, None if of_bytes else self.element_bytes, self.distribution
        )  # fmt: skip


@dataclass(frozen=True)
class Unplaced:
    """Calls that say nothing of where."""

    path: str
    layer: str
    direction: str
    what: str
    calls: int
    bytes: int


@dataclass(frozen=True)
class Patterns:
    """All of a run. `part`: the share of its data calls that was looked at, of those recorded in full."""

    ranks: int
    mpi: bool  # else processes stand for ranks
    data_calls: int  # reads and writes, also those that were counted only
    recorded: int
    part: float
    patterns: list[Pattern]
    arrays_left: int
    uses: list[Use]
    unplaced: list[Unplaced]
    when: When
    files: dict[int, str] = field(default_factory=dict)  # which group each file is of

    def only(self, wanted: Callable[[str], bool]) -> "Patterns":
        """The same of the files whose path is wanted."""
        return replace(
            self,
            patterns=[one for one in self.patterns if wanted(one.path)],
            unplaced=[one for one in self.unplaced if wanted(one.path)],
            uses=[use for use in self.uses if any(wanted(path) for path in use.paths)],
        )

    @property
    def bytes(self) -> int:
        """Of all data calls that were looked at."""
        return sum(one.bytes for one in self.patterns) + sum(one.bytes for one in self.unplaced)

    @property
    def explained(self) -> float | None:
        """Share of the bytes that lie in arrays whose distribution is known."""
        known = sum(one.bytes for one in self.patterns if one.regular)
        return known / self.bytes if self.bytes else None


def patterns(source: Source) -> Patterns:
    """Every array's pattern, the most bytes first, and how the files are used."""
    counts = _data_calls(source)
    part = {"inside": counts["inside"], "part": min(1.0, CALLS / max(1, counts["recorded"]))}
    known = shapes(source)
    every = [*arrays(source, known, part), *raw(source, known, part)]
    every.sort(
        key=lambda pattern: (-pattern.bytes, pattern.path, pattern.name or "", pattern.origin or 0)
    )
    facts = facts_of(source)
    by_key: dict[object, Any] = {}
    groups, files = uses(source, {**part, "part": min(1.0, ORDERED / max(1, counts["recorded"]))})
    return Patterns(
        facts.ranks,
        facts.mpi,
        counts["calls"],
        counts["recorded"],
        part["part"],
        [_pattern(pattern, facts, by_key) for pattern in every[:ARRAYS]],
        max(0, len(every) - ARRAYS),
        groups,
        [Unplaced(**row) for row in _unplaced(source, part)],
        when(source),
        files,
    )


def _data_calls(source: Source) -> dict[str, Any]:
    """How many reads and writes the program made itself, and whether any lie inside of what it named (top.sql)."""
    (row,) = source.sql("from data_calls()").to_pylist()
    return dict(row)


def _unplaced(source: Source, part: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for row in source.sql("from unplaced_accesses($inside, $part)", **part).to_pylist():
        row.pop("file")
        yield row


def _pattern(of: Touched, facts: Facts, by_key: dict[object, Any]) -> Pattern:
    held = tuple((rank, boxes.tobytes()) for rank, boxes in sorted(of.held.items()))
    key = (of.extents, of.element_bytes, held)
    if key not in by_key:
        shape = distribution(of.extents, of.held, facts.ranks)
        parts = None if shape.regular else pieces(of.held, of.element_bytes or 1)
        by_key[key] = (shape, *_accesses(of), parts)
    shape, ways, touched, parts = by_key[key]
    if of.unknown:
        shape = shape.as_irregular()
    return Pattern(
        of.file, of.path, of.layer, of.name, of.direction, of.mode,
        tuple(axis.extent for axis in shape.axes), of.element_bytes, of.origin, of.calls, of.bytes,
        of.first_start, shape, ways, touched, parts, facts.forward.get((of.file, of.layer, of.direction)),
        next(iter(of.unknown.values()), None), facts.chunks.get((of.file, of.name or "")),
        of.name is None and (of.file in facts.hdf5 or of.path.endswith(HDF5_SUFFIXES)),
    )  # fmt: skip


def _accesses(of: Touched) -> tuple[tuple[Way, ...], int]:
    """By how many ranks, the most first; and the bytes of all parts."""
    ranks: dict[Access, list[int]] = {}
    size = of.element_bytes or 1
    touched = 0
    for rank, boxes in sorted(of.held.items()):
        small = merged(boxes)
        if len(small):
            sets = product(small)
            ranks.setdefault(access(sets, of.extents, size), []).append(rank)
            # parts that are no product are made of boxes that may overlap: at most so much
            touched += size * (prod(map(volume, sets)) if sets else elements(small))
    ordered = sorted(ranks.items(), key=lambda item: -len(item[1]))
    return tuple((way, tuple(of)) for way, of in ordered), touched
