"""The order of a rank's calls on files as a small grammar: what repeats is written once."""

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 64  # calls of one repeated group
MOST = 4096  # calls that are looked at


@dataclass(frozen=True)
class Again:
    """Steps that were made `count` times in a row."""

    count: int
    steps: tuple["Step", ...]


Step = str | Again


def fold(calls: Sequence[str]) -> tuple[Step, ...]:
    """Repetitions of up to LONGEST steps, those inside others too, the shortest first."""
    steps: list[Step] = list(calls[:MOST])
    while True:
        before = len(steps)
        for length in range(1, min(LONGEST, len(steps) // 2) + 1):
            steps = _fold(steps, length)
        if len(steps) == before:
            return tuple(steps)


def _fold(steps: Sequence[Step], length: int) -> list[Step]:
    """Neighbouring equal groups of that length as one."""
    folded: list[Step] = []
    at = 0
    while at < len(steps):
        group = steps[at : at + length]
        count = 1
        while steps[at + count * length : at + (count + 1) * length] == group:
            count += 1
        if count > 1:
            folded.append(Again(count, tuple(group)))
            at += count * length
        else:
            folded.append(steps[at])
            at += 1
    return folded


def text(steps: Sequence[Step]) -> str:
    """`open, 8 x (create, write, close), close`."""
    return ", ".join(_word(step) for step in steps)


def _word(step: Step) -> str:
    if isinstance(step, str):
        return step
    inside = text(step.steps)
    return f"{step.count} x {inside}" if len(step.steps) == 1 else f"{step.count} x ({inside})"
