"""Lays generated C out as a person would: tabs, 100 columns, lists folded at commas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

COLUMNS = 100
_TAB = 8


def width(line: str) -> int:
    """Columns a line takes, with tabs of eight."""
    return len(line.expandtabs(_TAB))


def fold(head: str, items: Sequence[str], tail: str, indent: str = "") -> list[str]:
    """Lines of `head` item, item, … `tail`; what does not fit goes on, two tabs deeper."""
    lines: list[str] = []
    line = indent + head
    for number, item in enumerate(items):
        end = tail if number == len(items) - 1 else ","
        piece = item + end
        space = "" if line.endswith(("(", "\t")) else " "
        if width(line + space + piece) > COLUMNS and number:
            lines.append(line)
            line, space = indent + "\t\t", ""
        line += space + piece
    lines.append(line if items else line + tail)
    return lines


def block(*parts: str | Iterable[str]) -> list[str]:
    """Flatten lines and lists of lines."""
    lines: list[str] = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
        else:
            lines.extend(part)
    return lines


def file_text(lines: Iterable[str]) -> str:
    """Join lines, without trailing blanks and with one newline at the end."""
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"
