"""Generated lines in a user's source: all else stays byte for byte, twice is once, edits are not lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import generated

SOURCE = """#include <mpi.h>\r
\tint   odd ;  // "#begin_write" is no block
/* neither is this:
#begin_write
*/
#begin_options
name: heat;
#end_options
#begin_dimensions
y: 64; x: 32;
#end_dimensions
#begin_variables
temp: double, 2, y, x;
#end_variables
void f(double *field)
{
    #begin_write
    array: *, temp, rank * (y / nprocs), y / nprocs, 0, x, field;
    #end_write
    odd++;
}
"""


def generate(tmp_path: Path, text: str = SOURCE) -> tuple[Path, Path]:
    source, out = tmp_path / "solver.c", tmp_path / "out"
    source.write_bytes(text.encode())
    done = generated.fathom(source, "-o", out)
    assert done.returncode == 0, done.stderr
    return source, out


def regions_left_out(text: str) -> str:
    keep, lines = True, []
    for line in text.splitlines(keepends=True):
        if "/* fathom generate: begin" in line:
            keep = False
        if keep:
            lines.append(line)
        if "/* fathom generate: end" in line:
            keep = True
    return "".join(lines)


def test_all_else_stays(tmp_path: Path) -> None:
    _, out = generate(tmp_path)
    text = (out / "solver.c").read_bytes().decode()
    expected = SOURCE
    for kind in ("options", "dimensions", "variables"):
        expected = expected.replace(f"#begin_{kind}", f"/*@iog begin_{kind}")
        expected = expected.replace(f"#end_{kind}", f"end_{kind} @*/")
    expected = expected.replace("    #begin_write", "    /*@iog begin_write")
    expected = expected.replace("    #end_write", "    end_write @*/")
    assert regions_left_out(text) == expected
    assert '    if (heat_write(MPI_COMM_WORLD, "heat.nc", field) != 0)\n' in text


def test_twice_is_once(tmp_path: Path) -> None:
    source, out = generate(tmp_path)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    again = generated.fathom(source, "-o", out)
    assert again.returncode == 0
    assert "nothing has changed" in again.stderr
    # the result is a source itself: generated in place, it stays as it is
    itself = generated.fathom(out / "solver.c")
    assert itself.returncode == 0, itself.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize("name", ["heat_io.c", "heat_io.h", "heat_io.md", "solver.c"])
def test_an_edited_file_is_not_overwritten(tmp_path: Path, name: str) -> None:
    source, out = generate(tmp_path)
    with (out / name).open("a") as file:
        file.write("mine\n")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    source.write_text(SOURCE.replace("y: 64;", "y: 128;"))
    done = generated.fathom(source, "-o", out)
    assert done.returncode == 2
    assert str(out / name) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_edited_region_is_not_overwritten(tmp_path: Path) -> None:
    _, out = generate(tmp_path)
    path = out / "solver.c"
    text = path.read_text().replace("MPI_COMM_WORLD, 1)", "MPI_COMM_WORLD, 7)")
    path.write_text(text)
    done = generated.fathom(path)
    assert done.returncode == 2
    assert "were edited" in done.stderr
    assert path.read_text() == text
