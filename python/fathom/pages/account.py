"""Where the run's time went, by cause: a bar for the slowest process and the median one, told by shape, not colour."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.causes import CAUSES, Bar, Share
from fathom.text import numbers

FILLS = "█▓▒░"  # of the causes with the most time; the others share one
OTHERS = "·"
LABEL = 18
LEAST = 0.005  # of the run: what is less is named together
SEEN = 0.0005  # of the run: what is less is not worth its words
HARDLY = 0.01  # of the run: of less I/O there is no picture


def _named(bar: Bar) -> list[str]:
    """The causes that have a fill of their own, the most time of the slowest process first: one in any case."""
    if bar.slowest is None:
        return []
    ranked = sorted(bar.slowest.causes.items(), key=lambda item: -item[1])
    more = [cause for cause, seconds in ranked[1:] if seconds > LEAST * bar.run_seconds]
    return [cause for cause, _ in ranked[:1]] + more[: len(FILLS) - 1]


def fill(share: Share, named: Sequence[str], whole: float, width: int) -> str:
    """The I/O of one process as part of `whole` seconds."""
    cells, reached = "", 0.0
    fills = dict(zip(named, FILLS, strict=False))
    others = sum(seconds for cause, seconds in share.causes.items() if cause not in fills)
    for cause, letter in [*fills.items(), ("", OTHERS)]:
        reached += share.causes.get(cause, 0.0) if cause else others
        cells += letter * (round(reached / whole * width) - len(cells))
    return cells.ljust(width)[:width]


def _words(share: Share, named: list[str], run_seconds: float, width: int) -> list[str]:
    """The legend of one bar, in lines that fit."""
    fills = dict(zip(named, FILLS, strict=False))
    words = []
    for cause in named:
        seconds = share.causes.get(cause, 0.0)
        if seconds > SEEN * run_seconds:
            part = numbers.percent(seconds / run_seconds)
            words.append(f"{fills[cause]} {cause} {numbers.seconds(seconds)} ({part})")
    others = share.seconds - sum(share.causes.get(cause, 0.0) for cause in named)
    if others > LEAST * run_seconds:
        words.append(f"{OTHERS} others {numbers.seconds(others)}")
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += f"{word}  "
    return [line.rstrip() for line in lines]


def kernel_words(share: Share) -> str:
    """`device 4.2 s, cache 801 ms`: of one process, the most time first; "": nothing is known."""
    ranked = sorted(share.kernel.items(), key=lambda item: -item[1])
    return ", ".join(
        f"{name} {numbers.seconds(seconds)}"
        for name, seconds in ranked
        if seconds > LEAST * share.seconds
    )


def who(share: Share) -> str:
    """`rank 3`; of several without ranks that ran one after another how many: `60 in turn`."""
    if share.rank is not None:
        return f"rank {share.rank}"
    return f"{share.in_turn:,} in turn" if share.is_chain else f"process {share.process}"


def paint(bar: Bar, width: int, legends: int | None = None) -> list[str]:
    """Lines of the picture; none where there is hardly any I/O to be seen in it. `legends`: of how many bars the
    seconds are said."""
    if bar.slowest is None or bar.slowest.seconds <= HARDLY * bar.run_seconds:
        return []
    shares = {"slowest": bar.slowest} | ({"median": bar.median} if bar.median else {})
    whole = max(bar.run_seconds, bar.slowest.seconds)
    named = _named(bar)
    cells = max(20, width - LABEL - 3)
    lines = []
    for number, (title, share) in enumerate(shares.items()):
        label = f"{title}, {who(share)}"
        lines.append(f"{label:>{LABEL}} |{fill(share, named, whole, cells)}|")
        if legends is None or number < legends:
            legend = _words(share, named, bar.run_seconds, cells)
            kernel = kernel_words(share)
            legend += [f"kernel: {kernel}"[:cells]] if kernel else []
            lines += [f"{'':{LABEL}}  {line}" for line in legend if line]
    return lines


def explained(bar: Bar) -> str:
    """The word of the picture that needs it most: that there are chains, else the cause with the most time."""
    if bar.slowest and bar.slowest.is_chain:
        return "in turn: one after another"
    first = _named(bar)[0]
    return f"{first}: {CAUSES[first]}"


def title(bar: Bar) -> str:
    """Above the picture. Calls of threads, and sums that a log shares out, may be more than the run."""
    most = bar.slowest.seconds if bar.slowest else 0.0
    beside = (
        f" ({numbers.seconds(most)}: calls lie side by side)"
        if most > (1 + HARDLY) * bar.run_seconds
        else ""
    )
    return f"Where {numbers.seconds(bar.run_seconds)} went, by cause of I/O time{beside}"
