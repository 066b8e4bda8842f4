"""What of this machine bugs depend on, for reports: nothing here is right or wrong."""

import os
import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from fathom.doctor import traced
from fathom.doctor.finding import Finding
from fathom.run import programs
from fathom.run.mpi import family
from fathom.text import numbers

#: Features of processors that change how state is saved, by the kernel's names for them.
FEATURES = re.compile(r"avx2|avx512f|amx_tile|pku|shstk|user_shstk|sve|sve2|sme|xsavec|xsaves")
LAUNCHERS = ("mpiexec", "mpiexec.mpich", "mpiexec.openmpi")
HDF5 = ("hdf5", "hdf5-serial", "hdf5-mpich", "hdf5-openmpi")
PLACES = ("/tmp", "/dev/shm")
SECCOMP = {"0": "off", "1": "strict", "2": "filter"}


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _printed(*words: str) -> str:
    done = programs.ask(*words) if shutil.which(words[0]) else None
    return done.stdout.strip() if done and done.returncode == 0 else ""


def processor(cpuinfo: str = "/proc/cpuinfo") -> Iterator[Finding]:
    """Model, features, and how much of a thread there is to save."""
    lines = (line.partition(":") for line in _read(cpuinfo).splitlines())
    of = {key.strip(): value.strip() for key, _, value in lines}
    model = of.get("model name") or of.get("CPU part") or "unknown"
    flags = (of.get("flags") or of.get("Features") or "").split()
    seen = sorted({flag for flag in flags if FEATURES.fullmatch(flag)})
    state = traced.state_bytes() if platform.machine() == "x86_64" else 0
    words = [f"{model} ({platform.machine()})", *seen]
    detail = " ".join(words) + (f"; extended state {state:,} bytes" if state else "")
    allowed = len(os.sched_getaffinity(0))
    yield Finding(
        "processor",
        "fact",
        f"{detail}; {numbers.things(os.cpu_count() or 1, 'processor')}, {allowed} allowed",
    )


def system() -> Iterator[Finding]:
    """Kernel, C library, memory."""
    name, version = platform.libc_ver()
    release = "".join(re.findall(r'^PRETTY_NAME="?([^"\n]*)', _read("/etc/os-release"), re.M))
    memory = dict(re.findall(r"^(\w+):\s+(\d+) kB", _read("/proc/meminfo"), re.M))
    total, free = (
        numbers.size(int(memory.get(key, 0)) << 10) for key in ("MemTotal", "MemAvailable")
    )
    detail = f"Linux {platform.release()}, {name or 'another C library'} {version}, {release}"
    yield Finding("system", "fact", f"{detail}; memory {total}, {free} available")


def libraries() -> Iterator[Finding]:
    """Each MPI, each HDF5, the debugger."""
    versions: dict[str, None] = {}
    for launcher in LAUNCHERS:
        text = _printed(launcher, "--version")
        version = re.search(r"\d+\.\d+[\w.]*", text)
        if text and version:
            versions[f"{family(text) or launcher} {version[0]}"] = None
    for package in HDF5:
        if version_of := _printed("pkg-config", "--modversion", package):
            versions[f"{package} {version_of}"] = None
    debugger = re.search(r"[\d.]+$", _printed("gdb", "--version").partition("\n")[0])
    gdb = f"gdb {debugger[0]}" if debugger else "no gdb"
    yield Finding("libraries", "fact", ", ".join([*versions, gdb]))


def permissions() -> Iterator[Finding]:
    """Who we are, and what the kernel forbids."""
    scope = _read("/proc/sys/kernel/yama/ptrace_scope") or "none"
    perf = _read("/proc/sys/kernel/perf_event_paranoid") or "none"
    state = re.search(r"^Seccomp:\s+(\d)", _read("/proc/self/status"), re.M)
    seccomp = SECCOMP.get(state[1], state[1]) if state else "unknown"
    detail = (
        f"uid {os.geteuid()}, ptrace_scope {scope}, perf_event_paranoid {perf}, seccomp {seccomp}"
    )
    yield Finding("permissions", "fact", detail)


def paths() -> Iterator[Finding]:
    """File systems that every run uses."""
    descriptions = []
    for place in PLACES:
        if Path(place).is_dir():
            free = numbers.size(shutil.disk_usage(place).free)
            descriptions.append(f"{place} {file_system(Path(place))}, {free} free")
    yield Finding("places", "fact", "; ".join(descriptions))


def file_system(place: Path) -> str:
    """The type of the file system that holds a place; "": nobody says so."""
    file_system_type, longest = "", 0
    for line in _read("/proc/self/mounts").splitlines():
        _, at, kind, *_ = line.split()
        if (place == Path(at) or Path(at) in place.parents) and len(at) >= longest:
            file_system_type, longest = kind, len(at)
    return file_system_type


CHECKS = (processor, system, libraries, permissions, paths)
