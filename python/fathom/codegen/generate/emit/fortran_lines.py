"""Lines of generated Fortran that are too long, continued at a comma."""

WIDTH = 100
LAST = 72  # column of fixed form


def fold(text: str) -> str:
    """No line is wider than WIDTH where it can be cut outside of a string; no two empty lines."""
    out: list[str] = []
    for line in text.split("\n"):
        line = line.rstrip()
        if not line and out and not out[-1]:
            continue
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        while len(line) > WIDTH and not line.lstrip().startswith("!") and (at := _cut(line)):
            out.append(f"{line[:at].rstrip()} &")
            line = indent + line[at:].lstrip()
        out.append(line)
    return "\n".join(out).rstrip("\n") + "\n"


def _cut(line: str) -> int:
    """Where to cut, 0 for nowhere."""
    best, quoted = 0, False
    start = len(line) - len(line.lstrip())
    for at, letter in enumerate(line[: WIDTH - 2]):
        quoted ^= letter == "'"
        if not quoted and letter == " " and at > start and line[at - 1] in ",+-*=/":
            best = at
    return best


def fixed(text: str) -> str:
    """The same in fixed form: statements in columns 7 to 72, what is longer goes on behind a mark in column 6."""
    out: list[str] = []
    for line in text.split("\n"):
        before, rest = " " * 6, line.rstrip()
        while len(before + rest) > LAST and (at := _break(rest, LAST - len(before))):
            out.append(before + rest[:at].rstrip())
            before, rest = f"     &{' ' * (len(line) - len(line.lstrip()) + 2)}", rest[at:].lstrip()
        out.append((before + rest).rstrip())
    return "\n".join(out) + "\n"


def _break(line: str, room: int) -> int:
    """The last place behind a comma or a space outside of strings within so many letters; 0: none."""
    best, quoted = 0, False
    for at, letter in enumerate(line[:room]):
        quoted ^= letter == "'"
        if not quoted and letter in ", " and line[:at].strip():
            best = at + 1
    return best
