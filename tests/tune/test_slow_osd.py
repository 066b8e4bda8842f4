"""`fathom tune auto` on a real CephFS one of whose storage daemons (OSDs) is slow, seen by the OSDs' own counters."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from harness import cephfs, needs, paths

LATE, DELAY = 2, 0.2
FILES, BLOCKS, BLOCK = 24, 2, 128 << 10
#: Each block waits for its OSD.
PROGRAM = f"""for i in $(seq {FILES}); do
dd if=/dev/zero of=$1/$i bs={BLOCK} count={BLOCKS} oflag=sync status=none; done"""
QUICK = "quick"

pytestmark = pytest.mark.full


def fathom(ceph: cephfs.CephFS, *words: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)], cwd=ceph.at.parent, text=True, capture_output=True,
        env={**os.environ, "CEPH_CONF": str(ceph.conf)}, timeout=3000, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def written(ceph: cephfs.CephFS, out: Path, *options: object) -> tuple[list[int], set[str]]:
    """Bytes that each OSD got by one run, and pools of the files."""
    out.mkdir(exist_ok=True)
    before = ceph.written()
    fathom(
        ceph,
        "run",
        "--no-show",
        *options,
        "-o",
        f"{out.name}.run",
        "--",
        "sh",
        "-c",
        PROGRAM,
        "sh",
        out,
    )
    got = [now - then for now, then in zip(ceph.written(), before, strict=True)]
    return got, {ceph.layout(file)["pool"] for file in out.iterdir()}


def test_auto_finds_a_layout_that_avoids_a_slow_osd(tmp_path: Path) -> None:
    needs.require(cephfs.NEEDS)
    with cephfs.cluster(tmp_path / "fs") as ceph:
        ceph.pool_without(LATE, QUICK)
        mount = ceph.mount("node")
        options = ["--scratch", mount, "--store", tmp_path / "store.db", "--seconds", 90]
        options += ["--finalists", 1, "--json"]
        with ceph.slow(LATE, DELAY):
            words = ["--", "sh", "-c", PROGRAM, "sh", "{out}"]
            done = fathom(ceph, "tune", "auto", *options, "-o", "s", *words)
        verdict = json.loads(done.stdout)
        assert verdict["verdict"] == "gain", verdict["sentence"]
        assert verdict["settings"]["ceph.pool"] == QUICK
        tuned = tmp_path / "settings.toml"
        best = (tmp_path / "s.tune" / "settings.toml").read_text()
        tuned.write_text(best.replace("{out}", str(mount / "tuned")))
        (mount / "tuned").mkdir()
        plain, plain_pools = written(ceph, mount / "plain")
        got, pools = written(ceph, mount / "tuned", "--tuned", tuned)
    data = FILES * BLOCKS * BLOCK
    assert (plain_pools, pools) == ({"data"}, {QUICK})
    assert plain[LATE] >= BLOCKS * BLOCK and sum(plain) >= data
    assert got[LATE] == 0 and sum(got) >= data
