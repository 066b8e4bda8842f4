"""`source`: the lines of the program around a call site, where the source is on this machine, and the I/O of each."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fathom.analysis.own import lines
from fathom.analysis.selection import Selection
from fathom.run import sources
from fathom.webapi.answers import answer, number
from fathom.webapi.answers.session import View

AROUND = 8  # lines before and after

Margins = Mapping[tuple[str, int], list[int]]


def _margins(view: View) -> Margins:
    """Of lines of sources: ns, bytes and calls of the program's own I/O there, or in its helper that is called there;
    summed over processes."""
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in lines(view).to_pylist():
        own = row["source"], row["line"]
        for place in {own, (row["caller_source"] or own[0], row["caller_line"] or own[1])}:
            amounts = (row["time"], row["bytes"], row["calls"])
            sums[place] = [a + int(b) for a, b in zip(sums[place], amounts, strict=True)]
    return sums


def around(view: View, source: str | None, line: int | None) -> dict[str, Any] | None:
    """Path, line and the text around it, each line with its I/O; None where it is not known or not here."""
    text = sources.of_program(Path(source)) if source and line else None
    if text is None or not source or not line or line > len(text):
        return None
    margins = view.once("margins", lambda: _margins(view))
    first = max(1, line - AROUND)
    shown = enumerate(text[first - 1 : line + AROUND], first)
    return {
        "path": source,
        "line": line,
        "text": [[number, words, margins.get((source, number))] for number, words in shown],
    }


@answer("source", required=("site",), site=number(0, 2**32 - 1))
def source(view: View, _: Selection, *, site: int) -> dict[str, Any] | None:
    """The lines around a site."""
    rows = view.rows(f"select source, line from sites where site = {site}")
    return around(view, rows[0]["source"], rows[0]["line"]) if rows else None
