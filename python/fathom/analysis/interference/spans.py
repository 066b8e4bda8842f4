"""Spans of time, (start, stop) in ns."""

from collections.abc import Iterable, Sequence

Span = tuple[int, int]


def moved(spans: Iterable[Span], by: int, duration: int) -> list[Span]:
    """Spans in another run's time, as far as that ran."""
    return [(a + by, b + by) for a, b in spans if b + by > 0 and a + by < duration]


def union(spans: Iterable[Span]) -> list[Span]:
    """The same time in spans that do not overlap."""
    out: list[Span] = []
    for start, stop in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return out


def common(first: Sequence[Span], second: Sequence[Span]) -> int:
    """ns that lie in a span of both; each without overlaps and in order."""
    total = i = j = 0
    while i < len(first) and j < len(second):
        total += max(0, min(first[i][1], second[j][1]) - max(first[i][0], second[j][0]))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return total
