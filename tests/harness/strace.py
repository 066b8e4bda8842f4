"""What `strace -f -k` wrote, as records: one per system call, with the modules it came through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: File I/O and what changes the meaning of a descriptor, plus what makes and ends processes.
TRACED = (
    "open openat openat2 creat close read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 "
    "lseek fsync fdatasync sync syncfs sync_file_range truncate ftruncate fallocate fadvise64 readahead "
    "stat lstat fstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat "
    "rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat mkdir mkdirat rmdir "
    "mknod mknodat chmod fchmod fchmodat chown lchown fchown fchownat utime utimes utimensat futimesat "
    "getdents getdents64 chdir fchdir getcwd mmap munmap msync mremap sendfile copy_file_range splice tee vmsplice "
    "dup dup2 dup3 fcntl flock pipe pipe2 memfd_create chroot "
    "setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr "
    "removexattr lremovexattr fremovexattr name_to_handle_at open_by_handle_at "
    "execve execveat clone clone3 fork vfork rt_sigreturn exit_group"
).split()


def flags(more: Iterable[str] = ()) -> list[str]:
    """Options of strace; `more` are system calls that the catalog names besides."""
    names = ",".join(f"?{name}" for name in sorted({*TRACED, *more}))
    return ["-f", "--seccomp-bpf", "-k", "-ttt", "-T", "-yy", "-s", "0", "-e", f"trace={names}"]


LINE = re.compile(r"(\d+) +(\d+\.\d+) (.*)", re.DOTALL)
FRAME = re.compile(r"^ > (.*?)\((.*)\) \[0x([0-9a-f]+)\]$")
BARE_FRAME = re.compile(r"^ > (\S+)")
RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
TIME_SPENT = re.compile(r" <(\d+\.\d+)>$")
FORK = re.compile(r"(clone3?|v?fork)\(")
CALL = re.compile(r"(\w+)\((.*)", re.DOTALL)
FD = re.compile(r"(-?\d+)(?:<(.*)>(\(deleted\))?)?$", re.DOTALL)


@dataclass
class Frame:
    module: str  # basename of the library or program
    function: str  # nearest dynamic symbol below: exact only for exported functions
    address: int = 0  # in the module


@dataclass
class Maker:
    """Who forked a process whose calls begin before that fork has returned (always so by vfork)."""

    pid: int
    shared: bool  # CLONE_FILES: both have one table of descriptors


@dataclass
class Syscall:
    pid: int
    when: float  # seconds since 1970, at entry
    spent: float
    name: str
    arguments: list[str]
    result: int | None
    error: str  # ENOENT …, or ""
    result_text: str
    image: str  # path of the executable that made it
    image_number: int  # counts the process images of the whole run
    frames: list[Frame] = field(default_factory=list)
    maker: Maker | None = None  # of a process's first call, when it came before its fork's return

    def __str__(self) -> str:
        text = f"{self.name}({', '.join(self.arguments)}) = {self.result_text}"
        return text if len(text) < 300 else text[:300] + " …"


def split_arguments(text: str) -> tuple[list[str], str]:
    """Arguments of `name(…) = rest`, cut at commas outside quotes and brackets; and the rest."""
    out: list[str] = []
    start = depth = position = 0
    closing = {"(": ")", "[": "]", "{": "}", "<": ">"}
    while position < len(text):
        c = text[position]
        if c == '"':
            position += 1
            while text[position] != '"':
                position += 2 if text[position] == "\\" else 1
        elif text.startswith("<<", position) or text.startswith(("=>", "->"), position):
            position += 1  # a shift, an arrow
        elif text.startswith("/*", position):
            position = text.index("*/", position) + 1
        elif c in closing:
            depth += 1
        elif c == ")" and depth == 0:
            if text[start:position].strip():
                out.append(text[start:position].strip())
            return out, text[position + 1 :]
        elif c in ")]}>":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(text[start:position].strip())
            start = position + 1
        position += 1
    raise ValueError(f"strace line without an end: {text[:200]}")


def unquote(text: str) -> str:
    """The bytes that strace printed as a C string, as UTF-8 text with U+FFFD for what is not."""
    body = text[1 : text.rindex('"')]
    raw = body.encode("latin-1", "replace").decode("unicode_escape").encode("latin-1", "replace")
    return raw.decode("utf-8", "replace")


def descriptor(text: str) -> tuple[int, str]:
    """`3</tmp/f>` -> (3, "/tmp/f"); AT_FDCWD is -100."""
    if text.startswith("AT_FDCWD"):
        return -100, text[len("AT_FDCWD<") : -1]
    annotated = FD.match(text)
    if not annotated:
        return -1, ""
    path = annotated[2] or ""
    path = re.sub(r"<(char|block) \d+:\d+>$", "", path)
    return int(annotated[1]), re.sub(r"\\(x[0-9a-f]{2}|[0-7]{1,3})", _escape, path)


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16) if code[0] == "x" else int(code, 8))


def number(text: str) -> int | None:
    """An integer argument; NULL is 0; what is no number is None."""
    text = text.split(" /*")[0].strip()
    if text == "NULL":
        return 0
    try:
        return int(text, 0)
    except ValueError:
        return None


def parse(path: Path) -> Iterator[Syscall]:
    """All finished system calls of a file (-f), or of a directory of one file per process (-ff)."""
    return _Reader().read(_merged(path) if path.is_dir() else path.open(encoding="latin-1"))


def _merged(directory: Path) -> Iterator[str]:
    """Lines of all files of -ff as -f writes them: with the pid, in order of entry."""
    calls: list[tuple[float, int, list[str]]] = []
    for file in directory.iterdir():
        pid = int(file.suffix[1:])
        for line in file.read_text(encoding="latin-1").splitlines():
            if line.startswith(" > "):
                calls[-1][2].append(line)
            else:
                calls.append((float(line.split(" ", 1)[0]), pid, [f"{pid} {line}"]))
    for _, _, lines in sorted(calls, key=lambda call: call[:2]):
        yield from lines


class _Reader:
    def __init__(self) -> None:
        self.begun: dict[int, tuple[float, str]] = {}  # pid -> entry of an unfinished line
        # pid -> calls a signal stopped, innermost last
        self.interrupted: dict[int, list[Syscall]] = {}
        self.image: dict[int, tuple[str, int]] = {}
        self.maker: dict[int, Maker] = {}  # taken by the process's first call
        self.images = 0

    def read(self, lines: Iterable[str]) -> Iterator[Syscall]:
        last: Syscall | None = None
        for line in lines:
            if line.startswith(" > "):
                if last:
                    last.frames.append(_frame(line.rstrip("\n")))
                continue
            if last:
                yield from self._deliver(last)
            yield from self._vforked(line)
            last = self._line(line.rstrip("\n"))
        if last:
            yield from self._deliver(last)

    def _vforked(self, line: str) -> Iterator[Syscall]:
        """The vfork of a process whose first line this is: its parent goes on, and says so, only later."""
        entry = LINE.match(line)
        if not entry or int(entry[1]) in self.image:
            return
        for parent, (began, head) in list(self.begun.items()):
            if head.startswith("vfork(") or "CLONE_VFORK" in head:
                del self.begun[parent]
                call = self._call(parent, began, f"{head}) = {entry[1]}")
                yield from self._deliver(call) if call else ()
                return

    def _line(self, line: str) -> Syscall | None:
        entry = LINE.match(line)
        if not entry:
            return None
        pid, when, text = int(entry[1]), float(entry[2]), entry[3]
        if text.startswith(("---", "+++", "strace:")):
            return None
        if pid not in self.image:
            self._appears(pid)
        if text.endswith("<unfinished ...>"):
            self.begun[pid] = (when, text[: -len("<unfinished ...>")])
            return None
        resumed = RESUMED.match(text)
        if resumed:
            if pid not in self.begun:
                return None
            when, head = self.begun.pop(pid)
            text = head + resumed[2]
        return self._call(pid, when, text)

    def _appears(self, pid: int) -> None:
        makers = [(p, head) for p, (_, head) in self.begun.items() if FORK.match(head)]
        self.image[pid] = self.image[makers[-1][0]] if makers else ("", 0)
        if makers:
            self.maker[pid] = Maker(makers[-1][0], "CLONE_FILES" in makers[-1][1])

    def _call(self, pid: int, when: float, text: str) -> Syscall | None:
        spent = TIME_SPENT.search(text)
        if spent:
            text = text[: spent.start()]
        head = CALL.match(text)
        if not head:
            return None
        arguments, rest = split_arguments(head[2])
        rest = rest.strip().removeprefix("=").strip()
        words = rest.split()
        result = None
        if words and words[0] != "?":
            result = number(re.split(r"[<\s]", words[0])[0])
        error = words[1] if len(words) > 1 and (words[0] in ("-1", "?")) else ""
        image, serial = self.image.get(pid, ("", 0))
        return Syscall(
            pid,
            when,
            float(spent[1]) if spent else 0.0,
            head[1],
            arguments,
            result,
            error,
            rest,
            image,
            serial,
            maker=self.maker.pop(pid, None),
        )

    def _deliver(self, call: Syscall) -> Iterator[Syscall]:
        waiting = self.interrupted.setdefault(call.pid, [])
        if call.name == "rt_sigreturn":
            if call.error == "EINTR" and waiting:
                stopped = waiting.pop()
                stopped.error, stopped.result, stopped.result_text = "EINTR", -1, "-1 EINTR"
                yield stopped
            return
        if (
            waiting
            and waiting[-1].name == call.name
            and waiting[-1].arguments[:1] == call.arguments[:1]
        ):
            call.when = waiting.pop().when
        if call.error.startswith("ERESTART"):
            # A signal stopped it. The handler's calls follow; then it is made again, or gives EINTR.
            waiting.append(call)
            return
        if call.name in ("execve", "execveat") and call.result == 0:
            self.images += 1
            path = call.arguments[0 if call.name == "execve" else 1]
            self.image[call.pid] = (unquote(path), self.images)
        elif call.name in ("clone", "clone3", "fork", "vfork") and call.result:
            self.image.setdefault(call.result, self.image.get(call.pid, ("", 0)))
        yield call


def _frame(line: str) -> Frame:
    entry = FRAME.match(line)
    if entry:
        return Frame(entry[1].rsplit("/", 1)[-1], entry[2].split("+0x")[0], int(entry[3], 16))
    bare = BARE_FRAME.match(line)
    return Frame(bare[1].rsplit("/", 1)[-1].split("(")[0] if bare else "", "")
