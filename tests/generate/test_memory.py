"""What lies scattered in memory: packed, or described by a datatype; the rule chooses, the option says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from fathom.codegen.generate import command
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.options import ruled
from harness import generated, needs


def text_of(change: str) -> str:
    """The example: rows of 8 KiB, cut over the ranks; or short ones; or planes, which ranks have one after another."""
    text = (generated.SPECS / "ghost.iog").read_text()
    if change == "short":
        return text.replace("x: 4096;", "x: 64;")
    return generated.planes(text) if change == "planes" else text


@pytest.mark.parametrize(
    ("change", "library", "rules", "choice", "why"),
    [
        ("", "hdf5", [], "a hyperslab", "rows are long"),
        ("", "mpiio", [], "a datatype", "rows are long"),
        ("", "mpiio", ["memory=packed"], "packed", "as asked for"),
        ("", "mpiio", ["two_phase=off"], "packed", "do not interleave"),
        ("", "mpiio", ["calls=off"], "packed", "do not interleave"),
        ("", "pnetcdf", [], "packed", "lies scattered"),
        ("", "posix", [], "packed", "lies scattered"),
        ("short", "hdf5", [], "packed", "is short"),
        ("short", "hdf5", ["memory=off"], "a hyperslab", "as asked for"),
        ("planes", "mpiio", [], "packed", "do not interleave"),
        ("planes", "mpiio", ["two_phase=force"], "a datatype", "rows are long"),
    ],
)
def test_the_rule_chooses(
    change: str, library: str, rules: list[str], choice: str, why: str, tmp_path: Path
) -> None:
    source = tmp_path / "ghost.iog"
    source.write_text(text_of(change))
    _, plans = command.checked(source, {"library": library, **ruled(rules)})
    for plan in plans:
        (decision,) = [d for d in plan.decisions if d.rule == 15]
        assert decision.choice == choice
        assert why in decision.reason


def test_a_library_that_has_no_datatype(tmp_path: Path) -> None:
    source = tmp_path / "ghost.iog"
    source.write_text(text_of(""))
    for library in ("posix", "netcdf4", "pnetcdf"):
        with pytest.raises(Mistake, match=f"{library} gains nothing by a datatype"):
            command.checked(source, {"library": library, "memory": "datatype"})


@pytest.mark.parametrize(
    ("change", "library", "language", "mpi"),
    [
        ("", "hdf5", "fortran", "mpich"),
        ("", "mpiio", "c", "mpich"),
        *(
            pytest.param(change, *cell, marks=pytest.mark.full)
            for change in ("", "short", "planes")
            for cell in (
                ("hdf5", "c", "ompio"),
                ("hdf5", "c++", "mpich"),
                ("hdf5", "fortran", "romio321"),
                ("mpiio", "c", "romio321"),
                ("mpiio", "c++", "mpich"),
                ("mpiio", "fortran", "mpich"),
                ("mpiio", "fortran", "ompio"),
            )
        ),
    ],
)
def test_is_moved_from_where_it_lies(
    change: str, library: str, language: str, mpi: str, tmp_path: Path
) -> None:
    source, out = tmp_path / "ghost.iog", tmp_path / "out"
    source.write_text(text_of(change))
    words = ["-o", out, "--self-check", "--library", library, "--language", language]
    done = generated.fathom(source, *words, "--rule", "memory=datatype")
    assert done.returncode == 0, done.stderr
    program = generated.build(out, "ghost", library, language, needs.MPI[mpi])
    generated.run(program, mpi, 4, tmp_path / "data")
