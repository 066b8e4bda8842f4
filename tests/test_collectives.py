"""What is said of collective I/O and of data sieving, against arithmetic: S3D's arrays lie in blocks over 2 x 2
ranks, so the aggregators' pieces, the system calls of a small buffer and the extra bytes of sieving follow from the
arrays' extents."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import collectives
from fathom.run.store import Run
from harness import needs, paths
from harness.runner import LAUNCH, MPI, STACK_ENV

COMPONENTS = (11, 3, 1, 1)  # of yspecies, u, pressure, temp
CB = "-H romio_cb_write=enable -H romio_cb_read=enable"
NO_CB = "-H romio_cb_write=disable -H romio_cb_read=disable"


@dataclass(frozen=True)
class Grid:
    """S3D's: points and ranks in x, y, z."""

    points: tuple[int, int, int]
    ranks: tuple[int, int, int]

    @property
    def arguments(self) -> str:
        return " ".join(str(n) for n in (*self.points, *self.ranks))

    def sizes(self) -> list[int]:
        """Bytes of each variable."""
        x, y, z = self.points
        return [8 * x * y * z * components for components in COMPONENTS]

    def own(self) -> tuple[int, int, int]:
        x, y, z = (n // parts for n, parts in zip(self.points, self.ranks, strict=True))
        return x, y, z

    def extents(self) -> list[int]:
        """Of each variable: from the first byte of a rank's part to its last."""
        (nx, ny, nz), (x, y, z) = self.points, self.own()
        box = (z - 1) * nx * ny + (y - 1) * nx + x
        return [8 * (box + (components - 1) * nx * ny * nz) for components in COMPONENTS]

    def rows(self) -> int:
        """Pieces of the file that a rank's parts of all variables are."""
        _, y, z = self.own()
        return y * z * sum(COMPONENTS)


SMALL = Grid((16, 16, 16), (2, 2, 1))


def trace(
    tmp: Path, mpi: str, program: str, arguments: str, *, name: str = "run", ranks: int = 4
) -> Run:
    """A run of a kernel, in `tmp`."""
    needs.require(needs.of_mpi(mpi))
    executable = paths.BUILD / "kernels" / f"{program}_{MPI[mpi]}"
    launch = shlex.split(LAUNCH[mpi])
    directory = tmp / f"{name}.fathom"
    words = [*launch, "-n", str(ranks), str(executable), *shlex.split(arguments), str(tmp)]
    done = subprocess.run(
        [str(paths.FATHOM), "run", "--no-show", "-o", str(directory), "--", *words],
        env={**os.environ, **STACK_ENV},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return fathom.open(directory)


def of(rows: Any, function: str) -> Iterator[dict[str, Any]]:
    """Those of one function, in the order of their start."""
    of_function = [row for row in rows.to_pylist() if row["op"] == function]
    return iter(sorted(of_function, key=lambda row: row.get("start_seconds", 0.0)))


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("mpi", "nodes"), [("mpich", 1), ("mpich", 2), ("mpich", 4), ("romio321", 2)]
)
def test_aggregators_and_the_rounds_of_a_small_buffer(tmp_path: Path, mpi: str, nodes: int) -> None:
    buffer = 8192
    hints = f"{CB} -H cb_nodes={nodes} -H cb_config_list=*:{nodes} -H cb_buffer_size={buffer}"
    run = trace(tmp_path, mpi, "s3d_mpiio", f"-r -c 1 {hints} {SMALL.arguments}")
    table = collectives.operations(run)
    for function in ("MPI_File_write_all", "MPI_File_read_all"):
        for row, size in zip(of(table, function), SMALL.sizes(), strict=True):
            piece = size // nodes
            assert (row["ranks"], row["bytes"], row["aggregators"]) == (4, size, nodes)
            assert row["domains"] == ("one" if nodes == 1 else "even")
            assert row["rounds"] == -(-piece // buffer)
            assert row["system_calls"] == nodes * row["rounds"]
            assert row["chunk_bytes"] == min(piece, buffer)
            assert row["aggregator_least_bytes"] == row["aggregator_most_bytes"] == piece
            assert (row["linked_bytes"], row["moved_bytes"], row["confidence"]) == (size, size, 100)
            assert row["for_others_bytes"] == size * 3 // 4
            assert (row["cb_nodes"], row["aggregator_nodes"]) == (str(nodes), 1)
            assert row["back_bytes"] == 0
            parts = sum(row[f"{part}_seconds"] or 0 for part in ("wait", "io", "exchange", "rest"))
            assert parts == pytest.approx(row["seconds"], rel=0.01)
    for row in collectives.aggregators(run).to_pylist():
        assert row["bytes"] == row["linked_bytes"] == sum(SMALL.sizes()) // nodes
        assert (row["own_bytes"], row["of_ranks"]) == (row["bytes"] // 4, [0, 1, 2, 3])
    assert {row["exchange_seconds"] is None for row in collectives.functions(run).to_pylist()} == {
        False
    }


def test_pieces_on_borders_of_stripes(tmp_path: Path) -> None:
    """ROMIO moves the borders of even pieces to multiples of striping_unit, on any file system."""
    unit, grid = 16384, Grid((12, 12, 12), (2, 2, 1))
    hints = f"{CB} -H cb_nodes=4 -H cb_config_list=*:4 -H striping_unit={unit}"
    run = trace(tmp_path, "mpich", "s3d_mpiio", f"-c 1 {hints} {grid.arguments}")
    row = next(of(collectives.operations(run), "MPI_File_write_all"))
    assert (row["domains"], row["aggregators"]) == ("aligned", 4)
    assert row["aligned_bytes"] % unit == 0


def test_each_rank_its_own_piece_by_piece(tmp_path: Path) -> None:
    hints = f"{NO_CB} -H romio_ds_write=disable"
    run = trace(tmp_path, "mpich", "s3d_mpiio", f"-c 1 {hints} {SMALL.arguments}")
    for row in of(collectives.operations(run), "MPI_File_write_all"):
        assert (row["domains"], row["aggregators"]) == ("independent", 4)
        assert row["for_others_bytes"] == 0
    (row,) = of(collectives.sieving(run), "MPI_File_write_all")
    assert (row["writes"], row["reads"]) == (4 * SMALL.rows(), 0)
    assert (row["bytes_written"], row["extra_bytes"]) == (sum(SMALL.sizes()), 0)
    assert (row["locks"], row["efficiency"]) == (0, 1.0)


@pytest.mark.some(2)
@pytest.mark.parametrize("mpi", ["mpich", "romio321"])
@pytest.mark.parametrize("level", ["-m collective", "-m independent"])
def test_extra_bytes_of_sieving_follow_from_the_extents(
    tmp_path: Path, mpi: str, level: str
) -> None:
    """Onto a file that is there, so that every window can be read back; each part fits into one window."""
    trace(tmp_path, mpi, "s3d_mpiio", f"-c 1 {CB} {SMALL.arguments}", name="first")
    hints = f"{level} {NO_CB} -H romio_ds_write=enable -H romio_ds_read=enable"
    run = trace(tmp_path, mpi, "s3d_mpiio", f"-r -c 1 {hints} {SMALL.arguments}")
    moved, asked = 4 * sum(SMALL.extents()), sum(SMALL.sizes())
    suffix = "_all" if "collective" in level else ""
    (wrote,) = of(collectives.sieving(run), f"MPI_File_write{suffix}")
    (read,) = of(collectives.sieving(run), f"MPI_File_read{suffix}")
    assert (wrote["bytes"], wrote["bytes_written"], wrote["bytes_read"]) == (asked, moved, moved)
    assert (wrote["writes"], wrote["reads"]) == (16, 16)
    assert wrote["extra_bytes"] == 2 * moved - asked
    assert wrote["efficiency"] == pytest.approx(asked / (2 * moved))
    assert wrote["locks"] == 32  # taken and released once a call
    assert (read["bytes_read"], read["reads"], read["writes"]) == (moved, 16, 0)
    assert (read["extra_bytes"], read["locks"]) == (moved - asked, 0)
    calls = [
        row for row in collectives.sieved_calls(run).to_pylist() if row["operation"] == "write"
    ]
    assert len(calls) == (4 if suffix else 16)
    assert sum(row["extra_bytes"] for row in calls) == wrote["extra_bytes"]
    assert {row["ranks"] for row in calls} == ({4} if suffix else {1})
    operations = list(of(collectives.operations(run), f"MPI_File_write{suffix}"))
    assert [row["back_bytes"] for row in operations] == (
        [4 * extent for extent in SMALL.extents()] if suffix else []
    )
    assert {row["domains"] for row in operations} <= {"independent"}


def test_where_the_exchange_is_hidden_it_is_unknown(tmp_path: Path) -> None:
    run = trace(tmp_path, "ompio", "s3d_mpiio", f"-c 1 {SMALL.arguments}")
    for row in collectives.functions(run).to_pylist():
        assert row["exchange_seconds"] is None
        assert row["rest_seconds"] > 0
    for row in collectives.operations(run).to_pylist():
        assert row["linked_bytes"] == row["bytes"]
        assert row["aggregators"] >= 1


def test_the_exchange_of_each_call_with_layer_mpi(tmp_path: Path) -> None:
    """Recorded call by call, it is that of the counters, less the waiting."""
    needs.require(needs.of_mpi("mpich"))
    executable = paths.BUILD / "kernels" / "s3d_mpiio_mpich"
    run_directory = tmp_path / "run.fathom"
    words = ["mpiexec.mpich", "-n", "4", str(executable), "-c", "1", *shlex.split(CB)]
    subprocess.run(
        [str(paths.FATHOM), "run", "--no-show", "--layers", "+mpi", "-o", str(run_directory), "--",
         *words, *SMALL.arguments.split(), str(tmp_path)],
        env={**os.environ, **STACK_ENV}, capture_output=True, timeout=300, check=True,
    )  # fmt: skip
    run = fathom.open(run_directory)
    rows = collectives.operations(run).to_pylist()
    assert len(rows) == 4
    for row in rows:
        assert row["exchange_seconds"] is not None
        assert 0 <= row["exchange_seconds"] <= row["seconds"]
    (whole,) = of(collectives.exchange(run), "MPI_File_write_all")
    exchanged = sum(row["exchange_seconds"] for row in rows)
    waited = sum(row["wait_seconds"] for row in rows)
    assert exchanged <= whole["exchange_seconds"] <= exchanged + waited + 1e-6


@pytest.mark.parametrize("files", [1, 2])
def test_the_exchange_of_a_function_on_several_files(
    tmp_path: Path, files: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """One table knows it of the function; why the next, by file, does not is said there."""
    run = trace(tmp_path, "mpich", "s3d_mpiio", f"-c {files} {SMALL.arguments}")
    (whole,) = of(collectives.exchange(run), "MPI_File_write_all")
    assert 0 < whole["exchange_seconds"] < whole["seconds"]
    rows = list(of(collectives.functions(run), "MPI_File_write_all"))
    assert [row["bytes"] for row in rows] == [sum(SMALL.sizes())] * files
    assert {row["exchange_seconds"] is None for row in rows} == {files > 1}
    assert main(["show", str(tmp_path / "run.fathom"), "--all"]) == 0
    note = "exchange unknown: counters have it of a function (the table above), not of each file"
    assert (note in capsys.readouterr().out) == (files > 1)
