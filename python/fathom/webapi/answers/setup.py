"""`setup`: what to type to record a program: command line, selection file, batch script."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fathom.errors import FathomError, UsageError
from fathom.forward import settings
from fathom.run.filter import compile_text
from fathom.webapi.answers import answer, choice, number
from fathom.webapi.answers.batch import script, selection_text, servers_text
from fathom.webapi.answers.job import LAUNCHERS, Job
from fathom.webapi.answers.session import Runs

LEVELS = ("job", "file", "call")
ROLES = ("forward", "metadata", "data")


def plain(name: str, word: str) -> str:
    """One line of text."""
    if not word.isprintable():
        raise UsageError(f"{name}: it has a line end or another character that does not print")
    return word


def words(name: str, word: str) -> list[str]:
    """Words as a shell has them, quotes and all; nothing is expanded."""
    try:
        return shlex.split(plain(name, word))
    except ValueError as error:
        raise UsageError(f"{name}={word[:40]!r}: {error}") from error


def listed(name: str, word: str) -> list[str]:
    """Entries with commas between them."""
    return [one.strip() for one in plain(name, word).split(",") if one.strip()]


def named(name: str, word: str) -> str:
    """A name that can be a run directory's and a batch job's."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}", word, re.ASCII):
        raise UsageError(f"{name}={word[:40]!r}: letters, digits, dots and dashes are expected")
    return word


def servers(name: str, word: str) -> list[dict[str, Any]]:
    """`ROLE HOST PATH PORT`, several with commas between them; a dash for what is left open."""
    listing = []
    for server in listed(name, word):
        parts = server.split()
        if (
            len(parts) != 4
            or parts[0] not in ROLES
            or not re.fullmatch(r"-|\d{1,5}", parts[3], re.ASCII)
        ):
            raise UsageError(
                f"{name}={server[:40]!r}: ROLE HOST PATH PORT is expected, ROLE one of {', '.join(ROLES)}"
            )
        role, host, path, port = (None if part == "-" else part for part in parts)
        number_ = None if port is None else int(port)
        if number_ is not None and not 0 < number_ < 65536:
            raise UsageError(f"{name}={server[:40]!r}: a port is from 1 to 65535")
        listing.append({"role": role, "host": host, "path": path, "port": number_})
    return listing


READERS: dict[str, Callable[[str, str], Any]] = {
    "program": plain, "arguments": words, "build": words, "directory": plain, "name": named, "ranks": number(1, 10**7),
    "nodes": number(1, 10**6), "minutes": number(1, 10**6), "mpi": choice(*LAUNCHERS), "level": choice(*LEVELS),
    "layers": listed, "lines": listed, "operations": choice("read", "write", "both"), "files": listed, "record": plain,
    "servers": servers, "batch": choice("plain", "slurm", "pbs"),
}  # fmt: skip


def _problems(job: Job) -> list[str]:
    """What will not work as it is said."""
    problems = _wrong_servers(job)
    if job.mpi == "none" and job.ranks > 1:
        problems.append(f"{job.ranks} ranks need an MPI: choose one")
    if job.mpi != "none" and not any(shutil.which(one) for one in LAUNCHERS[job.mpi]):
        problems.append(
            f"no {LAUNCHERS[job.mpi][0]} on this machine: it is known where the job runs, or not at all"
        )
    folder = Path(job.directory or ".")
    if not folder.is_dir():
        problems.append(f"{folder}: no such directory on this machine")
    elif "/" in job.program and not (folder / job.program).is_file() and not job.build:
        problems.append(f"{job.program}: no such file in {folder.resolve()}")
    if job.is_selective:
        problems += _wrong_selection(job, folder)
    return problems


def _wrong_servers(job: Job) -> list[str]:
    problems = [
        f"server {number + 1}: role {server['role']} is not in this version; there is {', '.join(settings.ROLES)}"
        for number, server in enumerate(job.servers)
        if server["role"] not in settings.ROLES
    ]
    return problems + [
        f"server {number + 1}: no path: which directory does it export?"
        for number, server in enumerate(job.servers)
        if not server["path"]
    ]


def _forwarding(job: Job) -> dict[str, str] | None:
    """The servers' configuration file, and what starts them."""
    if not job.servers:
        return None
    file = f"{job.run}.servers.toml"
    return {"file": file, "text": servers_text(job), "start": f"fathom forward up {file}"}


def _wrong_selection(job: Job, folder: Path) -> list[str]:
    program = folder / job.program
    try:
        compile_text(selection_text(job), "selection", [program] if program.is_file() else [])
    except FathomError as error:
        return [str(error)]
    return []


@answer("setup", of_all=True, required=("program",), **READERS)
def setup(_: Runs, **own: Any) -> dict[str, Any]:
    """Command, selection file and batch script of a job; what is wrong with it."""
    job = Job(**own)
    file = f"{job.run}.select.toml"
    return {
        "name": job.run,
        "command": job.command(file),
        "line": shlex.join(job.command(file)),
        "build": shlex.join(job.build) or None,
        "selection": {"file": file, "text": selection_text(job)} if job.is_selective else None,
        "script": script(job, file),
        "forwarding": _forwarding(job),
        "problems": _problems(job),
    }
