"""An error of an accepted write reaches every descriptor that was open for writing when it came, once each."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from harness import needs

from .test_fuse import MOUNTER, Place
from .test_preload import by

PROGRAM = """
import errno, os, subprocess, sys
path, how = sys.argv[1] + "/f", sys.argv[2]
def told(name, call):
    try:
        call()
        print(name, "fine", flush=True)
    except OSError as error:
        print(name, errno.errorcode[error.errno], flush=True)
file = os.open(path, os.O_CREAT | os.O_RDWR)
other = os.open(path, os.O_WRONLY)
os.pwrite(file, b"x" * 20000, 1 << 20)
if how == "reader closes":
    reader = os.open(path, os.O_RDONLY)
    told("reader", lambda: os.close(reader))
elif how == "reader syncs":
    reader = os.open(path, os.O_RDONLY)
    told("reader", lambda: os.fsync(reader))
elif how == "duplicate closes":
    duplicate = os.dup(file)
    told("duplicate", lambda: os.close(duplicate))
elif how == "other program":
    subprocess.run(["head", "-c1", path], check=True, stdout=subprocess.DEVNULL)
elif how == "all files sync":
    os.sync()
told("fsync", lambda: os.fsync(file))
told("fsync again", lambda: os.fsync(file))
told("close", lambda: os.close(file))
told("other", lambda: os.close(other))
"""
TOLD = {
    "nobody else": "", "reader closes": "reader fine\n", "reader syncs": "reader EFBIG\n",
    "duplicate closes": "duplicate EFBIG\n", "other program": "", "all files sync": "",
}  # fmt: skip
AT_LAST = "fsync EFBIG\nfsync again fine\nclose fine\nother EFBIG\n"


def run(place: Path, how: str, environment: Mapping[str, str] | None) -> str:
    command = [sys.executable, "-c", PROGRAM, place, how]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def limit(process: int) -> None:
    """No file of the server's gets longer than this."""
    resource.prlimit(process, resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize("how", TOLD)
def test_by_the_preload_library(tmp_path: Path, how: str) -> None:
    with by("unix", tmp_path) as skin:
        limit(skin.server.process.pid)
        environment = skin.environment(FATHOM_FORWARD_DURABILITY="accepted")
        assert run(skin.prefix, how, environment) == TOLD[how] + AT_LAST


@pytest.mark.skipif(not MOUNTER.exists(), reason="built without libfuse 3")
@pytest.mark.parametrize("how", [how for how in TOLD if how != "all files sync"])
def test_by_a_mount(tmp_path: Path, how: str) -> None:
    needs.require(["fuse", "namespaces"])
    place = Place(tmp_path)
    try:
        limit(place.server.process.pid)
        mounted = place.mount("--durability", "accepted")
        assert run(mounted.at, how, None) == TOLD[how] + AT_LAST
    finally:
        place.end()
