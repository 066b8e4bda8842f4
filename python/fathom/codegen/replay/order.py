"""What order the ranks' calls must keep, and what must be there before the first."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from fathom.codegen.replay.calls import Call

#: What a call does to a file: to its name or length; make it where it is not there; ask about it, and find it or not;
#: read; read past its end; write; move the pointer that ranks share.
CHANGES, MAKES, ASKS, MISSES, READS, ENDS, WRITES, POINTS = (
    "changes",
    "makes",
    "asks",
    "misses",
    "reads",
    "ends",
    "writes",
    "points",
)
#: Since when a name may be gone: of calls that miss it alone.
REMOVED = "removed"
#: After which of these by another rank each must come.
AFTER = {
    CHANGES: (CHANGES, MAKES, ASKS, MISSES, READS, ENDS, WRITES),
    MAKES: (CHANGES, MISSES),
    ASKS: (CHANGES, MAKES),
    MISSES: (CHANGES, REMOVED),
    READS: (CHANGES, WRITES),
    ENDS: (CHANGES, WRITES),
    WRITES: (CHANGES, ENDS),
    POINTS: (POINTS,),
}
ROUNDS = 20
LOCKS = ("fcntl", "flock", "lockf")
UNLOCKED = {"fcntl": ("lock", 2), "flock": ("operation", 8)}  # the argument that says so


@dataclass(frozen=True)
class Effect:
    """Of one call on one file. `end`: byte behind the last that it reads or writes; `length`: what it sets."""

    path: str
    does: str
    end: int = 0
    length: int | None = None
    creates: bool = False
    removes: bool = False


@dataclass
class Order:
    """`before`: per rank and call, how many barriers come before it; `lengths`: of files that must be there."""

    before: list[list[int]]
    barriers: int
    lengths: dict[str, int]
    directories: set[str] = field(default_factory=set)


def order(
    calls: Sequence[Sequence[Call]], effects: Callable[[Call], list[Effect]],
    together: Callable[[Call], Hashable | None], joins: Callable[[Call], bool],
) -> Order:  # fmt: skip
    """`together`: what the ranks' parts of one collective call share; `joins`: no rank leaves it before all came."""
    times = _times(calls, together)
    events = sorted(
        (
            (times[rank][at], call.stop, call)
            for rank, of_rank in enumerate(calls)
            for at, call in enumerate(of_rank)
        ),
        key=lambda event: (event[0], event[1]),
    )
    bounds = _boundaries(events, effects, together, joins, len(calls))
    bounds = _around_locks(bounds, _held(events))
    before = [[bisect_right(bounds, time) for time in of_rank] for of_rank in times]
    return Order(before, len(bounds), _lengths(events, effects))


def _times(
    calls: Sequence[Sequence[Call]], together: Callable[[Call], Hashable | None]
) -> list[list[int]]:
    """When each call took place: a collective one at the same time on all ranks, none before an earlier one."""
    times = [[_moment(call) for call in one] for one in calls]
    for _ in range(ROUNDS):
        groups: dict[Hashable, int] = {}
        for of_rank, own in zip(calls, times, strict=True):
            latest = 0
            for at, call in enumerate(of_rank):
                latest = own[at] = max(latest, own[at])
                key = together(call)
                if key is not None:
                    groups[key] = max(groups.get(key, 0), own[at])
        changed = False
        for of_rank, own in zip(calls, times, strict=True):
            for at, call in enumerate(of_rank):
                key = together(call)
                if key is not None and own[at] < groups[key]:
                    own[at], changed = groups[key], True
        if not changed:
            break
    return times


def _moment(call: Call) -> int:
    """When a call took effect: a lock is had when it ends; what another removed meanwhile is missed by then; the shared
    pointer has moved when the data do."""
    if call.op in LOCKS or (call.failed and call.op in ("unlink", "rmdir")):
        return call.stop
    return call.start if call.moved is None else call.moved


@dataclass
class _Seen:
    """What was done since all ranks met last."""

    done: dict[tuple[str, str], dict[int, int]] = field(
        default_factory=lambda: defaultdict(dict)
    )  # file, what: rank: end
    length: dict[str, int] = field(default_factory=dict)  # of files when all met
    written: dict[tuple[str, int], int] = field(default_factory=dict)  # by file and rank: how far

    def wait_for_all(self) -> None:
        """All that was done is seen by all from here on."""
        for (path, _), end in self.written.items():
            self.length[path] = max(self.length.get(path, 0), end)
        self.done.clear()

    def waits(self, call: Call, effect: Effect) -> bool:
        """Did the call need what another rank had done before?"""
        path, rank = effect.path, call.rank
        after = AFTER[effect.does]
        if effect.does == ASKS and rank in self.done[path, MAKES]:
            after = (CHANGES,)
        known = max(self.length.get(path, 0), self.written.get((path, rank), 0))
        if effect.does == READS and effect.end <= known:
            after = (CHANGES,)
        if effect.does == WRITES and effect.end <= self.length.get(path, 0):
            after = (CHANGES,)
        start = _moment(call)
        return any(
            other != rank and stop < start
            for what in after
            for other, stop in self.done[path, what].items()
        )

    def add(self, call: Call, effect: Effect) -> None:
        """One call's effect more."""
        path, rank = effect.path, call.rank
        of_rank = self.done[path, effect.does]
        stop = _moment(call) if effect.does == POINTS else call.stop
        of_rank[rank] = min(of_rank.get(rank, stop), stop)
        if effect.removes:
            removed = self.done[path, REMOVED]
            removed[rank] = min(removed.get(rank, call.start), call.start)
        if effect.does == WRITES:
            self.written[path, rank] = max(self.written.get((path, rank), 0), effect.end)
        if effect.length is not None or effect.removes:
            self.length[path] = effect.length or 0
            self.written = {key: end for key, end in self.written.items() if key[0] != path}


