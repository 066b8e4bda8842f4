"""What several tests of forwarding begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import cephfs, needs


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """A file with what a server's clients prove."""
    made = tmp_path / "token"
    made.write_text("correct horse" * 3)
    made.chmod(0o600)
    return made


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
