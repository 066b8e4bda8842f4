"""Sources of the programs that runs are of, as they are on this machine now. A run may come from somebody else, and
name any file as its source."""

from pathlib import Path

#: What the name of a program's source ends in.
SUFFIXES = frozenset({
    ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".cu", ".cuh", ".inc",
    ".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".py", ".pyx", ".rs", ".jl", ".go", ".m",
})  # fmt: skip
LARGEST = 8 << 20  # bytes


def read(path: Path) -> list[str] | None:
    """Lines of a file; None: it is not here, or is no file of a source's size."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return None
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError, RuntimeError):
        return None


def of_program(path: Path) -> list[str] | None:
    """The same, to be shown to others than who asks: only of what its name says is a program's source."""
    try:
        real = path.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    names = {path.suffix.lower(), real.suffix.lower()}
    return read(real) if path.is_absolute() and names <= SUFFIXES else None
