"""A reader's command, one of whose system calls fails: what it leaves, and what the next one without fault leaves."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.injected import Fault

#: How calls on files fail that need not: a file is not there in no other way than ENOENT.
READS = ("EIO", "EACCES", "EMFILE")
ERRORS = {
    "openat": READS,
    "read": ("EIO",),
    "pread64": ("EIO",),
    "statx": ("EIO", "EACCES"),
    "newfstatat": ("EIO", "EACCES"),
    "fstat": ("EIO",),
    "getdents64": ("EIO",),
    "readlink": ("EACCES",),
    "flock": ("ENOLCK",),
    "lseek": ("EIO",),
    "write": ("ENOSPC", "EIO"),
    "pwrite64": ("ENOSPC",),
    "copy_file_range": ("EIO", "ENOSPC"),
    "ftruncate": ("EIO",),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "rename": ("EIO", "EACCES"),
    "renameat2": ("EIO",),
    "link": ("EIO",),
    "mkdir": ("ENOSPC", "EACCES"),
    "unlink": ("EACCES",),
    "unlinkat": ("EACCES",),
    "rmdir": ("EACCES",),
}

LEFT = re.compile(r"/tables\.(old/|shares\.|tmp\.)")
LINE = re.compile(r"(\d+) +(\w+)\(")


@dataclass(frozen=True)
class Result:
    status: int
    output: str
    errors: tuple[str, ...]
    files: dict[str, bytes]

    def same(self, other: Result) -> bool:
        """Old tables, by now under the name of new ones, and what shares left may stay until the next pack."""
        old = {name for name in self.files if LEFT.search(name)}
        files = {name: text for name, text in self.files.items() if name not in old}
        return (self.output, files) == (other.output, other.files)


@dataclass(frozen=True)
class Case:
    """`place` holds all that the command reads and writes; `words` of it say what it is given there."""

    place: Path
    words: tuple[str, ...]
    #: Files below `place` that say the result, by name.
    files: Callable[[Path], dict[str, bytes]]
    #: Calls on what is in the place alone: what a Python needs to begin with is not the command's.
    inside: bool = False
    #: What is put before it comes behind its words: it starts several processes, and gives it to one of them.
    behind: bool = False
    #: What it makes, and refuses to make over; in the place.
    made: str = ""
    #: What was in the place when it had ended without a fault, beside what it began with.
    paths: list[Path] = field(default_factory=list)

    @property
    def template(self) -> Path:
        return self.place.with_name(f"{self.place.name}.template")

    @property
    def cache(self) -> Path:
        """What was measured on this machine stays so, whatever else runs on it."""
        return self.place.with_name(f"{self.place.name}.cache")

    def keep(self) -> None:
        """What is in the place now is what each trial begins with."""
        shutil.copytree(self.place, self.template, symlinks=True)

    def restore(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.template, self.place, symlinks=True)

    def untouched(self) -> bool:
        """Is all in the place as each trial begins? Then the next one does what the first one did."""
        return _signs(self.place) == _signs(self.template)

    def forget(self) -> None:
        """What it has made."""
        made = self.place / self.made
        if made.is_dir():
            shutil.rmtree(made)
        else:
            made.unlink()

    def run(self, *before: str) -> Result:
        done = subprocess.run(
            [*self.words, *before] if self.behind else [*before, *self.words],
            cwd=self.place,
            env={**os.environ, "XDG_CACHE_HOME": str(self.cache)},
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )
        lines = tuple(done.stderr.splitlines())
        return Result(done.returncode, done.stdout, lines, self.files(self.place))

    def strace(self, *options: str) -> list[str]:
        paths = {self.place, *self.place.rglob("*"), *self.paths} if self.inside else set()
        named = [word for path in sorted(paths) for word in ("-P", str(path))]
        return ["strace", "-f", "-qq", *options, *named]


def _signs(place: Path) -> dict[str, tuple[int, int]]:
    stats = {str(path.relative_to(place)): path.lstat() for path in place.rglob("*")}
    return {name: (one.st_size, one.st_mtime_ns) for name, one in stats.items()}


def below(*names: str, but: tuple[str, ...] = ()) -> Callable[[Path], dict[str, bytes]]:
    """These files of the place, and all in these folders."""

    def read(place: Path) -> dict[str, bytes]:
        paths = (path for name in names for path in (place / name, *(place / name).rglob("*")))
        files = (path for path in paths if path.is_file())
        return {
            str(path.relative_to(place)): path.read_bytes()
            for path in files
            if path.name not in but
        }

    return read


def possible(case: Case) -> list[Fault]:
    """Every call on files that the command makes once it has named a run, in each way that it can fail."""
    case.restore()
    log = case.place.with_name("strace.log")
    calls = ",".join(ERRORS)
    case.run(*case.strace("-o", str(log), "-e", f"trace=?{calls.replace(',', ',?')}"))
    counts: dict[tuple[str, str], int] = defaultdict(int)
    faults: dict[Fault, None] = {}
    begun = case.inside  # a Python that is given -P looks at nothing there by itself
    for line in log.read_text(errors="replace").splitlines():
        match = LINE.match(line)
        if not match:
            continue
        thread, call = match.groups()
        counts[thread, call] += 1
        begun |= ".fathom" in line and "execve" not in line
        if begun:
            for error in ERRORS[call]:
                faults[Fault(call, counts[thread, call], error)] = None
    return list(faults)


def wrong(case: Case, fault: Fault, right: Result, said: Callable[[Path], bool]) -> str | None:
    """What the command leaves after this fault that it must not. `said`: does what it left say that something is not
    in it?"""
    case.restore()
    inject = f"inject={fault.call}:error={fault.error}:when={fault.ordinal}"
    failed = case.run(*case.strace("-o", "/dev/null", "-e", f"trace={fault.call}", "-e", inject))
    if failed.status == 127 and "loading shared libraries" in failed.errors[0]:
        return None  # of another thread than the one that makes this call in the engine
    if failed.status == 0:
        if not failed.same(right) and not said(case.place):
            return f"{fault}: status 0, other result, {differing(failed, right)}"
    elif failed.status < 0 or failed.status > 3 or not is_one_line(failed, fault):
        return f"{fault}: status {failed.status}, {[*failed.errors[:2], *failed.errors[-2:]]}"
    elif case.untouched():
        return None
    if failed.status == 0 and case.made:
        case.forget()
    again = case.run()
    if again.status != 0 or again.files != right.files:
        return f"{fault}: the next one is wrong: {again.status}, {differing(again, right)}"
    return None


def is_one_line(failed: Result, fault: Fault) -> bool:
    """The line is written too, and that may be what fails."""
    return len(failed.errors) == 1 or (not failed.errors and fault.call == "write")


def differing(one: Result, other: Result) -> list[str]:
    names = one.files.keys() | other.files.keys()
    files = sorted(name for name in names if one.files.get(name) != other.files.get(name))
    return [*files, *(["output"] if one.output != other.output else [])]


def right_one(case: Case) -> Result:
    """What the command leaves without a fault; its place is as it was."""
    case.keep()
    right = case.run()
    assert right.status == 0, right
    case.paths.extend(case.place.rglob("*"))
    case.restore()
    assert case.run().same(right), "does not do the same twice"
    return right


def sweep(case: Case, said: Callable[[Path], bool], share: int = 1) -> Iterator[str]:
    """One line for each fault, of every `share`-th, that is taken for data, is not said, or spoils what comes after."""
    right = right_one(case)
    faults = possible(case)
    chosen = faults[::share]
    for fault in chosen:
        line = wrong(case, fault, right, said)
        if line:
            yield line
    print(f"{len(chosen)} of {len(faults)} faults of {' '.join(case.words)}")
