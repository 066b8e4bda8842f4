"""What `fathom doctor` looks at. Each check is a function that gives findings."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fathom import cost, elf, places
from fathom.errors import FathomError, UsageError
from fathom.view import numbers

Verdict = Literal["ok", "note", "limit", "fails"]
LAUNCHERS = ("mpiexec", "mpirun", "srun", "mpiexec.mpich", "mpiexec.openmpi", "jsrun", "aprun")
RING_SPACE = 64 << 20  # of one process at most, and THREAD_SPACE: RING_CHUNKS in runtime/core
THREAD_SPACE = 68 << 10  # a thread's first chunk and its page, there however many threads there are


@dataclass(frozen=True)
class Finding:
    """`limit`: works in part. `fails`: will not work."""

    what: str
    verdict: Verdict
    detail: str


def parts() -> Iterator[Finding]:
    """Are the native parts there, and does the loader take the library?"""
    for name, find in (("command", places.native_command), ("engine", places.engine)):
        try:
            yield Finding(name, "ok", str(find()))
        except FathomError as error:
            yield Finding(name, "fails", str(error))
    try:
        library = places.library()
    except FathomError as error:
        yield Finding("library", "fails", str(error))
        return
    if library is None:
        yield Finding(
            "library", "fails", "no libfathom.so beside the command; build it, or set FATHOM_LIB"
        )
        return
    done = subprocess.run(
        ["/bin/true"], env={"LD_PRELOAD": str(library)}, capture_output=True, text=True, check=False
    )
    if done.returncode or done.stderr:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        yield Finding("library", "fails", f"the loader does not take it: {said[0]}")
        return
    yield Finding("library", "ok", str(library))
    added = cost.per_call()
    if added is not None:
        yield Finding(
            "cost", "ok", f"recording adds {numbers.seconds(added)} to an empty call here"
        )


def memory() -> Iterator[Finding]:
    """Where the rings lie: node-local, writable, room for some processes."""
    given = os.environ.get("FATHOM_RING")
    place = Path(given).parent if given else Path("/dev/shm")
    if not os.access(place, os.W_OK):
        yield Finding(
            "rings", "fails", f"{place} is not writable; name another place in FATHOM_RING"
        )
        return
    free = shutil.disk_usage(place).free
    room = f"{place}, {numbers.size(free)} free"
    if free < RING_SPACE:
        yield Finding("rings", "limit", f"{room}: less than one process may need; set FATHOM_RING")
    else:
        most = f"{numbers.size(RING_SPACE)} and {numbers.size(THREAD_SPACE)} a thread"
        yield Finding("rings", "ok", f"{room}, a process takes at most {most}")
    here = Path.cwd()
    if not os.access(here, os.W_OK):
        yield Finding("run directory", "limit", f"{here} is not writable: name one with -o")


def clock() -> Iterator[Finding]:
    """Can the processor's counter be read directly?"""
    flags: set[str] = set()
    for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
        if line.startswith("flags"):
            flags = set(line.partition(":")[2].split())
            break
    if {"constant_tsc", "nonstop_tsc"} <= flags:
        yield Finding("clock", "ok", "time stamp counter, invariant")
    else:
        yield Finding(
            "clock",
            "limit",
            "no invariant time stamp counter: clock_gettime, about 20 ns a reading",
        )


def launchers() -> Iterator[Finding]:
    """Which launchers are there?"""
    found = [name for name in LAUNCHERS if shutil.which(name)]
    if found:
        yield Finding("launchers", "ok", ", ".join(found))
    else:
        yield Finding(
            "launchers", "note", "no mpiexec, mpirun or srun in PATH: serial programs only"
        )


def tracing() -> Iterator[Finding]:
    """May a running process be attached to?"""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    level = int(scope.read_text()) if scope.is_file() else 0
    if level >= 2 and os.geteuid() != 0:
        yield Finding(
            "ptrace", "note", f"forbidden (yama {level}): fathom run works, attaching cannot"
        )
    else:
        yield Finding("ptrace", "ok", "allowed for own processes")


def _libraries(path: Path) -> list[str]:
    done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]


def program(name: str) -> Iterator[Finding]:
    """Can this program be recorded, and which of its layers?"""
    found = shutil.which(name)
    if found is None:
        raise UsageError(f"doctor: {name}: no such executable program")
    path = Path(found)
    image = elf.read(path)
    if image is None:
        yield Finding(
            "program", "limit", f"{path} is neither an ELF file nor a script: a shell runs it"
        )
    elif image.script is not None:
        yield Finding(
            "program", "note", f"a script; what counts is {image.script} and what it starts"
        )
    elif image.loader is None:
        yield Finding(
            "program",
            "fails",
            f"{path} is static: no library can be brought in; link it dynamically",
        )
    elif image.bits != 64 or "ld-musl" in image.loader:
        yield Finding(
            "program",
            "fails",
            f"{path} needs {image.loader}; libfathom.so is 64-bit for the GNU C library",
        )
    else:
        yield Finding("program", "ok", f"{path}, dynamic")
        yield from _layers(image)
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        yield Finding(
            "set-user-id", "fails", f"{path} runs with other rights: the loader ignores LD_PRELOAD"
        )


def _layers(image: elf.Program) -> Iterator[Finding]:
    loaded = _libraries(image.path)
    mpis = sorted(
        {
            mpi
            for lib in loaded
            for mpi, start in (
                ("MPICH", "libmpich.so"),
                ("MPICH", "libmpi.so.12"),
                ("Open MPI", "libmpi.so.40"),
            )
            if lib.startswith(start)
        }
    )
    if len(mpis) > 1:
        yield Finding(
            "MPI",
            "fails",
            f"two MPIs in one program: {' and '.join(mpis)}; it aborts in MPI_Init. "
            "Link libraries that are built for one of them",
        )
    elif mpis:
        yield Finding("MPI", "ok", mpis[0])
    elif image.names("MPI_File_open"):
        yield Finding(
            "MPI", "limit", "linked in statically: MPI-IO calls are not seen, POSIX calls are"
        )
    hdf5 = [lib for lib in loaded if lib.startswith("libhdf5")]
    if hdf5:
        yield Finding("HDF5", "ok", hdf5[0])
    elif image.names("H5Dwrite"):
        yield Finding(
            "HDF5", "limit", "linked in statically: HDF5 calls are not seen, those below are"
        )


def writable_temp() -> Iterator[Finding]:
    """DuckDB spills there when a question is larger than memory."""
    place = Path(tempfile.gettempdir())
    if not os.access(place, os.W_OK):
        yield Finding("temporary files", "limit", f"{place} is not writable: set TMPDIR")


def all_of(program_name: str | None) -> Iterator[Finding]:
    """Every check, cheap ones first."""
    for check in (parts, memory, clock, launchers, tracing, writable_temp):
        yield from check()
    if program_name:
        yield from program(program_name)
