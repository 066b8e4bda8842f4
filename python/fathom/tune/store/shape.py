"""What is compared: of each group of files, the pattern of its largest datasets.

Behzad et al., ACM TOPC 5(4):15 (2019), 10.3.3: of FLASH's 34 datasets the 24 that are as large as the largest stand for
the file. So does here the key of the dataset that moved most bytes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fathom.analysis import Remembered
from fathom.analysis.distribution.axis import IRREGULAR, WHOLE
from fathom.analysis.distribution.patterns import Pattern, Patterns, patterns
from fathom.run.store import Run

KEY = re.compile(r"(\w+) (read|write) ([a-z]+) (\d+|-) \(([^()\s]+(?:\(k\)[^()\s]*)*)\)((?: \w+)*)")


@dataclass(frozen=True)
class Parts:
    """What a key says."""

    layer: str
    direction: str
    mode: str
    element_bytes: int  # 1: bytes of a file
    axes: tuple[str, ...]
    remarks: frozenset[str]  # ghosts, holes, copies

    @property
    def regular(self) -> bool:
        """Is its distribution known? Irregular ones have nothing in common."""
        return IRREGULAR not in self.axes

    @property
    def laid_out(self) -> tuple[str, ...]:
        """Dimensions as they lie in a file: whole ones side by side are one, the fastest go with what is before."""
        axes: list[str] = []
        for axis in self.axes:
            if axis != WHOLE or axes[-1:] != [WHOLE]:
                axes.append(axis)
        return tuple(axes[:-1] if axes[-1:] == [WHOLE] else axes)


@dataclass(frozen=True)
class Shape:
    """The pattern of one group's largest datasets, and its sizes."""

    key: str
    ranks: int  # that touch them
    arrays: int  # datasets, variables, stretches of bytes with this key
    bytes: int  # that they moved
    rank_bytes: float  # of one rank in one of them
    run_bytes: int  # in one piece; 0: not known
    share: float  # of the group's bytes

    @cached_property
    def parts(self) -> Parts:
        """Raises ValueError when the key is none."""
        match = KEY.fullmatch(self.key)
        if not match:
            raise ValueError(f"'{self.key}' is no key of a pattern")
        layer, direction, mode, element, axes, remarks = match.groups()
        size = 1 if element == "-" else int(element)
        words = frozenset(remarks.split())
        return Parts(layer, direction, mode, size, tuple(axes.split(",")), words)


@dataclass(frozen=True)
class Group:
    """Files that are named alike."""

    files: str
    paths: tuple[str, ...]
    file_system: str
    datasets: tuple[str, ...]
    shape: Shape


def groups(run: Run, seen: Patterns | None = None) -> list[Group]:
    """Of a run, the most bytes first; what says nothing of where has none. Raises RunError of a damaged run."""
    seen = seen or patterns(Remembered(run))
    rows = run.sql("select path, file_system from files").to_pylist()
    systems = {row["path"]: row["file_system"] or "" for row in rows}
    alike: dict[str, list[Pattern]] = {}
    for pattern in seen.patterns:
        alike.setdefault(seen.files.get(pattern.file, pattern.path), []).append(pattern)
    ordered = sorted(alike.items(), key=lambda item: (-_bytes(item[1]), item[0]))
    return [_group(files, some, systems) for files, some in ordered]


def _bytes(some: Iterable[Pattern]) -> int:
    return sum(one.bytes for one in some)


def _group(files: str, some: Sequence[Pattern], systems: dict[str, str]) -> Group:
    paths = tuple(sorted({one.path for one in some}))
    names = tuple(sorted({one.name for one in some if one.name is not None}))
    return Group(files, paths, systems.get(paths[0], ""), names, _shape(some))


def _shape(some: Sequence[Pattern]) -> Shape:
    keys: dict[str, list[Pattern]] = {}
    for one in some:
        keys.setdefault(one.key, []).append(one)
    largest = max(one.bytes for one in some)
    key, of_key = max(
        ((key, them) for key, them in keys.items() if any(one.bytes == largest for one in them)),
        key=lambda item: (_bytes(item[1]), item[0]),
    )
    most = max(of_key, key=lambda one: one.bytes)
    ranks = max(1, len(most.distribution.ranks))
    runs = [way.run for way, _ in most.access if way.run]
    total = _bytes(some)
    return Shape(
        key, ranks, len(of_key), _bytes(of_key), most.bytes / ranks, min(runs, default=0),
        _bytes(of_key) / total if total else 0.0,
    )  # fmt: skip
