"""`source`: the lines of the program around a call site, where the source is on this machine."""

from pathlib import Path
from typing import Any

from fathom.analysis.selection import Selection
from fathom.webapi.answers import answer, number
from fathom.webapi.answers.session import View

#: A run may come from somebody else, and name any file as its source: only what its name says is a program's is read.
SUFFIXES = frozenset({
    ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".cu", ".cuh", ".inc",
    ".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".py", ".pyx", ".rs", ".jl", ".go", ".m",
})  # fmt: skip
LARGEST = 8 << 20  # bytes
AROUND = 8  # lines before and after


def _text(path: Path) -> list[str] | None:
    """Lines of a source file; None: it is not here, or is none."""
    try:
        real = path.resolve(strict=True)
        names = {path.suffix.lower(), real.suffix.lower()}
        if not path.is_absolute() or not names <= SUFFIXES or not real.is_file():
            return None
        if real.stat().st_size > LARGEST:
            return None
        return real.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError, RuntimeError):
        return None


def around(source: str | None, line: int | None) -> dict[str, Any] | None:
    """Path, line and the text around it; None where it is not known or not here."""
    lines = _text(Path(source)) if source and line else None
    if lines is None or not source or not line or line > len(lines):
        return None
    first = max(1, line - AROUND)
    shown = lines[first - 1 : line + AROUND]
    text = [[first + n, text] for n, text in enumerate(shown)]
    return {"path": source, "line": line, "text": text}


@answer("source", required=("site",), site=number(0, 2**32 - 1))
def source(view: View, _: Selection, *, site: int) -> dict[str, Any] | None:
    """The lines around a site."""
    rows = view.rows(f"select source, line from sites where site = {site}")
    return around(rows[0]["source"], rows[0]["line"]) if rows else None
