"""Hints from what a run did with a file, or with files that are named alike."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from pathlib import Path, PurePosixPath

from fathom.analysis import Source
from fathom.analysis.distribution.hpf import directives
from fathom.analysis.distribution.patterns import Pattern, Patterns
from fathom.analysis.distribution.uses import Use
from fathom.codegen.generate.spec import SIZES
from fathom.codegen.hints import file, header
from fathom.codegen.hints.decomposition import Inexpressible, in_elements, statements, unrolled
from fathom.codegen.hints.header import Maker
from fathom.codegen.hints.sketch import Sketch, name_of
from fathom.errors import RunError, UsageError, printable
from fathom.text import numbers

BY_SIZE = {1: "int8", 2: "int16", 4: "float32", 8: "float64"}
MOST = 12  # groups of files that a message names


@dataclass(frozen=True)
class Observed:
    """What the run did with one file, or with the files that stand for it: reads or writes below all libraries."""

    files: int
    reads: float
    writes: float


@dataclass(frozen=True)
class Group:
    """Files named alike; `sets`: of each time they were used the files, one per rank or one for all."""

    use: Use
    patterns: list[Pattern]
    per_process: bool

    @property
    def sets(self) -> int:
        files = {pattern.file for pattern in self.patterns}
        return max(1, len(files) // len(self.use.ranks)) if self.per_process else len(files)


def group_of(seen: Patterns, name: str) -> Group:
    """The one group of files that was written, else read; UsageError where there are several."""
    by_group: dict[str, list[Pattern]] = defaultdict(list)
    for pattern in seen.patterns:
        by_group[seen.files.get(pattern.file, pattern.path)].append(pattern)
    for direction in ("write", "read"):
        chosen = [
            key for key, all_ in by_group.items() if any(p.direction == direction for p in all_)
        ]
        if len(chosen) > 1:
            group_names = ", ".join(sorted(chosen)[:MOST])
            raise UsageError(
                f"generate: {name} has {len(chosen)} groups of files, say one by --files GLOB: {printable(group_names)}"
            )
        if chosen:
            use = next(one for one in seen.uses if one.files == chosen[0])
            return Group(use, by_group[chosen[0]], use.use == "per process" and len(use.ranks) > 1)
    raise RunError(f"{name}: no array of a file was seen")


def library_of(group: Group) -> str:
    """That of the files' format: HDF5's where they are files of HDF5."""
    hdf5 = any(one.layer == "hdf5" or one.below_hdf5 for one in group.patterns)
    return "hdf5" if hdf5 else "pnetcdf"


def observed(source: Source, group: Group) -> Observed:
    """Calls of one set of files."""
    files = sorted({pattern.file for pattern in group.patterns})
    (row,) = source.sql("from raw_calls($files)", files=files).to_pylist()
    own = {d: sum(p.calls for p in group.patterns if p.direction == d) for d in ("read", "write")}
    sets = group.sets
    return Observed(
        len(files) // sets,
        (row["reads"] or own["read"]) / sets,
        (row["writes"] or own["write"]) / sets,
    )


def title_of(files: str) -> str:
    """What functions for these files are called by: `flash_chk` for `flash_chk_*.h5`."""
    stem = PurePosixPath(files).name.partition(".")[0].replace("*", "")
    return name_of(stem.rstrip("_-") or stem, set())


def sketch(seen: Patterns, group: Group, run: str, library: str, kind: str | None) -> Sketch:
    """`kind`: the type of elements where only bytes were seen."""
    use = group.use
    name = title_of(use.files)
    hints = Sketch(name, library, seen.ranks, _remarks(group, run, seen.ranks))
    maker = Maker(hints)
    arrays: dict[Key, list[Pattern]] = defaultdict(list)
    for one in sorted(_first_set(group), key=lambda one: (one.first_start, one.origin or 0)):
        arrays[one.name, one.origin].append(one)
    headers: dict[str, header.Header | None] = {}
    for number, (_, patterns) in enumerate(sorted(arrays.items(), key=_origin), 1):
        path = patterns[0].name or ("data" if len(arrays) == 1 else f"data{number}")
        try:
            _Arrays(maker, seen.ranks, kind, headers).add(path, patterns, group.per_process)
        except Inexpressible as why:
            hints.left_out.append(f"{path}: {why}")
    if not hints.arrays:
        raise RunError(f"{run}: {use.files}: hints cannot say it: {'; '.join(hints.left_out)}")
    _attributes(maker, headers, group)
    return hints


Key = tuple[str | None, int | None]  # an array's name, or where bytes without one begin


def _origin(item: tuple[Key, list[Pattern]]) -> int:
    return item[0][1] or 0


def _first_set(group: Group) -> list[Pattern]:
    """Patterns of the first file, or of the first file of each rank."""
    first: dict[tuple[int, ...], str] = {}
    for pattern in sorted(group.patterns, key=lambda pattern: pattern.path):
        first.setdefault(pattern.distribution.ranks if group.per_process else (), pattern.path)
    first_paths = set(first.values())
    return [pattern for pattern in group.patterns if pattern.path in first_paths]


def _remarks(group: Group, run: str, ranks: int) -> list[str]:
    use = group.use
    remarks = [f"From the run {run}, of {numbers.things(ranks, 'rank')}: {use.files}."]
    if group.per_process:
        remarks.append(
            f"Each of {len(use.ranks)} ranks had a file of its own; here they are one file."
        )
    if group.sets > 1:
        remarks.append(f"There were {group.sets} like this: call the functions for each.")
    return remarks


def _attributes(maker: Maker, headers: dict[str, header.Header | None], group: Group) -> None:
    """Of a file that is still there, and has a header."""
    names = {array.path: array.name for array in maker.sketch.arrays}
    known = next((one for one in headers.values() if one), None)
    if known is None or group.per_process:
        return
    for attribute in known.attributes:
        if attribute.variable is None or attribute.variable in names:
            maker.attribute(names[attribute.variable] if attribute.variable else None, attribute)


@dataclass
class _Arrays:
    """Adds arrays to a sketch, one after another."""

    maker: Maker
    ranks: int
    kind: str | None
    headers: dict[str, header.Header | None]

    def add(self, path: str, patterns: Sequence[Pattern], per_process: bool) -> None:
        """An array that was written, or read, or both."""
        by_direction: dict[str, list[Pattern]] = defaultdict(list)
        for pattern in patterns:
            by_direction[pattern.direction].append(pattern)
        first = next(iter(by_direction.values()))
        kind, remark = self._type(first[0])
        accesses: dict[str, tuple[list[str], list[str], list[str]]] = {}
        for direction, patterns_of in by_direction.items():
            accesses[direction] = (
                self._stack(patterns_of, kind)
                if per_process
                else self._shared(patterns_of[0], kind)
            )
        dims = next(iter(accesses.values()))[0]
        if any(access[0] != dims for access in accesses.values()):
            raise Inexpressible("it was read as an array of another shape than it was written")
        remarks = [f"{d}: {line}" for d, access in accesses.items() for line in access[2]]
        array = self.maker.array(
            path, kind, self._names(dims, first[0], per_process), (*remark, *remarks)
        )
        for direction, (_, lines, _) in accesses.items():
            points = self.maker.sketch.points.setdefault(direction, [])
            points += [line.format(*array.dimensions, array=array.name) for line in lines]

    def _type(self, pattern: Pattern) -> tuple[str, tuple[str, ...]]:
        """From the file's header, the user, or the size alone; and a remark."""
        if pattern.name is None:
            if self.kind:
                return self.kind, ()
            return "int8", ("only bytes were seen: --type TYPE says of what they are",)
        if pattern.path not in self.headers:
            path = Path(pattern.path)
            self.headers[pattern.path] = file.read(path) if file.kind_of(path) else None
        known = self._in_header(pattern)
        if known and known.type:
            return known.type, ()
        size = pattern.element_bytes or 1
        if size not in BY_SIZE:
            raise Inexpressible(f"elements of {size} bytes")
        return BY_SIZE[size], (f"elements of {size} bytes were seen; their type is a guess",)

    def _in_header(self, pattern: Pattern) -> header.Variable | None:
        known = self.headers.get(pattern.path)
        wanted = (pattern.name or "").strip("/")
        return next((v for v in known.variables if v.path == wanted), None) if known else None

    def _names(self, dims: list[str], pattern: Pattern, per_process: bool) -> list[str]:
        """Of the header where it has as many, else by length."""
        known = None if per_process else self._in_header(pattern)
        if known and len(known.dimensions) == len(dims):
            return [
                self.maker.dimension(of.key, of.name, length)
                for of, length in zip(known.dimensions, dims, strict=True)
            ]
        return [
            self.maker.dimension("files", "files", length)
            if length == "nprocs"
            else self.maker.length(int(length))
            for length in dims
        ]

    def _shared(self, pattern: Pattern, kind: str) -> tuple[list[str], list[str], list[str]]:
        """Lengths, statements, remarks of an array of a file that the ranks share."""
        if pattern.why:
            raise Inexpressible(pattern.why)
        of = unrolled(pattern.distribution)
        if pattern.name is None:
            of = replace(of, axes=in_elements(of.axes, SIZES[kind]))
        dims = [str(axis.extent) for axis in of.axes]
        slots = [f"{{{at}}}" for at in range(len(dims))]
        lines = statements(
            of, slots, "{array}", "{array}", self.ranks, pattern.direction == "write"
        )
        partly = any(axis.touched < axis.extent for axis in of.axes)
        if partly and pattern.direction == "write":
            self.maker.sketch.fill = True
        size = prod(axis.touched for axis in of.axes) * SIZES[kind]
        remark = f"{numbers.things(pattern.calls, 'call')} of {pattern.layer}, {pattern.mode}, {size:,} bytes"
        return dims, lines, [remark, *directives(pattern.name or "data", pattern.distribution)]

    def _stack(
        self, patterns: Sequence[Pattern], kind: str
    ) -> tuple[list[str], list[str], list[str]]:
        """Arrays of files of one rank each: side by side where they are alike, else one behind another."""
        parts = sorted(patterns, key=lambda pattern: pattern.distribution.ranks)
        shapes = [self._whole(part, kind) for part in parts]
        remark = (
            f"{sum(part.calls for part in parts):,} calls of {parts[0].layer} in {len(parts)} files"
        )
        ranks = [part.distribution.ranks[0] for part in parts]
        rest = range(1, len(shapes[0]) + 1)
        if len(set(shapes)) == 1 and ranks == list(range(self.ranks)):
            whole = ", ".join(f"0, {{{at}}}" for at in rest)
            line = f"array: *, {{array}}, rank, 1, {whole}, {{array}};"
            return ["nprocs", *map(str, shapes[0])], [line], [remark]
        if len({shape[1:] for shape in shapes}) > 1:
            raise Inexpressible("the ranks' files have arrays of different shapes")
        starts = [0, *accumulate(shape[0] for shape in shapes)]
        whole = "".join(f", 0, {{{at}}}" for at in rest[:-1])
        lines = [
            f"array: {rank}, {{array}}, {start}, {shape[0]}{whole}, {{array}};"
            for rank, start, shape in zip(ranks, starts, shapes, strict=False)
        ]
        return [str(starts[-1]), *map(str, shapes[0][1:])], lines, [remark]

    def _whole(self, pattern: Pattern, kind: str) -> tuple[int, ...]:
        """The shape of an array that one rank moved whole."""
        if pattern.why or not pattern.regular or len(pattern.distribution.ranks) != 1:
            raise Inexpressible(pattern.why or "it is not of one rank alone, or follows no rule")
        axes = pattern.distribution.axes
        if pattern.name is None:
            axes = in_elements(axes, SIZES[kind])
        if any(axis.touched != axis.extent for axis in axes):
            raise Inexpressible("only a part of each file was touched")
        return tuple(axis.extent for axis in axes)
