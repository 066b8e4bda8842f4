"""Public load generators of a distribution (fio, dbench) on a mount and through the preload library: what fio wrote it
reads back with its own checksums, and dbench's operations fail nowhere. A minute."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from harness import needs

from .test_fuse import MOUNTER, Place
from .test_preload import PRELOAD, by

#: Of fio 3.33 (Debian 12): two jobs write in any order, read and write mixed, with commits in between.
FIO = """[global]
size=16m
bsrange=512-64k
ioengine=psync
verify=crc32c
verify_fatal=1
verify_state_save=0
fsync=50
numjobs=2
[written]
rw=randwrite
[mixed]
rw=randrw
stonewall
"""

CLIENT = "/usr/share/dbench/client.txt"

pytestmark = pytest.mark.full


def fio(place: Path, directory: Path) -> list[str]:
    jobs = place / "jobs.fio"
    jobs.write_text(FIO)
    return ["fio", f"--directory={directory}", str(jobs)]


def dbench(directory: Path) -> list[str]:
    return ["dbench", "-t", "5", "-D", str(directory), "-c", CLIENT, "4"]


needs_fio = pytest.mark.skipif(not shutil.which("fio"), reason="no fio")
needs_dbench = pytest.mark.skipif(not Path(CLIENT).exists(), reason="no dbench")


def succeeds(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(not MOUNTER.exists(), reason="built without libfuse 3")
@pytest.mark.parametrize(
    "name", [pytest.param("fio", marks=needs_fio), pytest.param("dbench", marks=needs_dbench)]
)
def test_on_a_mount(name: str, tmp_path: Path) -> None:
    needs.require(["fuse", "namespaces"])
    place = Place(tmp_path)
    try:
        succeeds(run(fio(tmp_path, place.at) if name == "fio" else dbench(place.at)))
    finally:
        place.end()


@needs_fio
@pytest.mark.skipif(not PRELOAD.exists(), reason="no build/: make build")
@pytest.mark.parametrize("level", ["written", "accepted"])
def test_through_the_preload_library(level: str, tmp_path: Path) -> None:
    with by("unix", tmp_path) as skin:
        words = fio(tmp_path, skin.prefix)
        succeeds(skin.run(*words, FATHOM_FORWARD_DURABILITY=level))
        assert len(list(skin.export.glob("*.0"))) >= 4


@needs_dbench
@pytest.mark.skipif(not PRELOAD.exists(), reason="no build/: make build")
def test_operations_through_the_preload_library(tmp_path: Path) -> None:
    with by("unix", tmp_path) as skin:
        succeeds(skin.run(*dbench(skin.prefix)))
