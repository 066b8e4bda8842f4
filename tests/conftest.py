"""Collects tests/see/*.toml: one item per file and variant. README.md says how to write one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from harness import case, cephfs, grown, needs, paths, planted, runner, tables

#: Of one file, in `make test`.
VARIANTS = 4


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".toml" and file_path.parent.name == "see":
        return CaseFile.from_parent(parent, path=file_path)
    return None


class CaseFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        try:
            cases = case.load(self.path)
        except case.CaseError as error:
            raise self.CollectError(str(error)) from error
        for one in cases:
            item = CaseItem.from_parent(self, name=one.name, case=one)
            item.add_marker("full" if one.full else pytest.mark.some(VARIANTS))
            yield item


class CaseItem(pytest.Item):
    def __init__(self, *, case: case.Case, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.case = case

    def runtest(self) -> None:
        one = self.case
        tools = ["strace"] if one.oracle == "strace" else []
        needs.require([*one.needs, *tools, *needs.of_mpi(one.mpi)])
        runner.run(one, scratch(self.config, f"{self.path.stem}-{one.name}"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> object:  # type: ignore[override]
        if isinstance(excinfo.value, (runner.Failed, AssertionError)):
            return f"{self.path.name} [{self.name}]\n{excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.stem}[{self.name}]"


def scratch(config: pytest.Config, name: str) -> Path:
    """A directory of the test's own; pytest keeps those of the last three sessions."""
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    return factory.mktemp(name)


def pytest_report_header() -> str:
    where = os.environ.get("FATHOM_BUILD", "build")
    return f"fathom: programs of {where}; tests marked full are long"


@pytest.fixture(scope="session")
def planted_run(tmp_path_factory: pytest.TempPathFactory) -> planted.Planted:
    """200,000 calls of 256 ranks with a slow write, a slow rank and a slow server."""
    return planted.make(
        planted.sized(tmp_path_factory.mktemp("planted") / "planted.fathom", 256, 200_000)
    )


@pytest.fixture(scope="session")
def recorded_chombo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chombo through HDF5 on 4 ranks, every call in full; its files are in `data` beside it."""
    needs.require(needs.of_mpi("mpich"))
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "data").mkdir()
    words = [
        "mpiexec.mpich", "-n", "4", paths.FATHOM, "run", "--no-show", "--layers", "+mpi", "-o", folder / "chombo", "--",
        paths.BUILD / "kernels" / "chombo_hdf5_mpich", "-l", "1", folder / "data",
    ]  # fmt: skip
    subprocess.run(words, capture_output=True, timeout=300, check=True)
    tables.pack(folder / "chombo.fathom")
    return folder / "chombo.fathom"


@pytest.fixture(scope="session")
def grown_run(recorded_chombo: Path) -> grown.Grown:
    """The same on 64 ranks, again and again: 40,000 calls."""
    path, files = recorded_chombo.with_name("grown.fathom"), f"{recorded_chombo.parent}/data/*"
    return grown.grow(recorded_chombo, path, 64, 40_000, files)


@pytest.fixture(scope="session")
def started_ceph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cephfs.CephFS]:
    """A CephFS with a mount for each of four ranks, node0 to node3."""
    needs.require([*needs.of_mpi("mpich"), *cephfs.NEEDS])
    with cephfs.cluster(tmp_path_factory.mktemp("ceph") / "fs") as made:
        for rank in range(4):
            made.mount(f"node{rank}")
        yield made


@pytest.fixture
def ceph(started_ceph: cephfs.CephFS) -> cephfs.CephFS:
    """The same for all tests, without what its storage daemons remember of the last one."""
    started_ceph.forget()
    return started_ceph
