"""A table that is wider than the terminal: figures that can be spared go first, then names lose their middle."""

from collections.abc import Sequence

from fathom.text.column import Column

GAP = 2
# A path keeps this much of its end, another name of its beginning; only then are columns left out.
LEAST_PATH, LEAST_NAME = 30, 18
#: Figures that a row is asked for: left out last of those that are no names.
ASKED_FOR = frozenset(("seconds", "calls", "bytes", "share"))


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(len(column.heading), *(len(row[at]) for row in cells), 0)
        for at, column in enumerate(columns)
    ]


def _is_name(column: Column) -> bool:
    return column.is_path or not column.right


def _least(column: Column, width: int) -> int:
    """What a column can do with."""
    if not _is_name(column):
        return width
    return max(len(column.heading), min(width, LEAST_PATH if column.is_path else LEAST_NAME))


def _needed(columns: Sequence[Column], widths: Sequence[int]) -> int:
    each = (_least(column, width) for column, width in zip(columns, widths, strict=True))
    return sum(each) + GAP * (len(columns) - 1)


def _spared(columns: Sequence[Column]) -> list[int]:
    """Places of the columns in the order in which they go: never keys nor paths; without keys not the first name."""
    names = [at for at, column in enumerate(columns) if _is_name(column)]
    keys = [at for at, column in enumerate(columns) if column.is_key] or names[:1]
    last = {*keys, *(at for at in names if columns[at].is_path)} or {0}

    def importance(at: int) -> tuple[bool, bool, int, int]:
        column = columns[at]
        return column.spare == 0, column.name in ASKED_FOR, -column.spare, -at

    return sorted((at for at in range(len(columns)) if at not in last), key=importance)


def _retained(columns: Sequence[Column], widths: list[int], room: int) -> list[int]:
    """Places of the columns that stay."""
    retained = list(range(len(columns)))
    for least in _spared(columns):
        if _needed([columns[at] for at in retained], [widths[at] for at in retained]) <= room:
            break
        retained.remove(least)
    return retained


def tail(path: str, room: int) -> str:
    """`/a/long/path` -> `…ng/path`."""
    return path if len(path) <= room else "…" + path[len(path) - room + 1 :]


def head(name: str, room: int) -> str:
    """`a_long_name` -> `a_lon…`; of a list whole items: `1 B (3), 20 B (3)` -> `1 B (3), …`."""
    if len(name) <= room:
        return name
    items, _, _ = name[: room - 1].rpartition(", ")
    return f"{items}, …" if items else name[: room - 1] + "…"


def _allotted(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """How wide each column gets: what is free after the least goes to those that lack most."""
    given = [_least(column, width) for column, width in zip(columns, widths, strict=True)]
    free = room - sum(given) - GAP * (len(columns) - 1)
    while free > 0 and any(wide < width for wide, width in zip(given, widths, strict=True)):
        at = max(range(len(given)), key=lambda one: widths[one] - given[one])
        given[at] += 1
        free -= 1
    return given


def fit(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int
) -> tuple[list[Column], list[list[str]], list[str]]:
    """The columns and cells that fit into `room` letters, and the headings of those that were left out."""
    widths = _widths(columns, cells)
    retained = _retained(columns, widths, room)
    shown = [columns[at] for at in retained]
    given = _allotted(shown, [widths[at] for at in retained], room)
    fitted = [
        [
            (tail if column.is_path else head)(row[at], wide) if _is_name(column) else row[at]
            for column, at, wide in zip(shown, retained, given, strict=True)
        ]
        for row in cells
    ]
    gone = [column.heading for at, column in enumerate(columns) if at not in retained]
    return shown, fitted, gone


def folded(columns: Sequence[Column], cells: Sequence[list[str]]) -> list[list[str]]:
    """Rows that follow one another and differ in their file only are one row, which says how many more there are."""
    paths = [at for at, column in enumerate(columns) if column.is_path]
    if len(paths) != 1:
        return list(cells)
    (at,) = paths
    rows: list[list[str]] = []
    alike: list[int] = []
    for row in cells:
        if rows and [*row[:at], *row[at + 1 :]] == [*rows[-1][:at], *rows[-1][at + 1 :]]:
            alike[-1] += 1
        else:
            rows.append(row)
            alike.append(0)
    return [
        [*row[:at], f"{row[at]} and {more:,} more alike" if more else row[at], *row[at + 1 :]]
        for row, more in zip(rows, alike, strict=True)
    ]
