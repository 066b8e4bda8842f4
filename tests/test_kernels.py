"""The kernels find what is wrong: a value that was changed, an argument that makes no sense."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness import needs, paths

KERNELS = paths.BUILD / "kernels"


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def written(name: str, *arguments: str | Path) -> None:
    writer = KERNELS / name
    if not writer.exists():
        pytest.skip(f"{name} is not built: its library is not installed")
    assert run(writer, *arguments).returncode == 0


def test_a_changed_value_is_found_and_named(tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    size = ["4", "4", "3", "1", "1", "1"]
    written("volume_serial_netcdf", "-n", "1", *size, tmp_path)
    command = ["mpiexec.mpich", "-n", "1", KERNELS / "volume_mpiio_mpich", "-r", *size, tmp_path]
    assert run(*command).returncode == 0
    data = bytearray((tmp_path / "volume.nc").read_bytes())
    # the last record's first variable, point (2, 3, 3): of 5 slices of 4 x 4 floats, the last of the first
    data[-4 * 4 * 16 - 4] ^= 1
    (tmp_path / "volume.nc").write_bytes(data)
    done = run(*command)
    assert done.returncode != 0
    assert "volume: read back:" in done.stderr
    assert "pressure(2,3,3)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-n", "4", "12", "12", "12", "2", "2", "2"], "not the number of ranks"),
        (["-n", "4", "12", "12", "13", "1", "1", "4"], "must divide"),
        (["-n", "4", "12", "12", "12", "2", "2"], "too few or too many"),
        (["-n", "none", "12", "12", "12", "2", "2", "1"], "-n: not a number"),
        (["-q"], "unknown option"),
    ],
)
def test_wrong_arguments(tmp_path: Path, arguments: list[str], says: str) -> None:
    done = run(KERNELS / "s3d_serial", *arguments, tmp_path)
    assert done.returncode == 2
    assert says in done.stderr.splitlines()[0]
    assert not list(tmp_path.iterdir())


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    size = ["4", "4", "4", "1", "1", "1"]
    done = run(KERNELS / "s3d_serial", "-n", "1", *size, tmp_path / "none")
    assert done.returncode == 1
    assert "No such file or directory" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_loader_finds_a_changed_sample(tmp_path: Path) -> None:
    loader = paths.ROOT / "kernels" / "loader" / "loader.py"
    code = (
        f"import sys; sys.path.insert(0, {str(loader.parent)!r}); import loader\n"
        "from pathlib import Path\n"
        f"sample = loader.Sample(3, Path({str(tmp_path / 'f')!r}), 5, 100)\n"
        "sample.path.write_bytes(bytes(5) + sample.data())\n"
        "assert loader.read_batch([sample]) == 100\n"
        "sample.path.write_bytes(bytes(6) + sample.data()[1:])\n"
        "loader.read_batch([sample])\n"
    )
    done = run(sys.executable, "-c", code)
    assert done.returncode == 1
    assert "sample 3 is not what was written" in done.stderr
