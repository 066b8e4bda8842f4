"""A process that is to be attached: which it is, and why it cannot be."""

import fnmatch
import os
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import FathomError, UsageError

#: Set by launchers for each of their ranks; what runtime/core/process.c reads.
RANK = (
    "PMI_RANK",
    "PMI_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK",
    "PMIX_SIZE",
    "MV2_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_NTASKS",
)
LOCAL_RANK = (
    "MPI_LOCALRANKID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMIX_LOCAL_RANK",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "SLURM_LOCALID",
)
STEP = "SLURM_STEP_ID"
#: Between a launcher and a rank's program, launchers among them; they make no I/O that anybody asks about.
SHELLS = frozenset(
    "sh bash dash zsh ksh csh tcsh fish busybox env timeout nice nohup taskset numactl time strace"
    " srun mpiexec mpiexec.hydra mpirun hydra_pmi_proxy hydra_bstrap_proxy orterun orted prterun prted".split()
)
#: Slurm's batch script and shell have the variables of a rank and are none: no step, or one from this number on.
NO_TASKS = 0xFFFFFFF0
PROC = Path("/proc")
ENDED = "it has ended"


class StaticError(FathomError):
    """No library can be brought into a process."""


@dataclass(frozen=True)
class Target:
    """A live process."""

    pid: int
    program: str
    command: tuple[str, ...]
    directory: str
    variables: dict[str, str]  # RANK, LOCAL_RANK and STEP, as it was started with
    started: int  # ticks since boot: another process may get the number later

    @property
    def rank(self) -> int | None:
        """What its launcher says; None: no rank."""
        for name in RANK[::2]:
            if self.variables.get(name, "").isdigit():
                return int(self.variables[name])
        return None


def _text(pid: int, name: str) -> str:
    return os.fsdecode((PROC / str(pid) / name).read_bytes())


