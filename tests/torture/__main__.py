"""`python -m torture`: tries what must always hold, for as long as one likes; make torture SECONDS=N."""

from __future__ import annotations

import argparse
import fcntl
import os
import runpy
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness import needs, paths

from torture import failing, forwarding, fuzzers, kills, nodes, programs, strange
from torture.part import Part

PARTS = (
    *programs.PARTS, *kills.PARTS, *nodes.PARTS, *failing.PARTS, *fuzzers.PARTS, *strange.PARTS, *forwarding.PARTS,
)  # fmt: skip
MADE_BY_READERS = "fathom-scratch-*"


def is_nobodys(folder: Path) -> bool:
    """The process that made it lives no more: it has no lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


@dataclass
class Tried:
    part: Part
    seconds: float = 0.0
    rounds: int = 0
    tried: int = 0
    faults: list[int] = field(default_factory=list)

    def once(self, seed: int, into: Path) -> str:
        """One round; what was wrong. Its directory stays then."""
        place = into / f"{self.part.name}.{seed}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        begun = time.monotonic()
        wrong = ""
        try:
            self.tried += self.part.round(place, seed)
            left = list(filter(is_nobodys, into.glob(MADE_BY_READERS)))
            assert not left, f"left behind: {left[0]}"
            shutil.rmtree(place, ignore_errors=True)
        except Exception as error:  # whatever it is, the others go on
            self.faults.append(seed)
            last = traceback.extract_tb(error.__traceback__)[-1]
            wrong = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}"
        self.rounds += 1
        self.seconds += time.monotonic() - begun
        return wrong


def table(all_tried: Sequence[Tried]) -> str:
    """Markdown, as docs/reliability.md has it."""
    rows = ["| part | what holds, and who says so | tried | faults |", "|---|---|--:|--:|"]
    for one in all_tried:
        part = one.part
        rows.append(
            f"| {part.name} | {part.promise} | {one.tried:,} {part.unit} | {len(one.faults)} |"
        )
    return "\n".join(rows)


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800, help="in all (default: 1800)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round (default: 1)")
    parser.add_argument("--rounds", type=int, help="of each part, instead of seconds")
    parser.add_argument("--part", action="append", choices=[part.name for part in PARTS])
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Parts take turns so that each has the same time. Exit status 1: a fault."""
    asked = parsed(words)
    runpy.run_path(str(paths.ROOT / "conftest.py"))  # the surroundings of the tests
    needs.require(["strace"])
    into = Path(tempfile.mkdtemp(prefix="fathom-torture.", dir=paths.BUILD))
    os.environ["TMPDIR"] = tempfile.tempdir = str(into)
    wanted = [part for part in PARTS if part.name in (asked.part or part.name)]
    all_tried = [Tried(part) for part in wanted if not any(map(needs.missing, part.needs))]
    until = time.monotonic() + asked.seconds

    def is_over(one: Tried) -> bool:
        if asked.rounds is not None:
            return one.rounds >= asked.rounds
        return one.rounds > 0 and time.monotonic() > until

    while waiting := [one for one in all_tried if not is_over(one)]:
        one = min(waiting, key=lambda one: one.seconds)
        seed = asked.seed + one.rounds
        wrong = one.once(seed, into)
        if wrong:
            again = f"make torture ROUND='--part {one.part.name} --seed {seed} --rounds 1'"
            print(f"FAULT {one.part.name} {seed}: {wrong}\n  again: {again}", flush=True)
    print(table(all_tried))
    faults = sum(len(one.faults) for one in all_tried)
    if not faults:
        shutil.rmtree(into, ignore_errors=True)
    print(f"{sum(one.rounds for one in all_tried)} rounds, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
