"""When in a run something went on: parts of the run, and the words for them."""

from collections.abc import Sequence
from itertools import pairwise

QUIET = 0.1  # of the busiest part: less is not said to be activity
THROUGHOUT = 0.8  # of the parts
REGULAR = 0.2  # of the mean distance: how far distances of bursts may be from it


def spans(parts: Sequence[float]) -> list[tuple[int, int]]:
    """First part and the one after the last of each stretch of activity."""
    least = QUIET * max(parts, default=0.0)
    found: list[tuple[int, int]] = []
    for at, value in enumerate(parts):
        if value <= 0 or value < least:
            continue
        if found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found


def _distance(found: Sequence[tuple[int, int]]) -> float | None:
    """Mean parts from burst to burst; None when they come irregularly."""
    steps = [after[0] - before[0] for before, after in pairwise(found)]
    mean = sum(steps) / len(steps)
    # Where a burst begins is known to one part.
    even = all(abs(step - mean) <= max(1.0, REGULAR * mean) for step in steps)
    return mean if even and len(steps) > 1 else None


def words(parts: Sequence[float], run_seconds: float) -> tuple[str, float | None]:
    """`throughout`, `at the end`, `in 5 bursts`…, and the seconds from burst to burst if they come regularly."""
    found = spans(parts)
    if not found:
        return "never", None
    count = len(parts)
    first, last = found[0][0] / count, found[-1][1] / count
    if sum(stop - start for start, stop in found) >= THROUGHOUT * count:
        return "throughout", None
    if len(found) > count / 6:
        return "on and off", None
    if len(found) > 1:
        step = _distance(found)
        return f"in {len(found)} bursts", step and step / count * run_seconds
    if first < 0.05 and last <= 0.25:
        return "at the start", None
    if last > 0.95 and first >= 0.75:
        return "at the end", None
    return f"from {100 * first:.0f} to {100 * last:.0f} %", None
