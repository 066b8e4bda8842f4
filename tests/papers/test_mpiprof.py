"""MPIProf's and IOT's procedure as its users type it: memory, shared files, shapes, operations, tables I and III.

Chang, Jin, Bauer, "Methodology and Application of HPC I/O Characterization with MPIProf and IOT" (2016). What is
printed is judged by the kernel (getrusage), by what the programs are written to do, and by arithmetic on the calls.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths

PROGRAMS = paths.PROGRAMS / "programs"
KERNELS = paths.BUILD / "kernels"
MIB = 1 << 20


def typed(folder: Path, line: str) -> str:
    """What `fathom …` prints, typed in a directory."""
    done = subprocess.run(
        [str(paths.FATHOM), *shlex.split(line)], cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def rows(folder: Path, line: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = json.loads(typed(folder, f"{line} --json"))
    return answer


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of 4 ranks: S3D with collective buffering, IOR's strided file, a program of known datatypes."""
    needs.require(needs.of_mpi("mpich"))
    folder = tmp_path_factory.mktemp("mpiprof")
    (folder / "out").mkdir()
    programs = {
        "s3d": f"{KERNELS}/s3d_mpiio_mpich -c 1 -H romio_cb_write=enable 32 32 32 2 2 1 out",
        "ior": f"{KERNELS}/ior_posix_mpich 8 4096 4096 out",
        "shapes": f"{PROGRAMS}/mpi_memory_mpich out/shapes",
        "resident": f"{PROGRAMS}/mpi_resident_mpich out/resident",
    }
    for name, words in programs.items():
        typed(folder, f"run --no-show -o {name} -- mpiexec.mpich -n 4 {words}")
    return folder


def test_memory_of_each_rank(place: Path) -> None:
    """Without an agent; as the kernel counts it, though most was given back before the end."""
    by_rank = rows(place, "show resident --by rank")
    ranks = {row["rank"]: row["memory"] for row in by_rank if row["rank"] is not None}
    assert set(ranks) == {0, 1, 2, 3}
    for rank, memory in ranks.items():
        kernel = 1024 * int((place / f"out/resident.{rank}").read_text())
        # What Fathom and the C library do between that question and the end is in it too.
        assert kernel - MIB <= memory <= kernel + 4 * MIB
        assert memory >= 16 * MIB * (rank + 1)
    line = next(
        x for x in typed(place, "show resident --all").splitlines() if "  most memory " in x
    )
    assert line.endswith("most: rank 3"), line


def test_memory_at_every_level(place: Path) -> None:
    """At MPIProf's, `job`, too; of a process that was killed it is not known."""
    program = f"{PROGRAMS}/mpi_resident_mpich out/counted"
    typed(place, f"run --no-show --level job -o counted -- mpiexec.mpich -n 2 {program}")
    [least, most] = (row["memory"] for row in rows(place, "show counted --by rank")[:2])
    assert least + 15 * MIB <= most <= least + 17 * MIB
    (place / "killed.py").write_text(
        "import os\nopen('/etc/hostname').read()\nos.kill(os.getpid(), 9)\n"
    )
    typed(place, "run --no-show -o killed -- sh -c 'python3 killed.py; true'")
    killed = "select memory_peak from processes where ended = 'killed'"
    assert rows(place, f'query killed --sql "{killed}"') == [{"memory_peak": None}]


