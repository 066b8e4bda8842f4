"""What the papers' users type first, as their texts have it, on a run of S3D through four servers and on kernels.

Kim's thesis (table 2.2, section 2.4.4, Figs. 4.4 and 4.10, listing 2), MPIProf's and IOT's questions. Numbers are
compared with the run's own tables or with what the program must have done, never with the papers' machines.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import h5py
import pytest
from harness import generated, needs, paths

S3D = "-c 3 -H romio_cb_write=enable -H striping_factor=4 -H striping_unit=65536 32 32 32 2 2 1 ."


def typed(folder: Path, line: str) -> str:
    """What `fathom …` prints, typed in a directory."""
    words = [str(paths.FATHOM), *shlex.split(line)]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of S3D through servers, of S3D and ATHENA without."""
    needs.require(needs.of_mpi("mpich"))
    folder = tmp_path_factory.mktemp("papers")
    kernels = paths.BUILD / "kernels"
    (folder / "servers").mkdir()
    (folder / "out").mkdir()
    typed(
        folder / "out",
        f"run --no-show -o ../served --layers +mpi --forward=4 --forward-storage {folder}/servers --"
        f" mpiexec.mpich -n 4 {kernels}/s3d_mpiio_mpich {S3D}",
    )
    for name, words in (("s3d", S3D.rpartition(" ")[0]), ("athena", "")):
        program = f"{kernels}/{name}_mpiio_mpich"
        typed(folder, f"run --no-show -o {name} -- mpiexec.mpich -n 4 {program} {words} out")
    return folder


def asked(place: Path, query: str, run: str = "served") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(typed(place, f"query {run} {query} --json"))["views"]
    return answer


def test_table_2_2_breakdown(place: Path) -> None:
    """mpi_call_id 1 to 10 of processes 0 and 1: the same ten calls of both, with the time in each layer."""
    inclusive = asked(place, "Latency Breakdown Inclusive [0-1] [1-10]")["call"]
    assert [(row["rank"], row["call"]) for row in inclusive] == [
        (rank, call) for rank in (0, 1) for call in range(1, 11)
    ]
    first, second = (
        [row["function"] for row in inclusive if row["rank"] == rank] for rank in (0, 1)
    )
    assert first == second == ["MPI_File_set_view", "MPI_File_write_all"] * 4 + [
        "MPI_File_close", "MPI_File_open",
    ]  # fmt: skip
    exclusive = asked(place, "Latency Breakdown Exclusive [0-1] [1-10]")["call"]
    for row in exclusive:
        layers = [value for name, value in row.items() if name.endswith("_seconds")
                  and name not in ("start_seconds", "after_return_seconds")]  # fmt: skip
        assert abs(sum(layers) - row["seconds"]) < 1e-9


def test_table_2_2_operation(place: Path) -> None:
    """All combinations of calls 1 to 10 of processes 0 to 4 with servers 1 to 3; of each call the longest, by equation
    2.4 as long as the breakdown says."""
    listed = asked(place, "Latency Operation List [0-4] [1-10] [-] [1-3]")["request"]
    assert {row["server"] for row in listed} == {1, 2, 3}
    assert {row["call"] for row in listed} <= set(range(1, 11))
    longest = asked(place, "Latency Operation Max [0-4] [1-10] [-] [1-3]")
    shortest = asked(place, "Latency Operation Min [0-4] [1-10] [-] [1-3]")
    average = asked(place, "Latency Operation Avg [0-4] [1-10] [-] [1-3]")
    rows = zip(longest["call"], shortest["call"], average["call"], strict=True)
    for most, least, mean in rows:
        mine = [row["seconds"] for row in listed
                if (row["rank"], row["call"]) == (most["rank"], most["call"])]  # fmt: skip
        assert most["seconds"] == max(mine) and least["seconds"] == min(mine)
        assert abs(mean["mean_seconds"] - sum(mine) / len(mine)) < 1e-9
    for server in longest["server"]:
        mine = [row["seconds"] for row in listed if row["server"] == server["server"]]
        assert server["seconds"] == max(mine)


def test_equation_2_4(place: Path) -> None:
    """Inclusive latency at the servers is the sum over sub-calls of the slowest server's; of those inside another, as
    opens have them, the outer one counts."""
    requests = asked(place, "Latency Operation List - - --top 0")["request"]
    for row in asked(place, "Latency Breakdown Inclusive --top 0")["call"]:
        subcalls: dict[int, float] = {}
        for request in requests:
            if (request["rank"], request["call"]) == (row["rank"], row["call"]):
                spent = max(subcalls.get(request["subcall"], 0.0), request["seconds"])
                subcalls[request["subcall"]] = spent
        total = sum(subcalls.values())
        assert row["server_seconds"] <= total + 1e-9
        if row["function"] == "MPI_File_write_all":
            assert abs(row["server_seconds"] - total) < 1e-9


@pytest.mark.parametrize(
    "query", ["Thru. [0] [1-10]", "Energy 11.5 8 [0] [1-10]", "Call [0] [1-10]"]
)
def test_table_2_2_others(query: str, place: Path) -> None:
    answer = asked(place, query)
    assert {row["rank"] for row in answer["call"]} == {0}
    assert {row["server"] for row in answer["server"]} == {0, 1, 2, 3}


def test_numbers_are_alike_at_every_layer_recorded(place: Path) -> None:
    """Without servers and without communication recorded the same calls have the same numbers."""
    served = asked(place, "latency breakdown inclusive - - --top 0")["call"]
    alone = asked(place, "latency breakdown inclusive --top 0", "s3d")["call"]
    assert [(row["rank"], row["call"], row["function"]) for row in served] == [
        (row["rank"], row["call"], row["function"]) for row in alone
    ]


