"""Lines of generated C: whole calls are put together, what is too long is cut at a comma or an operator."""

import re
from collections.abc import Iterable, Iterator

WIDTH = 100
_TAB = 8
_AFTER = (", ", "? ", "= ", "> ", "< ", "& ", "| ", "+ ", "- ", "* ")  # where a line may end
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|/\*.*?\*/')


def fold(text: str) -> str:
    """No line is wider than WIDTH where it can be cut outside of a string, none is cut that need not be; empty
    lines stand alone, and not at the ends of a block."""
    out: list[str] = []
    for line in _joined(text.split("\n")):
        if not line and out and (not out[-1] or out[-1].endswith("{")):
            continue
        if line.strip() == "}" and out and not out[-1]:
            out.pop()
        out += _folded(line)
    return "\n".join(out).rstrip("\n") + "\n"


def _folded(line: str) -> list[str]:
    """A line in as many as it needs; each begins below the innermost parenthesis that is open there."""
    tabs = len(line) - len(line.lstrip("\t"))
    comment = line.lstrip().startswith("/*")
    lines: list[str] = []
    columns: list[int] = []  # behind what is open
    while _width(line) > WIDTH and (at := _cut(line)):
        lines.append(line[:at].rstrip())
        _follow(columns, lines[-1])
        indent = "\t" * tabs + " * " if comment else _indent(columns, tabs)
        line = indent + line[at:].lstrip()
    return [*lines, line]


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """A call that the template has on several lines as one line."""
    whole = ""
    for line in map(str.rstrip, lines):
        gap = "" if whole.endswith("(") or not whole else " "
        whole = f"{whole}{gap}{line.lstrip()}" if whole else line
        if _open(whole) <= 0:
            yield whole
            whole = ""
    if whole:
        yield whole


def _open(line: str) -> int:
    """How many parentheses are open at the end of a line of code."""
    if line.lstrip().startswith(("/*", "*", "#")):
        return 0
    code = _STRING.sub('""', line)
    return code.count("(") - code.count(")")


def _width(line: str) -> int:
    return len(line) + (_TAB - 1) * line.count("\t")


def _follow(columns: list[int], line: str) -> None:
    """What is open behind the line as well."""
    column, quoted = 0, False
    for letter in line:
        column += _TAB if letter == "\t" else 1
        quoted ^= letter == '"'
        if not quoted and letter in "([{":
            columns.append(column)
        elif not quoted and letter in ")]}" and columns:
            columns.pop()


def _indent(columns: list[int], tabs: int) -> str:
    if not columns:
        return "\t" * (tabs + 1)
    if columns[-1] > WIDTH * 2 // 3:
        return "\t" * (tabs + 2)
    return "\t" * (columns[-1] // _TAB) + " " * (columns[-1] % _TAB)


def _cut(line: str) -> int:
    """Where to cut, 0 for nowhere: inside of as little as can be, then as far right as can be."""
    cuts: list[tuple[bool, int, int]] = []
    width = depth = 0
    quoted = False
    for at, letter in enumerate(line):
        width += _TAB if letter == "\t" else 1
        quoted ^= letter == '"'
        if width > WIDTH:
            break
        depth += 0 if quoted else (letter in "([{") - (letter in ")]}")
        if not quoted and line[at : at + 2] in _AFTER:
            cuts.append((letter not in ",?", depth, -at - 1))
    return -min(cuts)[2] if cuts else 0