def test_variance_and_rate_of_shared_files(place: Path) -> None:
    """S3D's checkpoint: by MPI-IO each rank has a quarter, by POSIX rank 0 moves all of it."""
    [path] = (place / "out").glob("*.field*") or [None]
    shared = {row["layer"]: row for row in rows(place, "show s3d --by shared")}
    size = path.stat().st_size
    mpiio = shared["mpiio"]
    assert (mpiio["processes"], mpiio["bytes_written"]) == (4, size)
    assert mpiio["least_bytes"] == mpiio["most_bytes"] == size / 4
    assert mpiio["deviation_bytes"] == 0
    calls = rows(
        place,
        'query s3d --sql "select rank, sum(duration) / 1e9 as s from calls join files using (file) '
        f"where path = '{path}' and layer = 'mpiio' and topmost group by rank\"",
    )
    seconds = [row["s"] for row in calls]
    assert mpiio["deviation_seconds"] == pytest.approx(statistics.pstdev(seconds))
    assert mpiio["mb_per_s"] == pytest.approx(size / max(seconds) / 1e6)
    slowest = max(calls, key=lambda row: row["s"])
    assert (mpiio["slowest"], mpiio["most_seconds"]) == (
        slowest["rank"],
        pytest.approx(slowest["s"]),
    )
    posix = shared["posix"]
    moved = [size] + [0] * (posix["processes"] - 1)
    assert posix["deviation_bytes"] == pytest.approx(statistics.pstdev(moved))


def test_shapes(place: Path) -> None:
    """Strides, datatypes, their extents, holes of memory and of the file, as the programs have them."""
    [shape] = [r for r in rows(place, "show shapes --by shape") if r["op"] == "MPI_File_write_at"]
    # A vector of 4 doubles out of 7, and doubles in a row, to a plain file and through a view with holes.
    assert (shape["accesses"], shape["holes_memory"], shape["holes_file"]) == (160, 0.5, 0.5)
    assert (shape["datatype_bytes"], shape["datatype_calls"]) in ((8, 80), (32, 80))
    labels = {
        r["label"]
        for r in rows(
            place, "query shapes --sql \"select label from tops where what = 'datatype'\""
        )
    }
    assert labels == {"predefined of 8 bytes", "vector of 32 bytes, extent 56, true extent 56"}
    [written] = [
        r for r in rows(place, "show ior --by shape") if r["op"] == "pwrite" and r["accesses"] >= 32
    ]
    assert (written["stride"], written["stride_calls"]) == (4 * 4096, 4 * 7)
    assert written["datatype"] is None


def test_table_1_and_3_and_figure_3(place: Path) -> None:
    """Table I: program, nodes x ranks, ranks. Table III: rank 0, POSIX alone. Fig. 3: per cent by operation, drawn."""
    text = typed(place, "landscape s3d ior --layer posix --rank 0 --plot shares.svg")
    table = text.partition("\n\n")[0]
    assert re.search(r"^s3d +s3d_mpiio_mpich +1 x 4 +4 +mpiexec", table, re.M), table
    assert re.search(r"^ior +ior_posix_mpich +1 x 4 +4 +mpiexec", table, re.M), table
    runs = json.loads(typed(place, "landscape s3d ior --layer posix --rank 0 --json"))["runs"]
    for run in runs:
        [alone] = rows(
            place,
            f'query {run["run"]} --sql "select sum(c.duration) / 1e9 as io from calls c left join files f using (file)'
            " left join calls up on c.parent = up.id where c.rank = 0 and c.layer = 'posix'"
            f" and coalesce(up.layer, '') <> 'posix' and starts_with(f.path, '{place}')\"",
        )
        assert run["io_seconds"] == pytest.approx(alone["io"])
        assert run["io_share"] == pytest.approx(alone["io"] / run["run_seconds"])
        shares = [run[f"{name}_share"] for name in ("open", "read", "write", "close", "other")]
        assert sum(shares) == pytest.approx(1)
        assert run["write_share"] == pytest.approx(
            run["write_seconds"] / run["io_seconds"], rel=1e-3
        )
    bars = re.findall(r"\|([▒░█▓·]+)\|", text.partition("Share of the I/O time")[2])
    assert [len(bar) for bar in bars] == [40, 40]
    for bar, run in zip(bars, runs, strict=True):
        assert abs(bar.count("█") / 40 - run["write_share"]) <= 1 / 40
    drawn = (place / "shares.svg").read_text()
    assert all(word in drawn for word in ("s3d", "ior", "open", "write", "% of the I/O time"))
