"""Which system calls of a program are Fathom's, and what becomes of it when one of them fails."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from harness import paths

#: The kernel's usual answers; of every call, and of some besides.
ALWAYS = ("EPERM", "EINTR", "ENOMEM")
USUAL = {
    "openat": ("EACCES", "EMFILE", "ENFILE", "ENOENT", "ENOSPC"),
    "read": ("EIO", "EAGAIN"),
    "write": ("ENOSPC", "EIO", "EDQUOT", "EAGAIN"),
    "close": ("EIO", "EBADF"),
    "mmap": ("EACCES", "EAGAIN"),
    "mprotect": ("EACCES",),
    "madvise": ("EINVAL",),
    "munmap": ("EINVAL",),
    "mkdirat": ("EACCES", "EEXIST", "ENOSPC"),
    "unlinkat": ("EACCES", "ENOENT", "EBUSY"),
    "fallocate": ("ENOSPC", "EOPNOTSUPP"),
    "rt_sigprocmask": ("EINVAL", "EFAULT"),
    "getrandom": ("EAGAIN", "ENOSYS"),
    "statx": ("EACCES", "ENOSYS"),
    "readlinkat": ("EACCES", "ENOENT"),
    "getcwd": ("ENOENT",),
    "sched_yield": ("ENOSYS",),
}

LINE = re.compile(r"(\d+) +\[([0-9a-f]+)\] (\w+)\(")
MAPPED = re.compile(r"mmap\((?:NULL|0x[0-9a-f]+), (\d+), .* = 0x([0-9a-f]+)$")


@dataclass(frozen=True)
class Fault:
    call: str
    ordinal: int  # of the calls of that name in its thread
    error: str

    def __str__(self) -> str:
        return f"{self.call} {self.ordinal} {self.error}"


@dataclass(frozen=True)
class Outcome:
    status: int | str
    output: str
    errors: str
    files: tuple[tuple[str, bytes], ...] = ()
    lines: int = field(default=0, compare=False)  # that Fathom itself wrote

    @property
    def refused(self) -> bool:
        """With one line, before the program began."""
        nothing = self.status in (125, 126, 127) and not (self.output or self.errors or self.files)
        return nothing and self.lines == 1


def library_range(log: list[str]) -> tuple[int, int]:
    """Where the loader mapped libfathom.so: its first mapping is as long as all of it."""
    opened = False
    for line in log:
        opened |= "libfathom.so" in line and "openat(" in line
        mapped = MAPPED.search(line)
        if opened and mapped:
            begin = int(mapped.group(2), 16)
            return begin, begin + int(mapped.group(1))
    raise AssertionError("libfathom.so is not mapped")


def made_by_fathom(program: list[str], tmp: Path) -> dict[str, set[int]]:
    """By name: the ordinals that are Fathom's in each thread that comes so far."""
    log = tmp / "log"
    run = ["strace", "-f", "-i", "-o", str(log), *program]
    subprocess.run(fathom_run(tmp / "looked.fathom", run), capture_output=True, check=False)
    lines = log.read_text().splitlines()
    begin, end = library_range(lines)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    ours: dict[str, set[int]] = defaultdict(set)
    others: dict[str, set[int]] = defaultdict(set)
    for thread, address, name in (m.groups() for m in map(LINE.match, lines) if m):
        counts[thread, name] += 1
        whose = ours if begin <= int(address, 16) < end else others
        whose[name].add(counts[thread, name])
    return {name: numbers - others[name] for name, numbers in ours.items()}


def made_by_the_command(program: list[str], tmp: Path) -> dict[str, set[int]]:
    """By name: the ordinals of what `fathom run` does after the loader has started it."""
    log = tmp / "log"
    run = fathom_run(tmp / "looked.fathom", program)
    subprocess.run(["strace", "-o", str(log), *run], capture_output=True, check=False)
    counts: dict[str, int] = defaultdict(int)
    ours: dict[str, set[int]] = defaultdict(set)
    started = False
    for line in log.read_text().splitlines():
        started |= line.startswith('readlink("/proc/self/exe"')
        name = line.partition("(")[0]
        counts[name] += 1
        if started and name.isidentifier() and name != "exit_group":
            ours[name].add(counts[name])
    return ours


def faults(ours: dict[str, set[int]]) -> list[Fault]:
    return [
        Fault(name, ordinal, error)
        for name, ordinals in sorted(ours.items())
        for ordinal in sorted(ordinals)
        for error in (*ALWAYS, *USUAL.get(name, ()))
    ]


def fathom_run(run: Path, command: list[str]) -> list[str]:
    return [str(paths.FATHOM), "run", "--no-show", "-o", str(run), "--", *command]


def is_ours(line: str) -> bool:
    """Of the command itself, and none of the program's."""
    return line.startswith("fathom: ")


def outcome(command: list[str], directory: Path, timeout: float = 60) -> Outcome:
    """Of a program that writes files into `directory`. Rings lie beside it: a fault may leave one."""
    ring = directory.with_name(f"{directory.name}.ring")
    try:
        env = {**os.environ, "FATHOM_RING": str(ring)}
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome("has not ended", "", "")
    others = [line for line in done.stderr.splitlines() if not is_ours(line)]
    files = tuple((p.name, p.read_bytes()) for p in sorted(directory.iterdir()))
    lines = len(done.stderr.splitlines()) - len(others)
    return Outcome(done.returncode, done.stdout, "\n".join(others), files, lines)


def injecting(fault: Fault, *options: str) -> list[str]:
    inject = f"inject={fault.call}:error={fault.error}:when={fault.ordinal}"
    trace = ["-qq", "-o", "/dev/null", "-e", f"trace={fault.call}", "-e", inject]
    return ["strace", *options, *trace]


def with_fault(program: Path, fault: Fault, tmp: Path) -> Outcome:
    """The program under Fathom, one of whose system calls fails in it."""
    directory = tmp / "files"
    directory.mkdir(parents=True)
    run = [*injecting(fault, "-f"), str(program), str(directory)]
    result = outcome(fathom_run(tmp / "run.fathom", run), directory)
    shutil.rmtree(tmp)
    return result


def _remove(folder: Path) -> None:
    """Of a command that failed the watcher may be about to write run.json."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def with_fault_in_command(program: Path, fault: Fault, tmp: Path) -> Outcome:
    """The program under `fathom run`, which itself has a system call that fails."""
    directory = tmp / "files"
    directory.mkdir(parents=True)
    run = fathom_run(tmp / "run.fathom", [str(program), str(directory)])
    result = outcome([*injecting(fault), *run], directory)
    _remove(tmp)
    return result
