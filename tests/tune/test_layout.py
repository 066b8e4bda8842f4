"""Layouts on a real CephFS: set before the start, read back of the file, seen in what each storage daemon wrote."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from harness import cephfs, needs, paths, runner

PROGRAM = [paths.BUILD / "kernels" / "ior_posix_mpich", "4", "262144", "65536"]
SETTINGS = """
[[layout]]
directory = "{directory}"
[layout.ceph]
stripe_unit = "64KiB"
stripe_count = {count}
object_size = "{size}"
"""

pytestmark = pytest.mark.full


def record(settings: Path, run: Path, out: Path) -> subprocess.CompletedProcess[str]:
    words = [paths.FATHOM, "run", "--no-show", "-o", run, "--tuned", settings, "--"]
    words += ["mpiexec.mpich", "-n", "4", *PROGRAM, out]
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=200, check=False
    )


def test_layouts_are_set_read_back_and_seen_by_the_storage(tmp_path: Path) -> None:
    needs.require([*needs.of_mpi("mpich"), *cephfs.NEEDS])
    with cephfs.cluster(tmp_path / "fs") as ceph:
        mount = ceph.mount("node")
        written: dict[int, dict[int, int]] = {}
        for count in (1, 4):
            out = mount / f"count{count}"
            out.mkdir()
            settings = tmp_path / f"{count}.toml"
            settings.write_text(SETTINGS.format(directory=out, count=count, size="4MiB"))
            done = record(settings, tmp_path / f"run{count}", out)
            assert done.returncode == 0, done.stderr
            assert (
                f"{out}: ceph.dir.layout is stripe_unit=65536 stripe_count={count}" in done.stderr
            )
            (file,) = out.iterdir()
            assert ceph.layout(file)["stripe_count"] == str(count)
            with file.open("rb") as data:
                os.fsync(data.fileno())
            written[count] = {}
            for write in ceph.writes(file):
                written[count][write.osd] = written[count].get(write.osd, 0) + write.length
        assert len(written[1]) == 1 < len(written[4])
        assert sum(written[1].values()) == sum(written[4].values()) == 4 << 20
        wrong = tmp_path / "wrong.toml"
        wrong.write_text(SETTINGS.format(directory=mount, count=4, size="96KiB"))
        done = record(wrong, tmp_path / "none", mount)
        assert done.returncode == 125
        assert "cannot set ceph.dir.layout to stripe_unit=65536" in done.stderr


COLUMN = f"{paths.BUILD}/kernels/synthetic_hdf5_mpich -m independent column 128 128"
TUNED = """
accept = ["all-ranks"]
[[file]]
[[file.dataset]]
name = "*"
dxpl_mpio = "collective"
"""


def test_nodes_that_share_a_file_need_few_writes_with_collective_transfers(tmp_path: Path) -> None:
    """A node's client of CephFS keeps nothing of a file that others write: independent transfers write each piece."""
    needs.require([*needs.of_mpi("mpich"), *cephfs.NEEDS])
    with cephfs.cluster(tmp_path / "fs") as ceph:
        for node in range(4):
            ceph.mount(f"node{node}")
        writes: dict[str, list[cephfs.Write]] = {}
        for name, more in (("plain", ""), ("tuned", TUNED)):
            out = ceph.at / "node0" / name
            out.mkdir()
            settings = tmp_path / f"{name}.toml"
            settings.write_text(more + SETTINGS.format(directory=out, count=4, size="4MiB"))
            words = [paths.FATHOM, "run", "--no-show", "-o", tmp_path / name, "--tuned", settings]
            rank = f"exec {COLUMN} {ceph.at}/node$PMI_RANK/{name}"
            words += ["--", "mpiexec.mpich", "-n", "4", "sh", "-c", rank]
            subprocess.run([str(word) for word in words], check=True, timeout=200)
            (file,) = out.iterdir()
            writes[name] = ceph.writes(file)
        assert not runner.unequal(*(ceph.at / "node0" / name for name in writes))
    assert len(writes["plain"]) > 5 * len(writes["tuned"]) > 0
