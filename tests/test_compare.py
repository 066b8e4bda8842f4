"""`fathom landscape` and `diff` on runs of the kernels: what they say is what is known of each kernel, at every level;
times are added up again here, call by call."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, tables
from harness.runner import LAUNCH, MPI, STACK_ENV

STACKS = ("mpich", "ompio")
LEVELS = ("job", "file", "call")
#: Kernel, its arguments before the directory.
JOBS = {
    "athena": ("athena_mpiio", "-t 1 -s 2 -l 2 -x 4"),
    "ior": ("ior_posix", "-F 2 262144 65536"),
    "s3d": ("s3d_mpiio", "-c 1 -H romio_cb_write=enable 16 16 16 2 2 1"),
    "s3d_off": ("s3d_mpiio", "-c 1 -H romio_cb_write=disable 16 16 16 2 2 1"),
    "flash": ("flash_hdf5", "-b 4 -f c"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compare")


def recorded(place: Path, job: str, mpi: str, level: str = "call") -> Path:
    """The run directory of a kernel on four ranks; run once."""
    return _record(place, job, mpi, level)


@cache
def _record(place: Path, job: str, mpi: str, level: str) -> Path:
    needs.require(needs.of_mpi(mpi))
    kernel, arguments = JOBS[job]
    name = f"{job}_{mpi}_{level}"
    data = place / f"data_{name}"
    data.mkdir()
    program = paths.BUILD / "kernels" / f"{kernel}_{MPI[mpi]}"
    words = [paths.FATHOM, "run", "--no-show", "-o", place / name, "--level", level, "--"]
    command = [*words, *LAUNCH[mpi].split(), "-n", "4", program, *arguments.split(), data]
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **STACK_ENV},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place / f"{name}.fathom"


def fathom(*words: object, status: int = 0) -> str:
    done = subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def landscape(*words: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(fathom("landscape", *words, "--json"))["runs"]
    return rows


def groups(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {group["group"]: group for group in row["groups"]}


ATHENA = "--group restart=restart.* --group history=history.* --group tab=tab.*".split()


EACH = [(mpi, level) for mpi in STACKS for level in LEVELS]


@pytest.mark.some(2)
@pytest.mark.parametrize(("mpi", "level"), EACH)
def test_what_is_known_of_athena(place: Path, mpi: str, level: str) -> None:
    """Collective restart files, small files of all ranks, private files by POSIX."""
    (row,) = landscape(recorded(place, "athena", mpi, level), *ATHENA)
    assert row["ranks"] == row["ranks_seen"] == 4
    assert row["mpiio_functions"] == [
        "MPI_File_close", "MPI_File_open", "MPI_File_set_view",
        "MPI_File_write_all", "MPI_File_write_at",
    ]  # fmt: skip
    assert {"mpiio", "<posix", "posix"} <= set(row["layers"])
    assert row["time_by"] == "all"
    # restart: 2 arrays of 4 x 4 x 16 doubles; 2 histories of 4 x 2 x 8; 4 tables of 2 x 8
    written = 8 * (2 * 256 + 2 * 64 + 4 * 16)
    assert (
        row["bytes_written"] >= written
    )  # OMPIO has files of its own, job_seconds goes to a terminal
    operations = ("open", "read", "write", "close", "other")
    summed = sum(row[f"{name}_seconds"] for name in operations)
    assert row["io_seconds"] <= summed + 1e-9  # of several threads, the union
    assert row["when_from"] == ("calls" if level == "call" else "heat")
    assert max(row["when_parts"]) > 0
    assert row["files_told"] == (level != "job")
    if level == "job":
        assert any("no file groups" in note for note in row["notes"])
        return
    by_group = groups(row)
    assert {name: group["files"] for name, group in by_group.items()} == {
        "restart": 1, "history": 2, "tab": 4,
    }  # fmt: skip
    assert {name: group["bytes_written"] for name, group in by_group.items()} == {
        "restart": 8 * 2 * 256, "history": 8 * 2 * 64, "tab": 8 * 4 * 16,
    }  # fmt: skip


@pytest.mark.some(2)
@pytest.mark.parametrize(("mpi", "level"), EACH)
def test_what_is_known_of_ior(place: Path, mpi: str, level: str) -> None:
    """A file per rank by POSIX: no MPI-IO, everything by all."""
    (row,) = landscape(recorded(place, "ior", mpi, level))
    assert row["mpiio_functions"] == []
    assert "posix" in row["layers"]
    assert not any(name.startswith("<") and name != "<posix" for name in row["layers"])
    assert row["bytes_by"] == "all"
    assert row["bytes_written"] >= 4 * 2 * 262144
    if level != "job":
        data = groups(row)["*.bin"]
        assert (data["bytes_written"], data["files"]) == (4 * 2 * 262144, 4)


@pytest.mark.some(1)
@pytest.mark.parametrize("level", LEVELS)
def test_one_aggregator_is_seen(place: Path, level: str) -> None:
    """With collective buffering on one node all wait, and rank 0 writes; without it everybody does."""
    on, off = landscape(*(recorded(place, job, "mpich", level) for job in ("s3d", "s3d_off")))
    assert (on["bytes_by"], on["bytes_by_ranks"]) == ("one", "0")
    assert off["bytes_by"] == "all"
    assert on["time_by"] == off["time_by"] == "all"


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", STACKS)
def test_what_is_known_of_flash(place: Path, mpi: str) -> None:
    """HDF5 on MPI-IO: the program itself calls HDF5."""
    (row,) = landscape(recorded(place, "flash", mpi))
    assert {"hdf5", "<mpiio", "<posix"} <= set(row["layers"])
    assert "mpiio" not in row["layers"]
    assert "MPI_File_write_at_all" in row["mpiio_functions"]


OUTERMOST = """
    select process, rank, stream, start, duration, calls.kind, f.kind as what, f.path,
        f.file_system
    from calls left join files f using (file)
    where depth = 0 and calls.kind <> 'comm' and layer not in ('fathom', 'user') and not calls.runtime"""


def union(intervals: list[tuple[int, int]]) -> int:
    busy, reached = 0, -1
    for start, stop in sorted(intervals):
        busy += max(0, stop - max(start, reached))
        reached = max(reached, stop)
    return busy


def by_hand(run: Path) -> dict[str, Any]:
    """Mean seconds per rank of each operation, from each call; the union, rank by rank."""
    connection = tables.connect(run)
    calls = [
        dict(
            zip(
                "process rank stream start duration kind what path system".split(), row, strict=True
            )
        )
        for row in tables.ask(connection, OUTERMOST)
    ]
    calls = [
        call
        for call in calls
        if call["what"] not in ("socket", "fifo")
        and call["system"] not in ("proc", "sysfs")
        and not (call["path"] or "").startswith("anon_inode:")
    ]
    duration = tables.ask(connection, "select duration from runs")[0][0]
    spans: dict[int, list[tuple[int, int]]] = {rank: [] for rank in range(4)}
    for call in calls:
        spans[call["rank"]].append((call["start"], call["start"] + call["duration"]))
    out = {"run": duration / 1e9, "io": sum(map(union, spans.values())) / 4e9}
    for name in ("open", "read", "write", "close"):
        out[name] = sum(call["duration"] for call in calls if call["kind"] == name) / 4e9
    out["restart"] = sum(
        call["duration"] for call in calls if "/restart." in (call["path"] or "")
    ) / 4e9  # fmt: skip
    return out


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", STACKS)
def test_times_and_speedups_by_hand(place: Path, mpi: str) -> None:
    first, second = (recorded(place, job, mpi) for job in ("athena", "ior"))
    before, now = landscape(second, "--baseline", first, *ATHENA)
    assert before["speedup_run"] == before["speedup_io"] == 1
    a, b = by_hand(first), by_hand(second)
    for row, hand in ((before, a), (now, b)):
        for name in ("run", "io", "open", "read", "write", "close"):
            assert row[f"{name}_seconds"] == pytest.approx(hand[name], abs=1e-9)
        assert row["io_share"] == pytest.approx(hand["io"] / hand["run"])
    for name in ("run", "io", "open", "write", "close"):
        assert now[f"speedup_{name}"] == pytest.approx(a[name] / b[name])
    assert groups(before)["restart"]["io_seconds"] == pytest.approx(a["restart"])
    busy = sum(before["when_parts"]) * a["run"] / len(before["when_parts"])
    assert busy > 0.99 * a["io"]  # several threads are added up, sockets are in it
    assert mpi != "mpich" or busy == pytest.approx(a["io"], rel=0.01)


def test_forms_and_what_is_wrong(place: Path) -> None:
    runs = [recorded(place, job, "mpich") for job in ("athena", "s3d")]
    text = fathom("landscape", *runs, "--baseline", runs[0])
    for words in ("Speed-up over athena_mpich_call", "File groups", "MPI-IO functions", "1x"):
        assert words in text
    (first, second) = csv.DictReader(io.StringIO(fathom("landscape", *runs, "--csv")))
    assert first["run"] == "athena_mpich_call"
    assert "MPI_File_write_at" in first["mpiio_functions"].split()
    assert float(second["io_seconds"]) > 0
    # one run that cannot be read does not hide the others
    assert "s3d_mpich_call" in fathom("landscape", runs[1], place / "gone", status=3)
    assert fathom("landscape", runs[1], "--baseline", place / "gone", status=3) == ""
    assert len(landscape(runs[1], runs[0], runs[1].with_suffix(""), "--baseline", runs[0])) == 2
    fathom("landscape", runs[0], "--layer", "netcdf", status=2)
    fathom("landscape", runs[0], "--group", "rst", status=2)


def test_a_layer_instead_of_the_program(place: Path) -> None:
    """The paper's I/O time: POSIX calls, whoever made them, without the exchange between ranks."""
    run = recorded(place, "s3d", "mpich")
    (row,) = landscape(run, "--layer", "posix")
    (seconds,) = tables.ask(
        tables.connect(run),
        """select sum(c.duration) / 4e9
        from calls c left join calls p on c.parent = p.id left join files f on f.file = c.file
        where c.layer = 'posix' and not c.runtime and coalesce(f.kind, '') not in ('socket', 'fifo')
            and coalesce(f.file_system, '') not in ('proc', 'sysfs')
            and coalesce(f.path, '') not like 'anon_inode:%' and p.kind is distinct from 'comm'""",
    )[0]
    assert row["io_seconds"] == pytest.approx(seconds, rel=1e-6)
    assert row["write_seconds"] > 0
    posix = f"select count(*) from ops where layer = 'posix' and op = '{row['operation_function']}'"
    assert tables.ask(tables.connect(run), posix) == [[1]]


