"""The wheel in a fresh venv, and `make install` below a prefix: all parts are found, a real MPI program is recorded
and looked at, and what was installed goes again without a trace."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_RELOC_TYPE_x64
from elftools.elf.relocation import RelocationSection
from harness import needs, paths
from harness.runner import LAUNCH, STACK_ENV

PACKAGING = paths.ROOT / "packaging"
#: Libraries that come with glibc, and its loader.
OF_LIBC = {f"lib{name}" for name in ("c.so.6", "m.so.6", "dl.so.2", "pthread.so.0", "rt.so.1")} | {
    "ld-linux-x86-64.so.2"
}
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
            with urllib.request.urlopen(link, timeout=300) as answer:
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


def versions(elf: ELFFile) -> set[tuple[int, ...]]:
    """Of glibc's symbols that a file asks for."""
    needed = elf.get_section_by_name(".gnu.version_r")
    names = {version.name for _, versions in needed.iter_versions() for version in versions}
    return {tuple(map(int, name[6:].split("."))) for name in names if name.startswith("GLIBC_2.")}


def copies(elf: ELFFile) -> list[int]:
    """Variables of libraries that a command has for itself: Zig copies `environ`, and libc sets `__environ`."""
    parts = [part for part in elf.iter_sections() if isinstance(part, RelocationSection)]
    kinds = [row["r_info_type"] for part in parts for row in part.iter_relocations()]
    return [kind for kind in kinds if kind == ENUM_RELOC_TYPE_x64["R_X86_64_COPY"]]


@pytest.mark.full
def test_the_wheel_is_what_its_tag_says(wheel: Path) -> None:
    """No symbol is newer than the tag, or than 2.17 in what enters programs, whose C library may be older than the
    tools'; no library is asked for that such a machine may lack."""
    tag = re.search(r"-py3-none-manylinux_2_(\d+)_x86_64\.whl$", wheel.name)
    assert tag and int(tag[1]) <= 28 and wheel.stat().st_size <= 40 << 20
    seen = set()
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        for name in names:
            content = file.read(name)
            if not content.startswith(b"\x7fELF"):
                continue
            seen.add(name.rpartition("/")[2])
            elf = ELFFile(io.BytesIO(content))
            newest = 17 if re.search(r"/libfathom\w*\.so$", name) else int(tag[1])
            assert max(versions(elf)) <= (2, newest), name
            assert not copies(elf), name
            asked = {
                row.needed for row in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")
            }
            assert asked <= OF_LIBC | {"libfuse3.so.3"}, name
    assert seen >= {"fathom", "fathom-engine", "libfathom.so", "libfathom_fwd_preload.so"}
    for part in ("fathom/web/index.html", "man1/fathom-run.1", "demo/heat.c"):
        assert any(name.endswith(part) for name in names), part
    assert ("fathom-forward-fuse" in seen) == ("libfuse3.so.3" in seen)


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
