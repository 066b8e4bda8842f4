"""Lines of generated C that are too long, cut at a comma or an operator."""

WIDTH = 100
_TAB = 8


def fold(text: str) -> str:
    """No line is wider than WIDTH where it can be cut outside of a string; no two empty lines."""
    out: list[str] = []
    for line in text.split("\n"):
        line = line.rstrip()
        if not line and out and not out[-1]:
            continue
        while _width(line) > WIDTH and (at := _cut(line)):
            out.append(line[:at].rstrip())
            line = _indent(out[-1], line) + line[at:].lstrip()
        out.append(line)
    return "\n".join(out).rstrip("\n") + "\n"


def _width(line: str) -> int:
    return len(line) + (_TAB - 1) * line.count("\t")


def _indent(cut: str, line: str) -> str:
    """Below the innermost parenthesis that is open, else one tab more."""
    open_: list[int] = []
    quoted = False
    for at, letter in enumerate(cut):
        quoted ^= letter == '"'
        if not quoted and letter in "([{":
            open_.append(at)
        elif not quoted and letter in ")]}" and open_:
            open_.pop()
    tabs = len(line) - len(line.lstrip("\t"))
    if not open_:
        return "\t" * (tabs + 1)
    wide = _width(cut[: open_[-1] + 1])
    if wide > WIDTH // 2:
        return "\t" * (tabs + 2)
    return "\t" * (wide // _TAB) + " " * (wide % _TAB)


def _cut(line: str) -> int:
    """Where to cut, 0 for nowhere."""
    best = width = 0
    quoted = False
    for at, letter in enumerate(line):
        width += _TAB if letter == "\t" else 1
        quoted ^= letter == '"'
        if width > WIDTH:
            break
        if not quoted and line[at : at + 2] in (", ", "= ", "? "):
            best = at + 1
    return best
