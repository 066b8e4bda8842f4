"""What a test needs of the machine. Without it, it is skipped with a line that says what is missing;
in continuous integration (CI is set) that is a failure, unless the need cannot be met there."""

from __future__ import annotations

import ctypes.util
import fcntl
import importlib.util
import os
import platform
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import readers

MPI = {"mpich": "mpich", "ompio": "openmpi", "romio321": "openmpi"}


def _root() -> bool:
    return os.geteuid() == 0


def _io_uring() -> bool:
    """Sandboxes forbid it, and kernels can be told to."""
    libc = ctypes.CDLL(None, use_errno=True)
    ring = libc.syscall(425, 1, ctypes.create_string_buffer(120))  # io_uring_setup
    if ring >= 0:
        os.close(ring)
    return bool(ring >= 0)


def _mmap_dirty() -> bool:
    """userfaultfd with asynchronous write protection: Linux 6.7, and where a sandbox allows it."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = 323 if os.uname().machine == "x86_64" else 282
    fd = libc.syscall(number, os.O_CLOEXEC | os.O_NONBLOCK)  # userfaultfd
    if fd < 0:
        return False
    api = struct.pack("QQQ", 0xAA, 1 << 15 | 1 << 13, 0)
    try:
        fcntl.ioctl(fd, 0xC018AA3F, api)  # UFFDIO_API
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _namespaces() -> bool:
    words = ["unshare", "--mount", "--uts", "--net", "true"]
    return _root() and subprocess.run(words, capture_output=True, check=False).returncode == 0


def _loop() -> bool:
    """A file as a disk: mount needs a device of its own for it."""
    try:
        control = os.open("/dev/loop-control", os.O_RDWR)
    except OSError:
        return False
    try:
        number = fcntl.ioctl(control, 0x4C82)  # LOOP_CTL_GET_FREE
    except OSError:
        return False
    finally:
        os.close(control)
    return Path(f"/dev/loop{number}").exists() and _namespaces()


def _read_bytes() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


def _page_cache() -> bool:
    """Temporary files lie on what can lose them from the page cache, and the kernel says what it read."""
    with tempfile.TemporaryFile() as file:
        try:
            before = _read_bytes()
            file.write(bytes(1 << 20))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.seek(0)
            file.read()
            return _read_bytes() >= before + (1 << 20)
        except (OSError, KeyError):
            return False


def _exit_of_pidfd() -> bool:
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    return bool(release) and (int(release[1]), int(release[2])) >= (6, 15)


def _kernel() -> bool:
    """What --kernel loads: root, a kernel with BTF, and an engine that was built with clang."""
    words = [readers.ENGINE, "kernel", "--parent", str(os.getpid())]
    done = subprocess.run(words, capture_output=True, check=False, input=b"")
    return done.stdout == b"loaded\n"


#: Needs that a container may deny for good: skipped there too.
NOT_EVERYWHERE = {
    "root": "must be root to mount a small tmpfs",
    "fuse": "/dev/fuse is not there, or not for this user",
    "namespaces": "must be root, and allowed to make namespaces, to emulate nodes",
    "loop": "must be root, and allowed to mount a file as a disk",
    "go": "Go is not installed, and no package of ours brings it",
    "fio": "fio is not installed, and no package of ours brings it",
    "java": "Java is not installed, and no package of ours brings it",
    "io_uring": "the kernel or a sandbox forbids io_uring",
    "kernel": "must be root, and allowed to load BPF programs, of an engine that was built with clang",
    "page_cache": "temporary files are in memory, or the kernel does not say what it reads from a disk",
    "processors": "only one processor may be used, so peers that wait by looking take a turn of it each time",
    "exit_of_pidfd": "the kernel is older than 6.15: it does not say how a process ended that is not one's child",
    "mmap_dirty": "the kernel is older than 6.7, or userfaultfd is forbidden",
}

SPECIAL: dict[str, Callable[[], bool]] = {
    "root": _root,
    "fuse": lambda: os.access("/dev/fuse", os.R_OK | os.W_OK),
    "namespaces": _namespaces,
    "loop": _loop,
    "io_uring": _io_uring,
    "exit_of_pidfd": _exit_of_pidfd,
    "kernel": _kernel,
    "mmap_dirty": _mmap_dirty,
    "page_cache": _page_cache,
    "processors": lambda: len(os.sched_getaffinity(0)) > 1,
}


def missing(need: str) -> str:
    """What to say, or "" when it is there. `tool`, `python:module`, `library:name`, or a SPECIAL one."""
    if need in SPECIAL:
        return "" if SPECIAL[need]() else NOT_EVERYWHERE.get(need, need)
    if need.startswith("python:"):
        module = need.removeprefix("python:")
        return (
            "" if importlib.util.find_spec(module) else f"Python module {module} is not installed"
        )
    if need.startswith("library:"):
        name = need.removeprefix("library:")
        return "" if ctypes.util.find_library(name) else f"lib{name} is not installed"
    return "" if shutil.which(need) else f"{need} is not installed"


def require(needs: list[str]) -> None:
    for need in needs:
        line = missing(need)
        if not line:
            continue
        if os.environ.get("CI") and need not in NOT_EVERYWHERE:
            pytest.fail(f"needs {need}: {line}", pytrace=False)
        pytest.skip(f"needs {need}: {line}")


def of_mpi(mpi: str) -> list[str]:
    return [f"mpicc.{MPI[mpi]}", f"mpiexec.{MPI[mpi]}"] if mpi else []