def started(pid: int) -> int:
    """Ticks since boot; 0: there is no such process."""
    try:
        return int(_text(pid, "stat").rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def _environment(pid: int) -> dict[str, str]:
    pairs = (word.partition("=") for word in _text(pid, "environ").split("\0"))
    return {name: value for name, equals, value in pairs if equals}


def _variables(pid: int) -> dict[str, str]:
    environment = _environment(pid)
    step = environment.get(STEP, "")
    a_task = step.isdigit() and int(step) < NO_TASKS
    return {
        name: environment[name]
        for name in (*RANK, *LOCAL_RANK, STEP)
        if name in environment and (a_task or not name.startswith("SLURM_"))
    }


def find(pid: int) -> Target:
    """The process of this number. Raises its one line when it is not to be attached."""
    try:
        exe = (PROC / str(pid) / "exe").readlink()
        target = Target(
            pid,
            exe.name.removesuffix(" (deleted)"),
            tuple(_text(pid, "cmdline").split("\0")[:-1]),
            str((PROC / str(pid) / "cwd").readlink()),
            _variables(pid),
            started(pid),
        )
    except PermissionError as error:
        raise FathomError(
            f"process {pid}: it is another user's, or may not be looked at"
        ) from error
    except (FileNotFoundError, ProcessLookupError) as error:
        gone = not (PROC / str(pid)).exists()
        what = "there is no such process" if gone else "it is the kernel's, or has ended"
        raise FathomError(f"process {pid}: {what}") from error
    return target


def check(target: Target, library: Path) -> None:
    """Can the library be loaded into it? Looked up in files, before the process is touched."""
    from fathom.run import elf  # its library is no cost of `import fathom.api`

    path = PROC / str(target.pid) / "exe"
    try:
        program = elf.read(path)
        with path.open("rb") as executable, library.open("rb") as library_file:
            executable_machine, library_machine = (
                _machine(executable.read(20)),
                _machine(library_file.read(20)),
            )
        tracer = _status(target.pid).get("TracerPid", "0")
        same_root = (PROC / str(target.pid) / "root").samefile("/")
        sees = _sees(target.pid, library)
        limits = _filters(target.pid) > _filters(os.getpid())
    except OSError as error:
        raise FathomError(f"process {target.pid}: {ENDED}") from error
    if executable_machine != library_machine:
        raise FathomError(
            f"process {target.pid}: {target.program} is of another architecture than this Fathom"
        )
    if program is None or program.loader is None:
        raise StaticError(
            f"process {target.pid}: {target.program} is linked statically: no library can be loaded into it;"
            " --kernel=calls asks the kernel for its calls"
        )
    if not same_root:
        raise FathomError(
            f"process {target.pid}: it is in a container with files of its own; run fathom attach in there"
        )
    if not sees:
        raise FathomError(
            f"process {target.pid}: it is in another mount namespace, where {library} is not;"
            " run fathom attach in there"
        )
    if limits:
        raise FathomError(
            f"process {target.pid}: it limits its own system calls (seccomp); what Fathom needs would end it"
        )
    if tracer != "0":
        raise FathomError(
            f"process {target.pid}: process {tracer} traces it already (strace, a debugger); end that first"
        )


def _status(pid: int) -> dict[str, str]:
    lines = (line.partition(":") for line in _text(pid, "status").splitlines())
    return {name: value.strip() for name, _, value in lines}


def _sees(pid: int, library: Path) -> bool:
    try:
        return (PROC / str(pid) / "root" / library.absolute().relative_to("/")).samefile(library)
    except FileNotFoundError:
        return False


def _filters(pid: int) -> int:
    """How many filters of system calls it is under, those of its container among them; strict mode: more than any."""
    status = _status(pid)
    mode = int(status.get("Seccomp", "0"))
    return sys.maxsize if mode == 1 else int(status.get("Seccomp_filters", mode // 2))


def _machine(header: bytes) -> tuple[int, ...]:
    """Class, byte order, machine."""
    return struct.unpack_from("<4xBB12xH", header) if len(header) == 20 else ()


# ---- by other names than numbers ----


def _all() -> list[int]:
    return sorted(int(path.name) for path in PROC.iterdir() if path.name.isdigit())


def _parent(pid: int) -> int:
    try:
        return int(_text(pid, "stat").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def named(pattern: str) -> list[int]:
    """This user's processes whose program's name is like `pattern`."""
    pids = []
    for pid in _all():
        try:
            name = (PROC / str(pid) / "exe").readlink().name
            own = (PROC / str(pid)).stat().st_uid == os.getuid()
        except OSError:
            continue
        if own and pid != os.getpid() and fnmatch.fnmatchcase(name, pattern):
            pids.append(pid)
    if not pids:
        raise UsageError(f"attach: no process of yours runs a program like {pattern}")
    return pids


def of_job(launcher: int) -> list[int]:
    """The ranks that a launcher started on this node."""
    if not started(launcher):
        raise UsageError(f"attach: --job {launcher}: there is no such process")
    ranks = _ranks(launcher, _children())
    if not ranks:
        raise UsageError(
            f"attach: --job {launcher}: no rank of an MPI job below it on this node"
            " (ranks of srun are not below it: --slurm names its job)"
        )
    return ranks


def of_slurm(job: str) -> list[int]:
    """The ranks of a job of Slurm, or of a step (JOB.STEP), on this node; not the step that this process is in."""
    own_step = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_STEP_ID")
    number, _, step = job.partition(".")
    members = set()
    for pid in _all():
        try:
            environment = _environment(pid)
            of = environment.get("SLURM_JOB_ID"), environment.get("SLURM_STEP_ID")
            if of[0] == number and of != own_step and step in ("", of[1]) and _is_here(pid):
                members.add(pid)
        except OSError:
            continue  # another user's, or it has ended
    children = {
        parent: [one for one in below if one in members] for parent, below in _children().items()
    }
    outermost = {parent for parent in children if parent not in members}
    ranks = sorted(pid for parent in outermost for pid in _ranks(parent, children))
    if not ranks:
        raise FathomError(f"attach: --slurm {job}: no rank of it on {os.uname().nodename}")
    return ranks


def _is_here(pid: int) -> bool:
    """Is its node ours, as a run names nodes?"""
    name = "proc/sys/kernel/random/boot_id"
    try:
        return (PROC / str(pid) / "root" / name).read_bytes() == (Path("/") / name).read_bytes()
    except FileNotFoundError:
        return True  # a container without it


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for pid in _all():
        children.setdefault(_parent(pid), []).append(pid)
    return children


def _ranks(above: int, children: dict[int, list[int]]) -> list[int]:
    """Those below it: of each, the outermost that is no shell."""
    ranks, waiting = [], list(children.get(above, []))
    while waiting:
        pid = waiting.pop(0)
        try:
            target = find(pid)
        except FathomError:
            continue
        if target.rank is not None and target.program not in SHELLS:
            ranks.append(pid)
        else:
            waiting += children.get(pid, [])
    return ranks
