"""Nodes of this job's allocation, and how a command is started on one."""

import os
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

from fathom.errors import FathomError, UsageError


def is_local(host: str) -> bool:
    """Is it this machine?"""
    own = socket.gethostname()
    return host in ("", "localhost", own, own.partition(".")[0], socket.getfqdn())


def allocated() -> list[str]:
    """Hosts of the allocation, in its order: Slurm, PBS, a machine file; none: outside of one."""
    listed = os.environ.get("SLURM_JOB_NODELIST")
    if listed:
        scontrol = subprocess.run(
            ["scontrol", "show", "hostnames", listed], capture_output=True, text=True, check=False
        )
        if scontrol.returncode:
            raise FathomError(f"scontrol show hostnames {listed}: {scontrol.stderr.strip()}")
        return scontrol.stdout.split()
    file = os.environ.get("PBS_NODEFILE")
    if file:
        return list(dict.fromkeys(Path(file).read_text(encoding="utf-8").split()))
    return []


def chosen(count: int) -> list[str]:
    """The first `count` nodes of the allocation."""
    hosts = allocated()
    if not hosts:
        raise UsageError(
            "--forward-nodes: no allocation of Slurm or PBS is here; name hosts in the configuration"
        )
    if count > len(hosts):
        raise UsageError(f"--forward-nodes {count}: the allocation has {len(hosts)} nodes")
    return hosts[:count]


def starter(host: str, template: str) -> list[str]:
    """The words before a command that start it on a host; `template`: the user's own words, with {host} in them."""
    if template:
        return [word.replace("{host}", host) for word in shlex.split(template)]
    if is_local(host):
        return []
    if os.environ.get("SLURM_JOB_ID"):
        return ["srun", "--overlap", "--quiet", "--nodes=1", "--ntasks=1", f"--nodelist={host}"]
    if os.environ.get("PBS_JOBID") and shutil.which("pbs_tmrsh"):
        return ["pbs_tmrsh", host]
    return ["ssh", "-o", "BatchMode=yes", host]