def _boundaries(
    events: Sequence[tuple[int, int, Call]], effects: Callable[[Call], list[Effect]],
    together: Callable[[Call], Hashable | None], joins: Callable[[Call], bool], ranks: int,
) -> list[int]:  # fmt: skip
    """Times at which all ranks meet, since a call then saw what another rank's had done."""
    bounds: list[int] = []
    seen = _Seen()
    joined: dict[Hashable, int] = defaultdict(int)
    parts: dict[Hashable, list[Call]] = defaultdict(list)
    for _, _, call in events:
        parts[together(call)].append(call)
    for time, _, call in events if ranks > 1 else []:
        key, effects_of = together(call), effects(call)
        # The first part of a collective call waits for all of them.
        waiting = [call] if key is None else parts.pop(key, [])
        if any(seen.waits(one, effect) for one in waiting for effect in effects(one)):
            bounds.append(time)
            seen.wait_for_all()
        for effect in effects_of:
            seen.add(call, effect)
        if key is not None and joins(call):
            joined[key] += 1
            if joined[key] == ranks:
                seen.wait_for_all()
    return bounds


@dataclass(frozen=True)
class _Lock:
    """From when until when a rank had it, and on which bytes."""

    path: str
    rank: int
    start: int
    stop: int
    first: int
    end: float

    def excludes(self, other: "_Lock") -> bool:
        """Not both at once."""
        return (
            self.path == other.path
            and self.rank != other.rank
            and self.first < other.end
            and other.first < self.end
        )


def _held(events: Sequence[tuple[int, int, Call]]) -> list[_Lock]:
    """Locks of all ranks. One that is not given back, or with the file's close, ends with the calls."""
    held: list[_Lock] = []
    open_: dict[tuple[str, int], list[tuple[int, int, float]]] = defaultdict(list)
    for time, _, call in events:
        key = call.path, call.rank
        ends = call.op in ("close", "MPI_File_close") or _unlocks(call)
        if ends:
            held += [
                _Lock(*key, start, time, first, end) for start, first, end in open_.pop(key, [])
            ]
        elif call.op in LOCKS and not call.failed and _locks(call):
            first = int(call.arguments.get("start", 0))
            size = int(call.arguments.get("length", 0))
            open_[key].append((time, first, first + size if size else float("inf")))
    for key, rest in open_.items():
        held += [_Lock(*key, start, events[-1][0] + 1, first, end) for start, first, end in rest]
    return held


def _unlocks(call: Call) -> bool:
    name, value = UNLOCKED.get(call.op, ("", 0))
    return bool(name) and int(call.arguments.get(name, 0)) == value


def _locks(call: Call) -> bool:
    """It waits until it has a lock, or tries to have one."""
    return call.op != "fcntl" or int(call.arguments.get("cmd", 0)) in (6, 7, 37, 38)


def _around_locks(bounds: list[int], locks: Sequence[_Lock]) -> list[int]:
    """A rank that meets the others with a lock in hand must not have had it before one that gave it back first."""
    every = set(bounds)
    while True:
        cut = sorted(every)
        more = set()
        for lock in locks:
            at = bisect_right(cut, lock.start)
            if at == len(cut) or cut[at] > lock.stop or lock.start in every:
                continue
            before = cut[at - 1] if at else -1
            if any(other.excludes(lock) and before <= other.start < lock.start for other in locks):
                more.add(lock.start)
        if not more:
            return cut
        every |= more


def _lengths(
    events: Sequence[tuple[int, int, Call]], effects: Callable[[Call], list[Effect]]
) -> dict[str, int]:
    """Files that were there before the run, and how long they must be."""
    now: dict[str, int] = {}  # those that are there
    seen: set[str] = set()
    lengths: dict[str, int] = {}
    for _, _, call in events:
        for effect in effects(call):
            path = effect.path
            if effect.does == MISSES:
                seen.add(path)
            if effect.does in (MISSES, POINTS):
                continue
            if path not in now:
                now[path] = 0
                if not effect.creates and (path not in seen or path in lengths):
                    lengths.setdefault(path, 0)
            seen.add(path)
            if effect.does in (READS, ENDS) and effect.end > now[path]:
                lengths[path] = max(lengths.get(path, 0), effect.end)
            if effect.length is not None:
                now[path] = effect.length
            now[path] = max(now[path], effect.end)
            if effect.removes:
                del now[path]
    return lengths