def difference(*words: object) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(fathom("diff", *words, "--json"))
    return content


@pytest.mark.some(1)
@pytest.mark.parametrize("level", LEVELS)
def test_a_run_does_not_differ_from_itself(place: Path, level: str) -> None:
    run = recorded(place, "athena", "mpich", level)
    content = difference(run, run)
    assert [note for note in content["incomparable"] if "recorded at level job" not in note] == []
    assert content["configuration"] == []
    rows = [row for by in ("layer", "function", "rank", "file") for row in content[by]]
    assert len(rows) > 30
    for row in rows:
        assert row["difference"] == 0
        assert all(row[key] == row[key[:-1] + "b"] for key in row if key.endswith("_a"))
    fathom("diff", run, run, "--fail-over", 0)
    assert "no difference" in fathom("diff", run, run)


FUNCTIONS = """
    select op, layer, sum(calls)::bigint, sum(time) / 1e9 from counters
    where layer = 'mpiio' and enclosing is null group by all"""


def test_the_changed_hint_and_the_layer_are_named(place: Path) -> None:
    """S3D without and with collective buffering."""
    runs = [recorded(place, job, "mpich") for job in ("s3d_off", "s3d")]
    content = difference(*runs)
    assert content["incomparable"] == []
    changed = {
        (row["what"], row["setting"]): (row["a"], row["b"], row["places"])
        for row in content["configuration"]
    }
    assert changed["in force", "romio_cb_write"] == ("disable", "enable", 1)
    assert {what for what, _ in changed} == {"run", "asked", "in force"}
    # the program calls MPI-IO alike; that makes the ranks exchange more, and the file system do less
    layers = {row["layer"]: row for row in content["layer"]}
    assert layers["mpiio"]["calls_a"] == layers["mpiio"]["calls_b"]
    assert layers["mpi < mpiio"]["calls_b"] > layers["mpi < mpiio"]["calls_a"]
    assert layers["posix"]["bytes_b"] < layers["posix"]["bytes_a"]
    sides = [
        {
            (op, layer): (calls, time)
            for op, layer, calls, time in tables.ask(tables.connect(run), FUNCTIONS)
        }
        for run in runs
    ]
    for row in content["function"]:
        if row["layer"] != "mpiio" or row["caller"] != "program":
            continue
        (calls_a, time_a), (calls_b, time_b) = (side[row["op"], "mpiio"] for side in sides)
        assert (row["calls_a"], row["calls_b"]) == (calls_a, calls_b)
        assert row["difference"] == pytest.approx(time_b - time_a)
    # the data lay in two folders, and yet it is the same file
    fields = [row for row in content["file"] if row["path"].endswith(".field.bin")]
    assert len(fields) == 1
    assert all(row["bytes_written_a"] and row["bytes_written_b"] for row in fields)
    text = fathom("diff", *runs)
    for words in ("romio_cb_write", "disable", "enable", "field.bin", "mpiio"):
        assert words in text


def test_runs_of_different_programs_are_not_comparable(place: Path) -> None:
    content = difference(recorded(place, "ior", "mpich"), recorded(place, "s3d", "mpich", "file"))
    reasons = "\n".join(content["incomparable"])
    assert "other programs: ior_posix_mpich and s3d_mpiio_mpich" in reasons
    assert "coverage differs: 100 % and" in reasons
    fathom("diff", recorded(place, "ior", "mpich"), place / "gone", status=3)
