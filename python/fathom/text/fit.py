"""A table that is wider than the terminal: what can be spared goes first, then long paths lose their beginning."""

from collections.abc import Sequence

from fathom.text.column import Column

GAP = 2
# A path keeps this much of its end; only then are columns left out.
LEAST_PATH = 30


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(len(column.heading), *(len(row[at]) for row in cells), 0)
        for at, column in enumerate(columns)
    ]


def _needed(columns: Sequence[Column], widths: Sequence[int]) -> int:
    each = (
        min(width, LEAST_PATH) if column.is_path else width
        for column, width in zip(columns, widths, strict=True)
    )
    return sum(each) + GAP * (len(columns) - 1)


def _retained(columns: Sequence[Column], widths: list[int], room: int) -> list[int]:
    """Places of the columns that stay."""
    retained = list(range(len(columns)))
    while True:
        spare = [at for at in retained if columns[at].spare]
        fits = _needed([columns[at] for at in retained], [widths[at] for at in retained]) <= room
        if fits or not spare:
            return retained
        retained.remove(max(spare, key=lambda at: (columns[at].spare, at)))


def tail(path: str, room: int) -> str:
    """`/a/long/path` -> `…ng/path`."""
    return path if len(path) <= room else "…" + path[len(path) - room + 1 :]


def fit(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int
) -> tuple[list[Column], list[list[str]]]:
    """The columns and cells that fit into `room` letters, as far as that can be."""
    widths = _widths(columns, cells)
    retained = _retained(columns, widths, room)
    others = sum(widths[at] for at in retained if not columns[at].is_path) + GAP * (
        len(retained) - 1
    )
    paths = max(1, sum(columns[at].is_path for at in retained))
    each = max(LEAST_PATH, (room - others) // paths)
    shown = [columns[at] for at in retained]
    return shown, [
        [tail(row[at], each) if columns[at].is_path else row[at] for at in retained]
        for row in cells
    ]
