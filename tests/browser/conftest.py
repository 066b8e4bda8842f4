"""One browser, one server of a planted run and of a real one, for all tests here."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import browser, needs, paths, planted
from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's browser; needs the built page and axe-core beside it."""
    needs.require(["chromium", "npm"])
    assert browser.DIST.is_file(), f"{browser.DIST} is missing: `make web` builds it"
    with browser.chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def kernel_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """S3D through HDF5 on 4 ranks, run under Fathom."""
    needs.require(needs.of_mpi("mpich"))
    folder = tmp_path_factory.mktemp("kernel")
    data, run = folder / "data", folder / "s3d.fathom"
    data.mkdir()
    words = [
        paths.FATHOM, "run", "--no-show", "-o", run, "--", "mpiexec.mpich", "-n", "4",
        paths.BUILD / "kernels" / "s3d_hdf5_mpich", "-r", "-c", "2", "16", "16", "16", "2", "2", "1", data,
    ]  # fmt: skip
    subprocess.run(words, capture_output=True, timeout=300, check=True)
    return run


@pytest.fixture(scope="session")
def view(
    chromium: Browser, planted_run: planted.Planted, kernel_run: Path
) -> Iterator[browser.Live]:
    """`fathom view` of both runs; without a word in the address it shows the planted one."""
    with browser.live(chromium, planted_run.path, kernel_run) as opened:
        yield opened


@pytest.fixture
def first(view: browser.Live) -> Iterator[browser.Look]:
    """A fresh page, on the first screen."""
    with view.look() as page:
        yield page


@pytest.fixture
def look(view: browser.Live) -> Iterator[browser.Look]:
    """A fresh page, on the heat map."""
    with view.look(browser.address("heat", run="planted")) as page:
        yield page
