"""What `fathom doctor` says of programs that cannot be recorded, or only in part."""

import shutil
import subprocess
from pathlib import Path

import pytest
from fathom import checks

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")


def build(place: Path, *flags: str | Path) -> Path:
    source = place / "main.c"
    source.write_text(
        'const char *named = "x\\0MPI_File_open\\0H5Dwrite"; int main(void) { return 0; }'
    )
    subprocess.run(["cc", source, *flags, "-o", place / "program"], check=True)
    return place / "program"


def library(place: Path, name: str) -> Path:
    (place / "empty.c").write_text("int fathom_test_empty;\n")
    flags = ["-shared", "-fPIC", f"-Wl,-soname,{name}"]
    subprocess.run(["cc", *flags, place / "empty.c", "-o", place / name], check=True)
    return place / name


def verdicts(program: Path) -> dict[str, tuple[str, str]]:
    return {found.what: (found.verdict, found.detail) for found in checks.program(str(program))}


def test_two_mpis_in_one_program(tmp_path: Path) -> None:
    both = [library(tmp_path, name) for name in ("libmpich.so.12", "libmpi.so.40")]
    found = verdicts(build(tmp_path, "-Wl,--no-as-needed", *both, f"-Wl,-rpath,{tmp_path}"))
    assert found["MPI"][0] == "fails"
    assert "MPICH and Open MPI" in found["MPI"][1]


def test_one_mpi_under_two_names_is_one(tmp_path: Path) -> None:
    both = [library(tmp_path, name) for name in ("libmpich.so.12", "libmpichfort.so.12")]
    found = verdicts(build(tmp_path, "-Wl,--no-as-needed", *both, f"-Wl,-rpath,{tmp_path}"))
    assert found["MPI"] == ("ok", "MPICH")


def test_layers_linked_in_statically(tmp_path: Path) -> None:
    found = verdicts(build(tmp_path))
    assert found["program"][0] == "ok"
    assert found["MPI"][0] == "limit"
    assert found["HDF5"][0] == "limit"


def test_a_static_program(tmp_path: Path) -> None:
    found = verdicts(build(tmp_path, "-static"))
    assert found["program"][0] == "fails"
    assert "static" in found["program"][1]


def test_set_user_id(tmp_path: Path) -> None:
    program = build(tmp_path)
    program.chmod(0o4755)
    assert verdicts(program)["set-user-id"][0] == "fails"


def test_script_and_neither(tmp_path: Path) -> None:
    for name, head, verdict in (("a", "#!/bin/sh\n", "note"), ("b", "just text\n", "limit")):
        (tmp_path / name).write_text(head)
        (tmp_path / name).chmod(0o755)
        assert verdicts(tmp_path / name)["program"][0] == verdict


def test_rings_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_RING", "/nowhere/rings")
    assert next(f for f in checks.memory() if f.what == "rings").verdict == "fails"


def test_a_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "libfathom.so"
    broken.write_text("no library")
    monkeypatch.setenv("FATHOM_LIB", str(broken))
    assert next(f for f in checks.parts() if f.what == "library").verdict == "fails"
