"""How generated C looks: calls on one line where they fit, no empty line where none belongs, no line too long."""

from __future__ import annotations

import pytest
from fathom.codegen.generate import command
from harness import generated

WIDTH = 100


def wide(line: str) -> int:
    return len(line.expandtabs(8))


def units(library: str, language: str) -> dict[str, list[str]]:
    """All that is generated for the kernels, by name."""
    lines_of = {}
    for spec in sorted(generated.SPECS.glob("*.iog")):
        generated_code = command.generate(spec, {"library": library, "language": language}, True)
        for name, text in generated_code.texts.items():
            if not name.endswith(".md"):
                lines_of[name] = text.splitlines()
    return lines_of


@pytest.mark.parametrize(
    ("library", "language"),
    [
        ("pnetcdf", "c"),
        ("hdf5", "c++"),
        *(
            pytest.param(*case, marks=pytest.mark.full)
            for case in (("hdf5", "c"), ("mpiio", "c"), ("netcdf4", "c++"), ("posix", "c++"))
        ),
    ],
)
def test_layout(library: str, language: str) -> None:
    for name, lines in units(library, language).items():
        for at, (line, after) in enumerate(zip(lines, [*lines[1:], ""], strict=True), 1):
            place = f"{name}:{at}: {line}"
            code = not line.lstrip().startswith(("/*", "*", "#", "//"))
            assert line.rstrip() == line, f"a blank at the end: {place}"
            assert line or after, f"two empty lines: {place}"
            assert line or after.strip() != "}", f"an empty line before the end: {place}"
            assert after or not line.endswith("{"), f"an empty line at the beginning: {place}"
            if wide(line) > WIDTH:
                assert '"' in line or not code, f"too long: {place}"
            if code and line.endswith(("(", ",")) and after.endswith(");"):
                both = f"{line} {after.strip()}"
                assert wide(both) > WIDTH, f"cut though it need not be: {place}"
