"""Files that record a job: the selection, and a script for a batch system."""

import shlex

from fathom.text.quoting import toml
from fathom.webapi.answers.job import Job

SLURM = """#SBATCH --job-name={name}
#SBATCH --nodes={nodes}
#SBATCH --ntasks={ranks}
#SBATCH --time={hours:02}:{minutes:02}:00
"""
PBS = """#PBS -N {name}
#PBS -l select={nodes}:ncpus={each}:mpiprocs={each}
#PBS -l walltime={hours:02}:{minutes:02}:00
"""
END = "END_OF_SELECTION"


def selection_text(job: Job) -> str:
    """The selection file (docs/selection.md): what is chosen at the level asked for, everything else in totals."""
    keys: dict[str, str | list[str]] = {}
    if job.layers:
        keys["layers"] = job.layers
    if job.operations != "both":
        keys["operations"] = job.operations
    if job.record:
        keys["ranks"] = job.record
    if job.files:
        keys["files"] = job.files
    if job.lines:
        keys["code"] = job.lines
    rest = "" if job.level == "job" else "[job]\n\n"
    lines = "".join(f"{key} = {toml(value)}\n" for key, value in keys.items())
    return f"{rest}[{job.level}]\n{lines}"


def servers_text(job: Job) -> str:
    """The configuration of forwarding servers (docs/commands/forward.md); what is left open is chosen at the start."""
    return "\n".join(
        "[[server]]\n"
        + "".join(f"{key} = {toml(value)}\n" for key, value in server.items() if value)
        for server in job.servers
    )


def script(job: Job, selection: str) -> str:
    """A batch script: plain shell, Slurm or PBS. Behind a launcher `fathom run` starts no interpreter."""
    hours, minutes = divmod(job.minutes, 60)
    each = -(-job.ranks // job.nodes)
    head = {"plain": "", "slurm": SLURM, "pbs": PBS}[job.batch].format(
        name=job.run[:15] if job.batch == "pbs" else job.run,
        nodes=job.nodes, ranks=job.ranks, hours=hours, minutes=minutes, each=each,
    )  # fmt: skip
    own = [job.program, *job.arguments]
    recorded = ["fathom", "run", *job.options(selection), "--"]
    line = [*_launcher(job), *recorded, *own]
    if job.batch == "plain":
        line = job.command(selection)
    steps = [
        f"#!/bin/bash\n{head}set -euo pipefail",
        f"cd {shlex.quote(job.directory)}" if job.directory else _home(job.batch),
        shlex.join(job.build),
        _written(job, selection),
        shlex.join(line),
        f"fathom pack {shlex.quote(job.run)}\nfathom show {shlex.quote(job.run)}",
    ]
    return "\n".join(step for step in steps if step) + "\n"


def _home(batch: str) -> str:
    return 'cd "$PBS_O_WORKDIR"' if batch == "pbs" else ""


def _launcher(job: Job) -> list[str]:
    """A batch system's own launcher, of the name it has everywhere."""
    if job.mpi == "none":
        return []
    return ["srun" if job.batch == "slurm" else "mpiexec", "-n", str(job.ranks)]


def _written(job: Job, selection: str) -> str:
    if not job.is_selective:
        return ""
    return f"cat > {shlex.quote(selection)} <<'{END}'\n{selection_text(job)}{END}"
