"""Which calls a layer's calls on a file were made in, where only sums are known: those of the nearest layer above whose
seconds have room for theirs. So a layer that was not timed, or only partly recorded, hides nothing below it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from fathom.interop.imports.lines import ALL, SUM, Op

# Layers that call a layer: nearest first.
ABOVE = {
    "posix": ("mpiio", "pnetcdf", "hdf5"), "mpiio": ("pnetcdf", "hdf5"), "dfs": ("mpiio", "pnetcdf", "hdf5"),
    "daos": ("dfs",),
}  # fmt: skip


@dataclass
class _Time:
    """Of an op on a file: ns by rank."""

    of: Counter[int] = field(default_factory=Counter)

    def within(self, ranks: Collection[int], of: int) -> int:
        """ns of these ranks; of what all `of` ranks did together each has an equal part."""
        if ALL in ranks:
            return self.of.total()
        return sum(self.of[rank] for rank in ranks) + self.of[ALL] * len(ranks) // of


class Enclosing:
    """Of the sums of all ranks, or of single ones."""

    def __init__(self, sums: Iterable[tuple[str, Op, int, int]], ranks: int) -> None:
        """Of files: an op, a rank and its ns; `ranks`: how many there are."""
        self._number = ranks
        self._known: dict[tuple[str, str], dict[Op, _Time]] = defaultdict(
            lambda: defaultdict(_Time)
        )
        # Of each file and layer: ns in which no lower call is placed yet.
        self._room: Counter[tuple[str, str]] = Counter()
        for file, op, rank, time in sums:
            self._known[(file, op.layer)][op].of[rank] += time
            self._room[(file, op.layer)] += time
        self._within: dict[tuple[str, Op], Op | None] = {}
        every = [
            (file, op, known) for (file, _), ops in self._known.items() for op, known in ops.items()
        ]
        # What took longest is placed first.
        for file, op, known in sorted(
            every, key=lambda one: (one[0], -one[1].height, -one[2].of.total())
        ):
            self._within[(file, op)] = self._place(file, op, known)

    def of(self, file: str, op: Op, rank: int) -> Op | None:
        """What these calls were made in; None: in the program."""
        key = (file, op)
        around = self._within[key] if key in self._within else self._place(file, op, _Time())
        if around is None:
            return None
        ranks = self._known[(file, around.layer)][around].of
        return around if rank in ranks or ALL in ranks else None

    def differs(self, file: str, op: Op) -> bool:
        """Were only some ranks' calls made in others?"""
        around = self._within.get((file, op))
        return around is not None and ALL not in self._known[(file, around.layer)][around].of

    def _place(self, file: str, op: Op, known: _Time) -> Op | None:
        for layer in ABOVE.get(op.layer, ()):
            room = self._room[(file, layer)]
            above = {
                around: known.within(time.of, self._number)
                for around, time in self._known.get((file, layer), {}).items()
            }
            fit = [around for around, needs in above.items() if needs <= room]
            if fit:
                around = min(fit, key=lambda around: _distance(op, around))
                self._room[(file, layer)] -= above[around]
                return around
        return None


def _distance(op: Op, around: Op) -> tuple[bool, bool, int, str]:
    """The same kind of call comes first, then one that moves data, as MPI-IO's writes read, then an open.

    Sums of metadata are opens and closes first of all: they lie in such a sum, else in an open.
    """
    kinds = ("write", "read", "meta", "open")
    rank = kinds.index(around.kind) if around.kind in kinds else len(kinds)
    kind = "open" if op.name == SUM else op.kind
    return (op.name != SUM or around.name != SUM, around.kind != kind, rank, around.name)
