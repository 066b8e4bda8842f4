"""A table of text: boxed and coloured on a terminal, plain aligned columns in a pipe.

rich is loaded where there is a terminal: others do not wait for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from fathom.errors import printable as printable
from fathom.text.column import Column as Column
from fathom.text.fit import fit, folded
from fathom.text.quoting import csv_field

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.table import Table

# Where prose is wrapped that goes to no terminal.
PIPE = 120
#: Ends a line behind which words are lost.
CUT = " …"


def text(value: Any) -> str:
    """A name; nothing when there is none."""
    return "" if value is None else printable(str(value))


def on_terminal(stream: TextIO) -> bool:
    """May boxes and colours be used?"""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, no_color=bool(os.environ.get("NO_COLOR")), highlight=False)


def _bold(words: str, stream: TextIO) -> str:
    """As a terminal makes it; rich takes longer to load than a screen to print."""
    return f"\x1b[1m{words}\x1b[0m" if words and on_terminal(stream) else words


def _cells(columns: Sequence[Column], rows: pa.Table) -> list[list[str]]:
    return [
        [column.write(row[column.name], *(row[name] for name in column.also)) for column in columns]
        for row in rows.to_pylist()
    ]


def _lines(words: str, out: TextIO) -> list[str]:
    """On a terminal what is too wide for it goes on below, as far in as it began; in a pipe a line is a line."""
    if not on_terminal(out) or len(words) <= columns(out):
        return [words]
    margin = " " * (len(words) - len(words.lstrip()))
    return [margin + line for line in wrapped(words.lstrip(), max(20, columns(out) - len(margin)))]


def heading(words: str, stream: TextIO | None = None) -> None:
    """A line above a table."""
    out = stream or sys.stdout
    for line in words.split("\n"):
        for part in _lines(line, out):
            print(_bold(part, out), file=out)


def note(words: str, stream: TextIO | None = None) -> None:
    """A line of prose beside tables."""
    out = stream or sys.stdout
    print("\n".join(_lines(words, out)), file=out)


def columns(stream: TextIO | None = None) -> int:
    """How many letters fit in a line: what COLUMNS says, else the terminal, else 80."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or 80
    return 80


class _Wrapper(textwrap.TextWrapper):
    """A path that is longer than a line goes on behind one of its slashes."""

    def _handle_long_word(
        self, reversed_chunks: list[str], cur_line: list[str], cur_len: int, width: int
    ) -> None:
        word = reversed_chunks[-1]
        at = word.rfind("/", 1, width - cur_len) + 1
        if at:
            cur_line.append(word[:at])
            reversed_chunks[-1] = word[at:]
        elif not cur_line:
            super()._handle_long_word(reversed_chunks, cur_line, cur_len, width)


def _whole_part(line: str, least: int) -> str:
    """A line behind which words are lost, up to where a part of the sentence ends, if that leaves so many letters."""
    ends = (found.start() for found in re.finditer(r"[,;:.]? (?=\()|[,;:.](?= )", f"{line} "))
    whole = [at for at in ends if line.count("(", 0, at) == line.count(")", 0, at)]
    last = max(whole, default=0)
    return line[:last] if last >= least else line


def wrapped(words: str, room: int, most: int | None = None) -> list[str]:
    """Prose in lines of `room` letters; `most`: of so many lines, the last of which ends in … where words are lost."""
    # A number stays with its unit: textwrap does not break at a no-break space.
    bound = re.sub(r"(?<=\d) (?=\S)", "\u00a0", words)
    lines = _Wrapper(room, break_on_hyphens=False, max_lines=most, placeholder=CUT).wrap(bound)
    if most and lines and lines[-1].endswith(CUT):
        lines[-1] = _whole_part(lines[-1].removesuffix(CUT), room // 2) + CUT
    return [line.replace("\u00a0", " ") for line in lines] or [""]


def labelled(label: str, line: str, stream: TextIO | None = None) -> None:
    """One line whose label is bold on a terminal."""
    out = stream or sys.stdout
    print((_bold(label, out) + line).rstrip(), file=out)


def emphasised(label: str, words: str, stream: TextIO | None = None) -> None:
    """A label and what it labels, wrapped under itself."""
    out = stream or sys.stdout
    room = max(20, (columns(out) if on_terminal(out) else PIPE) - len(label))
    for number, line in enumerate(wrapped(words, room)):
        labelled(label if number == 0 else " " * len(label), line, out)


def _boxless(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    for column in columns:
        table.add_column(
            column.heading,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=column.right,
        )
    for row in cells:
        table.add_row(*[Text(cell) for cell in row])
    return table


def show(columns: Sequence[Column], rows: pa.Table, stream: TextIO | None = None) -> None:
    """Prints the rows. In a pipe nothing is cut off, however long it is."""
    out = stream or sys.stdout
    columns = [
        column
        for column in columns
        if not column.where_known or rows[column.name].null_count < rows.num_rows
    ]
    cells = _cells(columns, rows)
    if on_terminal(out):
        console = _console(out)
        shown, fitted, gone = fit(columns, folded(columns, cells), console.width - 2)
        console.print(_boxless(shown, fitted))
        if gone:
            note(f"(too narrow for: {', '.join(gone)})", out)
        return
    lines = [[column.heading for column in columns], *cells]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        padded = [
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ]
        print("  ".join(padded).rstrip(), file=out)


def csv_text(rows: pa.Table) -> str:
    """Raw values under the table's own column names; empty for null."""
    lines = [rows.column_names, *(row.values() for row in rows.to_pylist())]
    return "".join(f"{','.join(map(csv_field, line))}\n" for line in lines)


def write_csv(rows: pa.Table) -> None:
    """The same to standard output; on a terminal without what that would act upon."""
    sys.stdout.write(shown(csv_text(rows)))


def shown(data: object) -> str:
    """A text with names in it, for standard output: as it is, but on a terminal without what that would act upon."""
    text = str(data)
    return "\n".join(map(printable, text.split("\n"))) if sys.stdout.isatty() else text
