"""The wheel in a fresh venv, and `make install` below a prefix: all parts are found, a real MPI program is recorded
and looked at, and what was installed goes again without a trace."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest
from harness import needs, paths
from harness.runner import LAUNCH, STACK_ENV

PACKAGING = paths.ROOT / "packaging"
KERNEL = paths.BUILD / "kernels" / "s3d_mpiio_mpich"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run([PACKAGING / "wheel.sh", place], check=True, capture_output=True)
    (found,) = place.glob("*.whl")
    return found


def ask(place: Path, *words: object, status: int = 0) -> str:
    """What an installed command prints, in an environment that knows nothing of the source tree."""
    env = {**STACK_ENV, "PATH": "/usr/bin:/bin", "HOME": str(place), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=place, env=env, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done.stdout


def assert_viewed(place: Path, fathom: Path) -> None:
    """The server's page, by the link that it prints."""
    words = [fathom, "view", "s3d", "--no-browser"]
    with subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            link = server.stdout.readline().strip()
            with urllib.request.urlopen(link, timeout=60) as answer:
                assert answer.status == 200 and b"<title>" in answer.read()
        finally:
            server.terminate()


def assert_works(place: Path, fathom: Path) -> None:
    """One run of a real program, looked at by all that looks at runs; every part of the installation is found."""
    (place / "out").mkdir()
    program = [*LAUNCH["mpich"].split(), "-n", 2, KERNEL, "-c", 1, 8, 8, 8, 2, 1, 1, "out"]
    ask(place, fathom, "run", "--no-show", "-o", "s3d", "--", *program)
    assert "MPI_File_write_all" in ask(place, fathom, "show", "s3d", "--all")
    ask(place, fathom, "report", "s3d")
    assert "<title>" in (place / "s3d.html").read_text()
    assert_viewed(place, fathom)
    home = fathom.resolve().parent.parent
    found = {row["what"]: row for row in json.loads(ask(place, fathom, "doctor", "--json"))}
    for part in ("command", "engine", "library"):
        assert found[part]["verdict"] == "ok" and Path(found[part]["detail"]).is_relative_to(home)
    assert found["MPI"]["verdict"] == "ok"


@pytest.mark.full
def test_the_wheel_is_what_its_tag_says(wheel: Path) -> None:
    """No symbol is newer than the tag, and no library is asked for that such a machine may lack."""
    needs.require(["python:auditwheel"])
    words = [sys.executable, "-m", "auditwheel", "show", wheel]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    tag = re.search(r"manylinux_\d+_\d+_\w+(?=\.whl)", wheel.name)
    assert tag and re.search(rf'consistent with\s+the following platform tag: "{tag[0]}"', said), (
        said
    )
    names = zipfile.ZipFile(wheel).namelist()
    for part in (
        "scripts/fathom-engine",
        "libfathom.so",
        "fathom/web/index.html",
        "man1/fathom-run.1",
    ):
        assert any(name.endswith(part) for name in names), part


@pytest.mark.full
def test_a_wheel_in_a_fresh_venv(wheel: Path, tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "-q", wheel], check=True)
    place = tmp_path / "place"
    place.mkdir()
    assert_works(place, venv / "bin" / "fathom")
    page = subprocess.run(
        ["man", "-w", "fathom-run"],
        env={"PATH": f"{venv}/bin:/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(page.stdout.strip()).is_relative_to(venv)


@pytest.mark.full
def test_installed_below_a_prefix(tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    prefix, place = tmp_path / "prefix", tmp_path / "place"
    for folder in (prefix / "bin", place):
        folder.mkdir(parents=True)
    (prefix / "bin" / "other").touch()
    env = {**os.environ, "PYTHON": sys.executable}
    subprocess.run([PACKAGING / "install.sh", prefix], env=env, check=True)
    assert_works(place, prefix / "bin" / "fathom")
    for file in ("include/fathom.h", "share/man/man1/fathom.1", "share/modulefiles/fathom"):
        assert (prefix / file).exists()
    broken = [link for link in prefix.rglob("*") if link.is_symlink() and not link.exists()]
    assert not broken
    subprocess.run([PACKAGING / "install.sh", "--remove", prefix], check=True)
    assert list(prefix.rglob("*")) == [prefix / "bin", prefix / "bin" / "other"]
    again = subprocess.run(
        [PACKAGING / "install.sh", "--remove", prefix], capture_output=True, text=True, check=False
    )
    assert again.returncode == 1 and again.stderr.count("\n") == 1
    assert f"nothing below {prefix} was installed by this script" in again.stderr
