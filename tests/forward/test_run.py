"""`fathom run --forward`: servers around a program, recorded with it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import fathom
import pytest
from harness import needs, paths, runner

S3D = ["-c", "1", "6", "6", "6", "2", "2", "1"]


def traced(place: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [paths.FATHOM, "run", "--no-show", "-o", place / "r", *words]
    return subprocess.run(
        [str(word) for word in command], cwd=place, capture_output=True, text=True, timeout=240,
        env={**os.environ, **runner.STACK_ENV}, check=False,
    )  # fmt: skip


def test_a_kernel_through_two_servers_leaves_the_files_of_a_direct_run(tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    kernel = paths.BUILD / "kernels" / "s3d_mpiio_mpich"
    launched = ["mpiexec.mpich", "-n", "4", kernel, *S3D]
    for name in ("direct", "served"):
        (tmp_path / name).mkdir()
    subprocess.run([*launched, tmp_path / "direct"], check=True, capture_output=True, timeout=300)
    options = ["--forward=2", "--forward-path", tmp_path / "served"]
    done = traced(tmp_path, *options, "--", *launched, tmp_path / "served")
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "direct").iterdir())
    assert files
    for name in files:
        assert (tmp_path / "served" / name).read_bytes() == (
            tmp_path / "direct" / name
        ).read_bytes()
    (row,) = (
        fathom.open(tmp_path / "r.fathom")
        .sql(
            """
        select count(distinct s.process) as servers, count(distinct c.rank) as ranks,
            count(*) filter (l.kind = 'carries') as carried
        from links l join calls s on s.id = l.from_call join calls c on c.id = l.to_call
        where s.layer in ('server', 'disk') and c.layer in ('posix', 'mpiio')"""
        )
        .to_pylist()
    )
    assert row["servers"] == 2 and row["ranks"] == 4 and row["carried"] > 0


@pytest.mark.parametrize("kernel", ["s3d", pytest.param("flash", marks=pytest.mark.full)])
def test_a_kernel_through_four_servers_that_stripe_leaves_the_files_of_a_direct_run(
    tmp_path: Path, kernel: str
) -> None:
    needs.require(needs.of_mpi("mpich"))
    launched: list[object] = ["mpiexec.mpich", "-n", "4"]
    if kernel == "s3d":
        launched += [paths.BUILD / "kernels/s3d_mpiio_mpich", *S3D]
    else:
        launched += [paths.BUILD / "kernels/flash_hdf5_mpich", "-b", "4"]
    for name in ("direct", "served", "storage"):
        (tmp_path / name).mkdir()
    subprocess.run([*launched, tmp_path / "direct"], check=True, capture_output=True, timeout=300)
    options = ["--forward=4", "--forward-path", tmp_path / "served"]
    options += ["--forward-storage", tmp_path / "storage", "--"]
    done = traced(tmp_path, *options, *launched, tmp_path / "served")
    assert done.returncode == 0, done.stderr
    direct, served = tmp_path / "direct", tmp_path / "served"
    assert sorted(one.name for one in direct.iterdir()) == sorted(
        one.name for one in served.iterdir()
    )
    assert not runner.unequal(direct, served)
    assert not list((tmp_path / "storage").iterdir())
    run = fathom.open(tmp_path / "r.fathom")
    disk = run.sql("select count(*) as n from calls where layer = 'disk' and op = 'pwritev'")
    assert disk.to_pylist()[0]["n"] > 0
    (row,) = run.sql(
        "select count(*) as n from links l join calls s on s.id = l.from_call"
        " join calls c on c.id = l.to_call where s.layer = 'disk' and c.layer in ('posix', 'mpiio')"
    ).to_pylist()
    assert row["n"] > 0
    # A stripe is the bytes of the server that has it, not also of the one that had it written there.
    written = run.sql(
        "select c.bytes, sum(s.bytes) filter (s.kind = 'write')::bigint as there,"
        " sum(s.bytes) filter (s.kind = 'comm')::bigint as relayed"
        " from calls c join links l on l.to_call = c.id join calls s on s.id = l.from_call"
        " where c.layer in ('posix', 'mpiio') and c.kind = 'write' and c.bytes > 0 and s.layer = 'server'"
        " group by c.id, c.bytes"
    ).to_pylist()
    assert written
    assert all(one["bytes"] == one["there"] == one["relayed"] for one in written)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--forward=0"], "--forward: '0' is no number of servers"),
        (["--forward-path", "/nowhere"], "--forward-path: /nowhere: No such file"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, words: list[str], says: str) -> None:
    done = traced(tmp_path, *words, "--", "true")
    assert done.returncode == 125
    assert says in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "r.fathom").exists()
