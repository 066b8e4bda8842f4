"""What order the ranks' calls must keep, and what must be there before the first."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from fathom.codegen.replay.calls import Call

#: What a call does to a file: to its name or length; make it where it is not there; ask about it, and find it or not;
#: read; write.
CHANGES, MAKES, ASKS, MISSES, READS, WRITES = (
    "changes",
    "makes",
    "asks",
    "misses",
    "reads",
    "writes",
)
#: After which of these by another rank each must come.
AFTER = {
    CHANGES: (CHANGES, MAKES, ASKS, MISSES, READS, WRITES),
    MAKES: (CHANGES, MISSES),
    ASKS: (CHANGES, MAKES),
    MISSES: (CHANGES,),
    READS: (CHANGES, WRITES),
    WRITES: (CHANGES,),
}
ROUNDS = 20


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
    before = [[bisect_right(bounds, time) for time in of_rank] for of_rank in times]
    return Order(before, len(bounds), _lengths(events, effects))


def _times(
    calls: Sequence[Sequence[Call]], together: Callable[[Call], Hashable | None]
) -> list[list[int]]:
    """When each call took place: a collective one at the same time on all ranks, none before an earlier one."""
    times = [[call.stop if _blocks(call) else call.start for call in one] for one in calls]
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


def _blocks(call: Call) -> bool:
    """A lock is had when the call ends."""
    return call.op in ("fcntl", "flock", "lockf")


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
        return any(
            other != rank and stop < call.start
            for what in after
            for other, stop in self.done[path, what].items()
        )

    def add(self, call: Call, effect: Effect) -> None:
        """One call's effect more."""
        path, rank = effect.path, call.rank
        of_rank = self.done[path, effect.does]
        of_rank[rank] = min(of_rank.get(rank, call.stop), call.stop)
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
    for time, _, call in events if ranks > 1 else []:
        key, effects_of = together(call), effects(call)
        if key is None and any(seen.waits(call, effect) for effect in effects_of):
            bounds.append(time)
            seen.wait_for_all()
        for effect in effects_of:
            seen.add(call, effect)
        if key is not None and joins(call):
            joined[key] += 1
            if joined[key] == ranks:
                seen.wait_for_all()
    return bounds


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
                continue
            if path not in now:
                now[path] = 0
                if not effect.creates and (path not in seen or path in lengths):
                    lengths.setdefault(path, 0)
            seen.add(path)
            if effect.does == READS and effect.end > now[path]:
                lengths[path] = max(lengths.get(path, 0), effect.end)
            if effect.length is not None:
                now[path] = effect.length
            now[path] = max(now[path], effect.end)
            if effect.removes:
                del now[path]
    return lengths