def test_files_of_servers_say_whose_they_are(place: Path) -> None:
    """One path stands for the program's file and for each server's stripes of it."""
    files = json.loads(typed(place, "show served --by file --json"))
    for path in (place / "out").glob("*.field.bin"):
        rows = [row for row in files if row["path"] == str(path) and row["bytes_written"]]
        [program] = [row for row in rows if row["server"] is None]
        stripes = {
            row["server"].rpartition("/")[2]: row["bytes_written"] for row in rows if row["server"]
        }
        assert set(stripes) == {"fwd0", "fwd1", "fwd2", "fwd3"}
        assert sum(stripes.values()) == program["bytes_written"] == path.stat().st_size


def test_mpiprofs_questions(place: Path) -> None:
    """MPI-IO or POSIX; dominated by one rank, some or all; how much time, in which operation; when."""
    text = typed(place, "landscape athena s3d")
    who = text.partition("Who (")[2]
    assert re.search(r"^athena +all 4 +rank 0 .*mpiio.*posix", who, re.M), text
    assert re.search(
        r"^s3d +all 4 +rank 0 .*mpiio <posix +close open set_view write_all", who, re.M
    )
    operations = text.partition("Operations")[2].partition("\n\n")[0]
    assert "open" in operations and re.search(r"^s3d .*(write|open), [\d.]+ %", operations, re.M)
    when = text.partition("When (")[2]
    assert re.search(r"^s3d .* of [\d.]+ m?s", when, re.M)


FIG_4_4 = """#begin_options
name: fig44;
library: LIBRARY;
processes: 4;
gaps: fill;
#end_options
#begin_dimensions
y: 6;
x: 6;
#end_dimensions
#begin_variables
a: int, 2, y, x;
b: int, 2, y, x;
#end_variables
#begin_write
array: 0, a, 0, 2, 0, 3, buffer;
array: 1, a, 0, 1, 3, 1, buffer;
array: 2, a, 3, 2, 0, 2, buffer;
array: 3, a, 4, 2, 3, 3, buffer;
global: b, <2, 2>, <1, 1>, <2, 2>, <3, 3>, other;
#end_write
"""


@pytest.mark.parametrize("library", ["pnetcdf", "hdf5"])
def test_figure_4_4(library: str, tmp_path: Path) -> None:
    """Irregular: process P2 has <<0, 3>, <1, 1>>. Regular: the tuple <<2, 2>, <1, 1>, <2, 2>, <3, 3>>."""
    spec = tmp_path / "fig44.iog"
    spec.write_text(FIG_4_4.replace("LIBRARY", library))
    out = tmp_path / "out"
    done = generated.fathom(spec, "-o", out, "--self-check")
    assert done.returncode == 0, done.stderr
    program = generated.build(out, "fig44", library, "c", "openmpi")
    generated.run(program, "romio321", 4, tmp_path / f"fig44.{generated.SUFFIX[library]}")


#: Listing 2's five groups, line by line in its format, for S3D's arrays as Fig. 4.10 cuts them: x in two, y in two.
LISTING_2 = """#begin_options
name: listing2;
library: LIBRARY;
processes: 4;
#end_options
#begin_dimensions
x: 8;
y: 6;
z: 4;
species: 11;
directions: 3;
#end_dimensions

#begin_variables
mass: double, 4, species, z, y, x;
velocity: double, 4, directions, z, y, x;
pressure: double, 3, z, y, x;
temperature: double, 3, z, y, x;
#end_variables

#begin_attributes
unit: pressure, text, "Pa";
step: temperature, double, 0.25;
#end_attributes

#begin_write
ARRAYS
#end_write

#begin_read
ARRAYS
#end_read
"""


@pytest.mark.parametrize("library", ["pnetcdf", "hdf5"])
def test_listing_2_and_figure_4_10(library: str, tmp_path: Path) -> None:
    """`array: process_id, var, dim1_start, dim1_count, …, buffer;`: blocks of x and y, the fourth dimension whole."""
    fourth = {"mass": "0, 11, ", "velocity": "0, 3, ", "pressure": "", "temperature": ""}
    arrays = "\n".join(
        f"array: {process}, {name}, {whole}0, 4, {process // 2 * 3}, 3, {process % 2 * 4}, 4, {name};"
        for name, whole in fourth.items()
        for process in range(4)
    )
    spec, out = tmp_path / "listing2.iog", tmp_path / "out"
    spec.write_text(LISTING_2.replace("LIBRARY", library).replace("ARRAYS", arrays))
    done = generated.fathom(spec, "-o", out, "--self-check")
    assert done.returncode == 0, done.stderr
    program = generated.build(out, "listing2", library, "c", "openmpi")
    path = tmp_path / f"listing2.{generated.SUFFIX[library]}"
    generated.run(program, "romio321", 4, path)
    shapes = {
        "mass": (11, 4, 6, 8),
        "velocity": (3, 4, 6, 8),
        "pressure": (4, 6, 8),
        "temperature": (4, 6, 8),
    }
    if library == "hdf5":
        with h5py.File(path) as file:
            assert {name: file[name].shape for name in file} == shapes
            assert file["temperature"].attrs["step"] == 0.25
            assert bytes(file["pressure"].attrs["unit"]) == b"Pa"
    else:
        needs.require(["ncdump"])
        header = generated.command("ncdump", "-h", path).stdout
        for line in ("mass(species, z, y, x)", 'pressure:unit = "Pa"', "temperature:step = 0.25"):
            assert line in header, header
