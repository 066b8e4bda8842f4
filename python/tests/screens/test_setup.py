"""The set-up page's answers: what they say is what `fathom run` takes, and a real MPI program runs by it."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fathom.errors import UsageError
from fathom.forward import settings
from fathom.run.store import open_run
from fathom.webapi import answers as screens
from fathom.webapi.answers.job import form_of
from fathom.webapi.answers.session import Runs

PROGRAM = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int rank;
	char text[64] = "";
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_write_at(file, 64 * rank, text, 64, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_read_at(file, 64 * rank, text, 64, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	if (!rank)
		puts("all written \\033[31m");
	MPI_Finalize();
	return 0;
}
"""
needs_mpi = pytest.mark.skipif(
    shutil.which("mpicc.mpich") is None or shutil.which("mpiexec.mpich") is None,
    reason="MPICH is not installed",
)


def ask(runs: Runs, name: str, /, **parameters: Any) -> dict[str, Any]:
    answer: dict[str, Any] = screens.ask(
        runs, name, {key: str(value) for key, value in parameters.items()}
    )
    return answer


@pytest.fixture
def runs() -> Runs:
    return Runs([])


@needs_mpi
def test_the_script_runs(runs: Runs, tmp_path: Path) -> None:
    """As it stands in the answer, in a shell, with the lines of the source that are asked for."""
    (tmp_path / "w.c").write_text(PROGRAM)
    lines = f"w.c:{PROGRAM[: PROGRAM.index('MPI_File_read_at')].count(chr(10)) + 1}"
    reply = ask(
        runs, "setup", program="./w", arguments="'out $(false) file'", build="mpicc.mpich -g -o w w.c", ranks=2,
        mpi="mpich", lines=lines, directory=tmp_path, name="one",
    )  # fmt: skip
    path = tmp_path / "job.sh"
    path.write_text(reply["script"])
    native = Path(
        os.environ.get("FATHOM_COMMAND") or Path(__file__).parents[3] / "build" / "fathom"
    )
    environment = os.environ | {"PATH": f"{native.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", path], cwd="/", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out $(false) file").stat().st_size == 128
    opened = open_run(tmp_path / "one")
    outer = opened.sql("select distinct op from calls where depth = 0 and layer = 'mpiio'")
    assert outer["op"].to_pylist() == ["MPI_File_read_at"]


def test_scripts_of_batch_systems(runs: Runs) -> None:
    job = {
        "program": "./s3d",
        "arguments": "200 'a b'",
        "ranks": 128,
        "nodes": 2,
        "minutes": 90,
        "mpi": "mpich",
        "level": "file",
    }
    slurm = ask(runs, "setup", **job, batch="slurm")["script"]
    assert "#SBATCH --nodes=2\n#SBATCH --ntasks=128\n#SBATCH --time=01:30:00\n" in slurm
    assert "\nsrun -n 128 fathom run --no-show -o s3d --level file -- ./s3d 200 'a b'\n" in slurm
    pbs = ask(runs, "setup", **job, batch="pbs")["script"]
    assert "#PBS -l select=2:ncpus=64:mpiprocs=64\n#PBS -l walltime=01:30:00\n" in pbs
    assert "\nmpiexec -n 128 fathom run" in pbs
    for script in (slurm, pbs):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_words_stay_words(runs: Runs) -> None:
    reply = ask(
        runs,
        "setup",
        program="./a;reboot",
        arguments="'$(reboot)' `x`",
        files="*.h5,!a'b",
        level="file",
    )
    assert reply["command"][-4:] == ["--", "./a;reboot", "$(reboot)", "`x`"]
    assert reply["name"] == "a_reboot"
    subprocess.run(["bash", "-n"], input=reply["script"], text=True, check=True)
    for wrong in (
        {"program": "a\nb"},
        {"program": "a", "arguments": "'x"},
        {"program": "a", "name": "../x"},
    ):
        with pytest.raises(UsageError):
            ask(runs, "setup", **wrong)


def test_servers_become_the_file_that_starts_them(runs: Runs, tmp_path: Path) -> None:
    reply = ask(runs, "setup", program="s3d", servers="forward n1 /ssd/a 7001,forward - /ssd/b -")[
        "forwarding"
    ]
    (tmp_path / reply["file"]).write_text(reply["text"])
    here, there = settings.read(tmp_path / reply["file"])[::-1]
    assert (there.host, there.path, there.port) == ("n1", "/ssd/a", 7001)
    assert (here.host, here.path, here.port) == ("", "/ssd/b", 0)
    assert (
        reply["start"]
        == f"fathom forward up {reply['file']}"
        == "fathom forward up s3d.servers.toml"
    )


def test_what_servers_cannot_be_is_said(runs: Runs) -> None:
    reply = ask(runs, "setup", program="true", servers="data n1 /ssd/a 7001,forward n2 - -")
    assert (
        "server 1: role data is not in this version; there is forward, striped" in reply["problems"]
    )
    assert "server 2: no path: which directory does it export?" in reply["problems"]
    assert ask(runs, "setup", program="true")["forwarding"] is None
    with pytest.raises(UsageError, match="ROLE HOST PATH PORT"):
        ask(runs, "setup", program="true", servers="disk n1")


def test_a_program_that_is_not_there_is_said(runs: Runs, tmp_path: Path) -> None:
    problems = ask(runs, "setup", program="./none", directory=tmp_path)["problems"]
    assert problems == [f"./none: no such file in {tmp_path.resolve()}"]


def test_the_form_of_a_run_records_it_as_it_was(runs: Runs) -> None:
    """What the form holds for an open run gives the same launcher, ranks, program and words."""
    manifest = {
        "command": ["/opt/mpich/bin/mpiexec.mpich", "-n", "4", "./bin/s3d", "-r", "two words", "/scratch/out"],
        "program": "s3d", "directory": "/home/u", "configuration": {"level": "file", "layers_asked": "mpiio"},
    }  # fmt: skip
    form = form_of(manifest, 4, 1)
    assert form == {
        "program": "./bin/s3d", "arguments": "-r 'two words' /scratch/out", "directory": "/home/u", "mpi": "mpich",
        "ranks": "4", "nodes": "1", "level": "file", "layers": "mpiio",
    }  # fmt: skip
    reply = ask(runs, "setup", **form)
    start = reply["command"].index("./bin/s3d")
    assert reply["command"][start:] == manifest["command"][3:]
    assert reply["command"][start - 2 : start] == ["-n", "4"]


def test_the_form_of_an_imported_run_is_what_its_log_knows() -> None:
    assert form_of({"command": [], "program": ""}, None, None) == {
        "mpi": "none",
        "ranks": "1",
        "nodes": "1",
    }
    plain = form_of({"command": ["/usr/bin/python3", "sim.py"], "program": "python3"}, None, 1)
    assert (plain["program"], plain["arguments"], plain["mpi"]) == (
        "/usr/bin/python3",
        "sim.py",
        "none",
    )
