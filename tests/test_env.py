"""`fathom env` in job scripts: the script starts its ranks as ever, and the run is there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import invariants, needs, nodes, paths, tables
from harness.runner import LAUNCH, MPI, STACK_ENV

EXAMPLES = paths.ROOT / "examples"
S3D = ["-c", "1", "8", "8", "8", "2", "2", "1"]


@pytest.fixture
def job(tmp_path: Path) -> dict[str, str]:
    """A job's environment, and `fathom` in its path."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "fathom").symlink_to(paths.FATHOM)
    (tmp_path / "out").mkdir()
    return {**os.environ, **STACK_ENV, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}


def kernel(mpi: str) -> Path:
    needs.require(needs.of_mpi(mpi))
    return paths.BUILD / "kernels" / f"s3d_mpiio_{MPI[mpi]}"


def run(place: Path, env: dict[str, str], *words: object) -> None:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=place,
        env=env,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def assert_recorded(run_directory: Path, level: str) -> None:
    """Four ranks of one program, and each byte of the checkpoint; nothing of the shell or launcher."""
    connection = tables.connect(run_directory)
    lines = invariants.broken(connection, finished=True, whole=level == "call")
    assert not lines, "\n".join(lines)
    ask = """
        select count(distinct rank), count(distinct exe),
            (select sum(bytes)::bigint from counters where layer = 'mpiio' and kind = 'write')
        from processes where rank is not null"""
    assert tables.ask(connection, ask) == [[4, 1, 16 * 8**3 * 8]]
    others = "select count(*) from processes where exe like '%sh' or exe like '%mpiexec%'"
    assert tables.ask(connection, others) == [[0]]


@pytest.mark.parametrize(("mpi", "level"), [("mpich", "file"), ("ompio", "call")])
def test_slurm(tmp_path: Path, job: dict[str, str], mpi: str, level: str) -> None:
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "s3d", "SLURM_STEP_ID": "4294967291",
             "SLURM_PROCID": "0", "SLURM_JOB_NUM_NODES": "1"}  # fmt: skip
    env = job | slurm | {"LAUNCH": f"{LAUNCH[mpi]} -n 4", "LEVEL": level}
    run(tmp_path, env, EXAMPLES / "slurm.sh", kernel(mpi), *S3D, tmp_path / "out")
    assert_recorded(tmp_path / "s3d.7.fathom", level)
    assert "MPI_File_write_all" in (tmp_path / "s3d.7.txt").read_text()


def test_what_a_batch_script_of_slurm_starts_has_no_rank(tmp_path: Path) -> None:
    program = paths.PROGRAMS / "programs" / "writes"
    variables = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0"}
    for step, rank in (("", None), ("4294967291", None), ("3", 1)):
        slurm = variables | ({"SLURM_STEP_ID": step} if step else {})
        where = tmp_path / f"step{step}"
        words = [
            paths.FATHOM,
            "run",
            "--no-show",
            "-o",
            where,
            "--",
            program,
            tmp_path / "f",
            3,
            8,
            "exit",
        ]
        done = subprocess.run(
            [str(word) for word in words], env={**os.environ, **slurm}, check=False, timeout=300
        )
        assert done.returncode == 7
        rank_seen = tables.ask(
            tables.connect(where.with_suffix(".fathom")), "select rank from processes"
        )
        assert rank_seen == [[rank]]


def test_slurm_itself_on_two_nodes(tmp_path: Path, job: dict[str, str]) -> None:
    """sbatch of the same script, one rank on each of two emulated nodes."""
    program = kernel("mpich")
    with nodes.slurm(tmp_path / "slurm", ["node1", "node2"]) as cluster:
        env = job | nodes.ENDS | {"LAUNCH": "srun --mpi=pmi2", "SLURM_CONF": str(cluster.conf)}
        options = f"--wait -N 2 -n 2 --ntasks-per-node=1 -o {tmp_path}/log --chdir {tmp_path}"
        words = ["-c", "1", "8", "8", "8", "2", "1", "1", tmp_path / "out"]
        run(tmp_path, env, "sbatch", *options.split(), EXAMPLES / "slurm.sh", program, *words)
    (directory,) = tmp_path.glob("*.fathom")
    connection = tables.connect(directory)
    assert not invariants.broken(connection, finished=True, whole=False)
    ask = "select rank, n.host from processes join nodes n using (node) where rank is not null order by rank"
    assert tables.ask(connection, ask) == [[0, "node1"], [1, "node2"]]
    written = "select sum(bytes)::bigint from counters where layer = 'mpiio' and kind = 'write'"
    assert tables.ask(connection, written) == [[16 * 8**3 * 8]]
    assert "on 2 nodes" in directory.with_suffix(".txt").read_text()


@pytest.mark.parametrize("mpi", ["mpich", "ompio"])
def test_pbs(tmp_path: Path, job: dict[str, str], mpi: str) -> None:
    """A member of a job array, whose number would be a pattern of file names."""
    pbs = {"PBS_JOBID": "12[3].server", "PBS_JOBNAME": "s3d", "PBS_O_WORKDIR": str(tmp_path)}
    words = {"PROGRAM": str(kernel(mpi)), "ARGUMENTS": " ".join([*S3D, str(tmp_path / "out")])}
    env = job | pbs | words | {"LAUNCH": f"{LAUNCH[mpi]} -n 4"}
    run(Path("/"), env, EXAMPLES / "pbs.sh")
    assert_recorded(tmp_path / "s3d.12[3].fathom", "file")
    assert "MPI_File_write_all" in (tmp_path / "s3d.12[3].txt").read_text()


@pytest.mark.full
def test_lsf(tmp_path: Path, job: dict[str, str]) -> None:
    """The script of docs/batch.md, but for what it starts."""
    text = (paths.ROOT / "docs" / "batch.md").read_text()
    (script,) = (one for one in text.split("```") if "#BSUB" in one)
    words = " ".join(map(str, [LAUNCH["mpich"], "-n", 4, kernel("mpich"), *S3D, tmp_path / "out"]))
    assert "mpiexec ./s3d 200 200 200" in script
    script = script.replace("mpiexec ./s3d 200 200 200", words)
    run(tmp_path, job | {"LSB_JOBNAME": "s3d[3]", "LSB_JOBID": "12"}, "bash", "-c", script)
    assert_recorded(tmp_path / "s3d[3].12.fathom", "file")
    assert "MPI_File_write_all" in (tmp_path / "s3d[3].12.txt").read_text()


@pytest.mark.parametrize(("shell", "words"), [
    ("csh", """eval "`fathom env -o s3d --shell csh --files '*field*'`" """),
    ("fish", "fathom env -o s3d --shell fish --files '*field*' | source"),
    ("bash", 'eval "$(fathom env -o s3d --files "*field*")"'),
])  # fmt: skip
def test_other_shells(tmp_path: Path, job: dict[str, str], shell: str, words: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    launch = f"{LAUNCH['mpich']} -n 4 {kernel('mpich')} {' '.join(S3D)} {tmp_path / 'out'}"
    (tmp_path / "script").write_text(f"{words}\n{launch}\n")
    env = job | {"FATHOM_RING": str(tmp_path / "ring")}
    run(tmp_path, env, shell, *(["-f"] if shell == "csh" else []), "script")
    assert_recorded(tmp_path / "s3d.fathom", "call")
    connection = tables.connect(tmp_path / "s3d.fathom")
    other = "select count(*) from calls join files f using (file) where f.path not like '%field%'"
    assert tables.ask(connection, other) == [[0]]
