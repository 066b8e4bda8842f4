"""What a command leaves when the power goes: its writes, as strace tells them, and what of them has not reached the
disk yet. A file's data does by fsync of the file, a name by fsync of the directory that holds it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.faults import Case, differing

CALLS = (
    "openat", "write", "pwrite64", "copy_file_range", "sendfile", "ftruncate", "fsync", "fdatasync",
    "rename", "renameat2", "mkdir", "unlink", "unlinkat", "rmdir",
)  # fmt: skip
#: They lie in a run for ever, and hold nothing.
LOCK = re.compile(r"\.(pack|collect)\.lock")
LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (?!-)")
DESCRIPTOR = re.compile(r"(?:\d+|AT_FDCWD)<([^>]*)>")
RESUMED = re.compile(r"\d+ +<\.\.\. \w+ resumed>(.*)")
TEXT = re.compile(r'"([^"]*)"')


@dataclass
class Disk:
    """What is not on the disk yet, and what was done against the order: data, its name, and only then the removal of
    what it was made of."""

    place: Path
    before: set[str]
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        match = LINE.match(line)
        if not match or LOCK.search(line):
            return
        _, call, words = match.groups()
        opened = [path for path in DESCRIPTOR.findall(words) if path.startswith(str(self.place))]
        named = [os.path.join(self._base(words), text) for text in TEXT.findall(words)]
        if named and not named[-1].startswith(f"{self.place}/"):
            return
        if call == "openat" and ("O_CREAT" in words or "O_TRUNC" in words):
            self._made(named[0])
            self.files.add(named[0])
        elif call in ("write", "pwrite64", "ftruncate", "copy_file_range", "sendfile"):
            self.files |= {*(opened[-1:] if call == "copy_file_range" else opened[:1])}
        elif call in ("fsync", "fdatasync"):
            self.files -= set(opened)
            self.folders -= set(opened)
        elif call in ("rename", "renameat2"):
            self._moved(named[0], named[1], line)
        elif call == "mkdir":
            self._made(named[0])
        elif call in ("unlink", "unlinkat", "rmdir"):
            self._removed(named[0], line)

    def _base(self, words: str) -> str:
        match = DESCRIPTOR.match(words)
        return match.group(1) if match else str(self.place)

    def _made(self, path: str) -> None:
        self.folders.add(str(Path(path).parent))

    def _moved(self, path: str, to: str, line: str) -> None:
        inside = {one for one in self.files | self.folders if f"{one}/".startswith(f"{path}/")}
        if inside and path not in self.before:
            self.wrong.append(f"moved into place, not synced: {line}")
        moved = {one: to + one[len(path) :] for one in inside}
        self.files = {moved.get(one, one) for one in self.files}
        self.folders = {moved.get(one, one) for one in self.folders} | {str(Path(to).parent)}
        back = {path + one[len(to) :] for one in self.before if one.startswith(to)}
        self.before |= {to + one[len(path) :] for one in self.before if one.startswith(path)}
        self.before |= back if "RENAME_EXCHANGE" in line else set()

    def _removed(self, path: str, line: str) -> None:
        self.files.discard(path)
        self.folders.discard(path)
        late = self.files | self.folders
        if path in self.before and late:
            self.wrong.append(f"removed before {sorted(late)} is synced: {line}")


def whole_lines(log: str) -> Iterator[str]:
    """A call that another thread's came into is told in two lines; it counts when it has returned."""
    begun: dict[str, str] = {}
    for line in log.splitlines():
        thread = line.partition(" ")[0]
        if line.endswith(" <unfinished ...>"):
            begun[thread] = line.removesuffix(" <unfinished ...>")
        elif resumed := RESUMED.match(line):
            yield begun.pop(thread, "") + resumed.group(1)
        else:
            yield line


def traced(case: Case, *inject: str) -> tuple[Disk, list[tuple[str, str]]]:
    """Of the command from the beginning on; and the calls in order, as thread and name."""
    case.restore()
    before = {str(path) for path in case.place.rglob("*")}
    log = case.place.with_name("power.log")
    trace = f"trace=?{',?'.join(CALLS)}"
    case.run("strace", "-f", "-qq", "-y", "-s", "4096", "-o", str(log), "-e", trace, *inject)
    disk, calls = Disk(case.place, before), []
    for line in whole_lines(log.read_text(errors="replace")):
        disk.take(line)
        if match := LINE.match(line):
            calls.append((match.group(1), match.group(2)))
    return disk, calls


def is_read(name: str) -> bool:
    """What is being made lies beside, under a name that no reader takes; what a command says is how much it did."""
    return name != "output" and not name.endswith(".tmp")


def cut_off(case: Case, call: str, ordinal: int) -> None:
    """The command up to this call, then no power: what was not synced has its name, and no data."""
    disk, _ = traced(case, "-e", f"inject={call}:signal=SIGKILL:when={ordinal}")
    for path in disk.files:
        if Path(path).is_file():
            os.truncate(path, 0)


def misordered(case: Case) -> list[str]:
    """A line for each of its writes that is out of order, or not on the disk at its end."""
    disk, _ = traced(case)
    left = sorted(disk.files | disk.folders)
    return [*disk.wrong, *([f"not synced at the end: {left}"] if left else [])]


def spoiled(case: Case) -> list[str]:
    """A line for each moment after which, with the power gone, the next command does not give the same."""
    case.restore()
    right = case.run()
    assert right.status == 0, right
    _, calls = traced(case)
    counts: dict[tuple[str, str], int] = {}
    points = set()
    for thread, call in calls:
        counts[thread, call] = counts.get((thread, call), 0) + 1
        if call != "openat":
            points.add((call, counts[thread, call]))
    wrong = []
    for call, ordinal in sorted(points):
        cut_off(case, call, ordinal)
        again = case.run()
        other = [name for name in differing(again, right) if name in right.files or is_read(name)]
        if again.status != 0 or other:
            wrong.append(f"cut off at {call} {ordinal}: {again.status}, {other}")
    print(f"{len(points)} moments of {' '.join(case.words)}")
    return wrong
