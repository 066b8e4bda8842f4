"""A replay that was recorded, beside what it should do: by layer, function, file, bytes and offsets."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from fathom.codegen.replay import posix
from fathom.codegen.replay.calls import DIRECTORIES, MOVES, Call, Recorded, read
from fathom.run.store import Run
from fathom.text import numbers

DATA = ("posix", "aio")  # layers that move what the ones above were asked for


@dataclass(frozen=True)
class Moved:
    """Calls of one function on one file, and their bytes."""

    calls: int
    bytes: int

    def __str__(self) -> str:
        return f"{numbers.things(self.calls, 'call')} of {self.bytes:,} bytes"


Totals = dict[tuple[str, str, str], Moved]  # by layer, function and file
Sequences = dict[tuple[int, str, str, str], list[tuple[int | None, ...]]]


@dataclass(frozen=True)
class Expected:
    """What a replay must do: the run's calls, and the data that lay below them; `below`: None where the run says
    nothing of it. `prepared`: names below the directory that are made before the first call."""

    recorded: Recorded
    called: frozenset[int]
    below: Totals | None
    prepared: frozenset[str]


def expected(
    run: Run, recorded: Recorded, called: Iterable[int], derived: bool, prepared: Iterable[str]
) -> Expected:
    """`made`: calls that the program makes; `derived`: on other ranks or of other sizes than the run's."""
    below = None if derived else _below(run, recorded, frozenset())
    return Expected(recorded, frozenset(called), below, frozenset(prepared))


def differences(expected: Expected, replayed: Run, directory: str) -> list[str]:
    """A line for each function on each file that did otherwise; none: the same. `directory`: of the replay's files."""
    layer = expected.recorded.layer
    again = read(replayed, layer, root=directory)
    before = _preparing(again, expected.prepared)
    wanted = _sequences(expected.recorded, lambda call: call.id in expected.called)
    seen = _sequences(again, lambda call: call.id not in before)
    lines = [
        _line(key, wanted.get(key, []), seen.get(key, []))
        for key in sorted(wanted.keys() | seen.keys())
        if wanted.get(key, []) != seen.get(key, [])
    ]
    if not lines and expected.below is not None:
        lines = _otherwise_below(expected.below, _below(replayed, again, before), layer)
    return lines


def _preparing(again: Recorded, prepared: frozenset[str]) -> frozenset[int]:
    """Calls of rank 0 that made what was there before the run: on each name up to its first close, or its mkdir."""
    waiting = set(prepared) | {"."}
    before: set[int] = set()
    for call in again.calls[0] if again.calls else []:
        name = _name(again, call)
        if call.layer == "posix" and name in waiting:
            before.add(call.id)
            if call.op in ("close", "closedir") or (call.op in DIRECTORIES and name != "."):
                waiting.discard(name)
    return frozenset(before)


def _name(recorded: Recorded, call: Call) -> str:
    """Below the directory of all files, or inside a file of HDF5."""
    path = PurePosixPath(call.path)
    below = path.is_relative_to(recorded.root) if recorded.root else False
    return str(path.relative_to(recorded.root)) if below else call.path


def _sequences(recorded: Recorded, chosen: Callable[[Call], bool]) -> Sequences:
    """By rank, function and file what each call asked for and did. Of requests their posts are looked at."""
    sequences: Sequences = defaultdict(list)
    for call in recorded.every():
        asking = call.kind == "wait" and not call.op.endswith("_end")
        if asking or not chosen(call):
            continue
        op = "open" if call.op in posix.OPENS else call.op.removesuffix("_c")
        offset = call.placed if call.placed is not None else call.offset
        values = (call.size, offset, call.bytes, int(call.failed))
        sequences[call.rank, call.layer, op, _name(recorded, call)].append(values)
    return sequences


def _line(
    key: tuple[int, str, str, str],
    wanted: list[tuple[int | None, ...]],
    seen: list[tuple[int | None, ...]],
) -> str:
    rank, layer, op, name = key
    first = f"rank {rank}: {op} ({layer}) on {name}: "
    for at, (one, other) in enumerate(zip(wanted, seen, strict=False), 1):
        for what, a, b in zip(("size", "offset", "bytes", "failed"), one, other, strict=True):
            if a != b:
                return f"{first}call {at} of {len(wanted)}: {what} {_text(a)} in the run, {_text(b)} here"
    return f"{first}{numbers.things(len(wanted), 'call')} in the run, {len(seen)} here"


def _text(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"


def _below(run: Run, recorded: Recorded, without: frozenset[int]) -> Totals:
    """Data that moved below the calls of the layer, by function and file."""
    root = f"{recorded.root.rstrip('/')}/"
    files = sorted({call.path for call in recorded.every() if call.path.startswith(root)})
    layers = ["mpiio", *DATA] if recorded.layer == "hdf5" else list(DATA)
    rows = run.sql(
        "from replay_moved($files, $layers, $kinds, $without)",
        files=files, layers=layers, kinds=list(MOVES), without=list(without),
    ).to_pylist()  # fmt: skip
    return {
        (row["layer"], row["op"], row["path"].removeprefix(root)): Moved(row["calls"], row["bytes"])
        for row in rows
    }


def _otherwise_below(wanted: Totals, seen: Totals, replayed: str) -> list[str]:
    """Each with its reason. Calls of layer posix are none of the library's: they are compared one by one."""
    nothing = Moved(0, 0)
    lines = []
    for key in sorted(wanted.keys() | seen.keys()) if replayed != "posix" else []:
        one, other = wanted.get(key, nothing), seen.get(key, nothing)
        layer, op, name = key
        why = f"the library below {replayed} divides its work in another way here"
        if one.calls == other.calls:
            why = "the file reached less or more far when it was read"
        if one != other:
            lines.append(f"{op} ({layer}) on {name}: {one} in the run, {other} here: {why}")
    return lines
