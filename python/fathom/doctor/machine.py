"""This machine: memory for rings, disk for streams, clock, what may be looked at."""

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from fathom.doctor import traced
from fathom.doctor.finding import Finding
from fathom.text import numbers

RING_SPACE = 64 << 20  # of one process at most, and THREAD_SPACE: RING_CHUNKS in runtime/core
THREAD_SPACE = 68 << 10  # a thread's first chunk and its page, there however many threads there are
BUDGET = 64 << 20  # bytes of stream per process, unless --budget says otherwise
SHM = Path("/dev/shm")


def rings() -> Iterator[Finding]:
    """Where the rings lie: node-local, writable, room for some processes."""
    given = os.environ.get("FATHOM_RING")
    place = Path(given).parent if given else SHM
    elsewhere = "name a folder of another place in FATHOM_RING"
    if not os.access(place, os.W_OK):
        yield Finding("rings", "problem", f"{place} is not writable", elsewhere)
        return
    usage = shutil.disk_usage(place)
    room = f"{place}, {numbers.size(usage.free)} of {numbers.size(usage.total)} free"
    most = f"a process takes at most {numbers.size(RING_SPACE)} and {numbers.size(THREAD_SPACE)} a thread"
    if usage.free < THREAD_SPACE:
        yield Finding(
            "rings", "problem", f"{room}: not enough for one thread", f"empty it, or {elsewhere}"
        )
    elif usage.free < RING_SPACE:
        yield Finding("rings", "limit", f"{room}; {most}", f"empty it, or {elsewhere}")
    else:
        yield Finding("rings", "ok", f"{room}; {most}")


def run_directory() -> Iterator[Finding]:
    """Streams go into the run directory, by default here."""
    directory = Path.cwd()
    if not os.access(directory, os.W_OK):
        yield Finding("run directory", "limit", f"{directory} is not writable", "name one with -o")
        return
    free = shutil.disk_usage(directory).free
    room = (
        f"{directory}, {numbers.size(free)} free; a process writes at most {numbers.size(BUDGET)}"
    )
    if free < THREAD_SPACE:
        yield Finding("run directory", "problem", room, "name one on another disk with -o")
    elif free < BUDGET:
        yield Finding(
            "run directory",
            "limit",
            room,
            "name one on another disk with -o, or give a smaller --budget",
        )
    else:
        yield Finding("run directory", "ok", room)


def clock(cpuinfo: Path = Path("/proc/cpuinfo")) -> Iterator[Finding]:
    """Can the processor's counter be read directly, and does it run on evenly?"""
    clock_wanted = os.environ.get("FATHOM_CLOCK", "")
    flags: set[str] = set()
    for line in cpuinfo.read_text(errors="replace").splitlines():
        if line.startswith("flags"):
            flags = set(line.partition(":")[2].split())
            break
    if clock_wanted and clock_wanted != "tsc":
        yield Finding("clock", "limit", f"FATHOM_CLOCK={clock_wanted}", "unset FATHOM_CLOCK")
    elif {"constant_tsc", "nonstop_tsc"} <= flags:
        yield Finding("clock", "ok", "time stamp counter, invariant")
    else:
        yield Finding(
            "clock",
            "limit",
            "no invariant time stamp counter: clock_gettime, about 20 ns a reading",
            "on a virtual machine, pass the processor's flags constant_tsc and nonstop_tsc on",
        )


def tracing(scope: Path = Path("/proc/sys/kernel/yama/ptrace_scope")) -> Iterator[Finding]:
    """May a running process be attached to?"""
    level = int(scope.read_text()) if scope.is_file() else 0
    advice = "start programs with fathom run: that needs no ptrace"
    if not traced.allowed():
        yield Finding(
            "ptrace",
            "limit",
            "forbidden here: attaching cannot work",
            advice,
        )
    elif level >= 2 and os.geteuid() != 0:
        yield Finding(
            "ptrace",
            "limit",
            f"forbidden but for root (yama {level}): attaching cannot work",
            advice,
        )
    elif level == 1 and os.geteuid() != 0:
        yield Finding(
            "ptrace",
            "limit",
            "of own children only (yama 1): attaching to others cannot work",
            advice,
        )
    else:
        yield Finding("ptrace", "ok", "allowed for own processes")


def fuse(device: Path = Path("/dev/fuse")) -> Iterator[Finding]:
    """Can a file system in user space be mounted?"""
    helper = shutil.which("fusermount3") or shutil.which("fusermount")
    if not os.access(device, os.R_OK | os.W_OK):
        yield Finding(
            "FUSE",
            "limit",
            f"no {device}: no file system in user space here",
            "let the container have the device",
        )
    elif os.geteuid() != 0 and not helper:
        yield Finding(
            "FUSE",
            "limit",
            "not root, and no fusermount3: no file system in user space",
            "install fuse3",
        )
    else:
        yield Finding(
            "FUSE",
            "ok",
            "file systems in user space can be mounted" + ("" if helper else " by root"),
        )


def cephfs(name: str = "libcephfs.so.2") -> Iterator[Finding]:
    """Can a forwarding server speak to a CephFS without a mount?"""
    try:
        ctypes.CDLL(name)
    except OSError:
        yield Finding(
            "libcephfs",
            "limit",
            "not there: forwarding servers reach CephFS through a mount only",
            "install libcephfs2",
        )
    else:
        yield Finding("libcephfs", "ok", "forwarding servers can export cephfs:/PATH")


def samples(proc: Path = Path("/proc")) -> Iterator[Finding]:
    """What an agent could sample of this node."""
    try:
        (proc / "pressure" / "io").read_text()
        yield Finding("pressure", "ok", "the kernel tells what waits for I/O (PSI)")
    except OSError as error:
        yield Finding("pressure", "limit", f"no {proc}/pressure/io ({error.strerror}): no samples of pressure",
                      "start the kernel with psi=1")  # fmt: skip
    yield from _lustre(proc)


def _lustre(proc: Path) -> Iterator[Finding]:
    """Client statistics, where Lustre is mounted."""
    mounts = [
        line.split() for line in (proc / "self" / "mounts").read_text(errors="replace").splitlines()
    ]
    lustre = [words[1] for words in mounts if len(words) > 2 and words[2] == "lustre"]
    if not lustre:
        return
    roots = (proc / "fs" / "lustre", Path("/sys/fs/lustre"), Path("/sys/kernel/debug/lustre"))
    if any(os.access(root / "llite", os.R_OK | os.X_OK) for root in roots):
        yield Finding("Lustre", "ok", f"{', '.join(lustre)}; client statistics can be read")
    else:
        yield Finding("Lustre", "limit", f"{', '.join(lustre)}; client statistics cannot be read: no samples of them",
                      "ask for read access to llite's statistics")  # fmt: skip


CHECKS = (rings, run_directory, clock, tracing, fuse, cephfs, samples)
