"""pjdfstest, a public suite of what POSIX says of file systems: on a mount and through the preload library it passes
what it does on a local directory, but for what pjdfstest.toml names. Two minutes, and its build."""

from __future__ import annotations

import re
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from harness import needs

from .test_fuse import MOUNTER, Place
from .test_preload import PRELOAD, by
from .wire import ROOT

VERSION = "0.2.2"
KNOWN = tomllib.loads((ROOT / "tests/forward/pjdfstest.toml").read_text())

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path | str]:
    """The words that start it."""
    place = ROOT / "build/pjdfstest"
    install = ["cargo", "install", "-q", "--locked", "pjdfstest", "--version", VERSION]
    done = subprocess.run([*install, "--root", place], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pjdfstest cannot be installed: {done.stderr.splitlines()[-1]}")
    settings = tmp_path_factory.mktemp("pjdfstest") / "settings.toml"
    settings.write_text(KNOWN["settings"])
    return [place / "bin/pjdfstest", "-c", settings, "-p"]


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """Above pytest's own folders is one that is closed to other users."""
    with tempfile.TemporaryDirectory(prefix="fathom-pjdfstest-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def passed(*words: Path | str, env: Mapping[str, str] | None = None) -> set[str]:
    """Names of the tests that pass."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, env=env)
    return set(re.findall(r"^(\S+) +ok$", done.stdout, re.MULTILINE))


def check(local: set[str], ours: Iterable[str], excluded: Mapping[str, str]) -> None:
    """What is not passed is named, and all that is named is not passed."""
    assert len(local) > 370
    only_local = local - set(ours)
    for pattern in excluded:
        matched = {name for name in only_local if re.fullmatch(pattern, name)}
        assert matched, pattern
        only_local -= matched
    assert only_local == set()


@pytest.mark.skipif(not MOUNTER.exists(), reason="built without libfuse 3")
def test_on_a_mount(suite: Sequence[Path | str], open_to_all: Path) -> None:
    needs.require(["fuse", "namespaces"])
    place = Place(open_to_all)
    try:
        check(passed(*suite, place.local), passed(*suite, place.at), KNOWN["excluded"]["fuse"])
    finally:
        place.end()


@pytest.mark.skipif(not PRELOAD.exists(), reason="no build/: make build")
def test_through_the_preload_library(suite: Sequence[Path | str], open_to_all: Path) -> None:
    """One by one: some end the process."""
    with by("unix", open_to_all) as skin:
        local = passed(*suite, skin.local)
        each = (passed(*suite, skin.prefix, name, env=skin.environment()) for name in local)
        check(local, set().union(*each), KNOWN["excluded"]["preload"])
