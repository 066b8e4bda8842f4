"""System calls that fail once: never data, never silent, and the program's own are its own."""

from __future__ import annotations

import functools
import random
from pathlib import Path

from harness import faults, injected, paths, readers

from torture.part import Part, shared

#: Faults a round; finding all that are possible takes as long as ten of them.
ROUND = 5
TINY = paths.PROGRAMS / "programs" / "tiny"


@functools.cache
def sweepable(name: str) -> tuple[faults.Case, faults.Result, list[injected.Fault]]:
    case = readers.case(name, shared() / "place")
    right = faults.right_one(case)
    return case, right, faults.possible(case)


def of_a_reader(_: Path, seed: int) -> int:
    chance = random.Random(seed)
    name = chance.choice(
        [*readers.COMMANDS, *readers.TOGETHER, *(one for one in readers.READERS if one != "report")]
    )
    case, right, possible = sweepable(name)
    for fault in chance.sample(possible, min(ROUND, len(possible))):
        line = faults.wrong(case, fault, right, readers.said(name))
        assert not line, f"{name}: {line}"
    return ROUND


@functools.cache
def tiny() -> tuple[injected.Outcome, list[injected.Fault], list[injected.Fault]]:
    """What the program does bare, and the faults of what Fathom does in it and around it."""
    place = shared()
    for name in ("bare", "looked"):
        (place / name).mkdir()
    bare = injected.outcome([str(TINY), str(place / "bare")], place / "bare")
    program = [str(TINY), str(place / "looked")]
    inside = injected.faults(injected.made_by_fathom(program, place))
    return bare, inside, injected.faults(injected.made_by_the_command(program, place))


def of_a_program(place: Path, seed: int) -> int:
    chance = random.Random(seed)
    bare, inside, around = tiny()
    for at, fault in enumerate(chance.sample(inside, ROUND)):
        outcome = injected.with_fault(TINY, fault, place / f"in{at}")
        assert outcome == bare, f"in the program: {fault}: {outcome}"
    for at, fault in enumerate(chance.sample(around, ROUND)):
        outcome = injected.with_fault_in_command(TINY, fault, place / f"around{at}")
        assert outcome == bare or outcome.refused, f"around the program: {fault}: {outcome}"
    return 2 * ROUND


PARTS = (
    Part(
        "fail-reader",
        "a reader whose system call fails says so, or answers right (its run without a fault)",
        "faults",
        of_a_reader,
    ),
    Part(
        "fail-program",
        "a program is as it is bare, or is refused before it starts (its status, output, files)",
        "faults",
        of_a_program,
    ),
)
