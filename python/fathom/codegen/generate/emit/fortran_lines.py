"""Lines of generated Fortran that are too long, continued at a comma."""

WIDTH = 100


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
