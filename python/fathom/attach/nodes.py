"""All nodes of a job of Slurm: one task of srun on each does there what was asked here."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fathom.errors import FathomError, UsageError
from fathom.files import open_to_append
from fathom.run import paths


def job_of(named_job: str) -> str:
    """As the user named it; empty: the allocation that we are in."""
    job = named_job or os.environ.get("SLURM_JOB_ID", "")
    if not job:
        raise UsageError("--slurm: no allocation of Slurm is here; name its job: --slurm JOB")
    if not all(part.isdigit() for part in job.split(".", 1)):
        raise UsageError(f"--slurm {job}: give the number of a job, or JOB.STEP")
    return job


def _count(job: str) -> int:
    """How many nodes it has."""
    squeue = _run(
        ["squeue", "--noheader", f"--jobs={job}", "--states=RUNNING", "--format=%D"], True
    )
    if not squeue.stdout.strip().isdigit():
        raise FathomError(f"--slurm {job}: no such job of Slurm runs{_first(squeue.stderr)}")
    return int(squeue.stdout)


def _first(errors: str) -> str:
    lines = errors.strip().splitlines()
    return f" ({lines[0]})" if lines else ""


def _run(words: Sequence[str], quiet: bool = False) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, capture_output=quiet, text=True, check=False)
    except OSError as error:
        raise FathomError(f"{words[0]}: {error.strerror}") from error


def each(job: str, words: Sequence[str]) -> int:
    """Runs this `fathom` command on every node of the job, all under one key; the worst exit status."""
    return _run([*_step(job), str(paths.native_command()), *words]).returncode


def stay(job: str, words: Sequence[str], log: Path) -> None:
    """Starts this command on every node of the job, as a step of its own that nobody waits for."""
    with os.fdopen(open_to_append(log), "ab") as errors:
        subprocess.Popen(
            [*_step(job), *words],
            cwd="/",
            start_new_session=True,  # a Ctrl-C is for us
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def _step(job: str) -> list[str]:
    number = job.partition(".")[0]
    count = str(_count(number))
    step = [
        "srun",
        f"--jobid={number}",
        "--overlap",
        "--quiet",
        f"--nodes={count}",
        f"--ntasks={count}",
    ]
    # A node that fails ends no other.
    return [*step, "--ntasks-per-node=1", "--kill-on-bad-exit=0", "--wait=0", "--input=none"]
