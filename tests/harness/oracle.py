"""The strace oracle: every POSIX call that Fathom recorded equals a system call that strace saw, and the reverse.

Both watch the same run. A system call counts iff its innermost libc frame was called from outside
libc, judged by module; frames of libfathom.so between libc and the program are the wrapper and are
looked through. What has libfathom.so as innermost frame is Fathom's own. Compared per thread, in
order: the call, file, offset, size, result, errno.

Calls of a library's constructor or destructor, while the loader runs it (at start before Fathom's own,
inside dlopen, at exit after Fathom's end), may be rows and need not be: no edge of a module can be
pointed elsewhere before the loader is done with it. They are recognised by the loader's frames.
The same holds where strace could not walk out of libc: whose call it was is not known.
"""

from __future__ import annotations

import bisect
import ctypes.util
import errno
import functools
import os.path
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from harness import paths, strace
from harness.strace import Syscall

#: Programs that carry Fathom's environment on and are not traced (docs/environment.md), and what
#: stands before the program on our command lines.
UNTRACED = (
    "fathom strace mpiexec mpirun hydra orte prte sh bash dash env ssh timeout taskset nice setsid"
).split()

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Shape:
    """Where a system call keeps what is compared: argument positions."""

    fd: int | None = None
    path: int | None = None
    at: int | None = None  # directory that `path` starts from
    size: int | None = None
    offset: int | None = None
    tracked: bool = False  # it moves the descriptor's position


SHAPES: Mapping[str, Shape] = {
    "open": Shape(path=0),
    "openat": Shape(path=1, at=0),
    "creat": Shape(path=0),
    "close": Shape(fd=0),
    "read": Shape(fd=0, size=2, tracked=True),
    "write": Shape(fd=0, size=2, tracked=True),
    "readv": Shape(fd=0, tracked=True),
    "writev": Shape(fd=0, tracked=True),
    "pread64": Shape(fd=0, size=2, offset=3),
    "pwrite64": Shape(fd=0, size=2, offset=3),
    "preadv": Shape(fd=0, offset=3),
    "pwritev": Shape(fd=0, offset=3),
    "preadv2": Shape(fd=0, offset=3),
    "pwritev2": Shape(fd=0, offset=3),
    "lseek": Shape(fd=0),
    "fsync": Shape(fd=0),
    "fdatasync": Shape(fd=0),
    "syncfs": Shape(fd=0),
    "sync_file_range": Shape(fd=0, offset=1, size=2),
    "ftruncate": Shape(fd=0),
    "truncate": Shape(path=0),
    "fallocate": Shape(fd=0, offset=2, size=3),
    "fadvise64": Shape(fd=0, offset=1, size=2),
    "readahead": Shape(fd=0, offset=1, size=2),
    "fstat": Shape(fd=0),
    "stat": Shape(path=0),
    "lstat": Shape(path=0),
    "newfstatat": Shape(path=1, at=0),
    "statx": Shape(path=1, at=0),
    "statfs": Shape(path=0),
    "fstatfs": Shape(fd=0),
    "access": Shape(path=0),
    "faccessat": Shape(path=1, at=0),
    "faccessat2": Shape(path=1, at=0),
    "readlink": Shape(path=0),
    "readlinkat": Shape(path=1, at=0),
    "rename": Shape(path=0),
    "renameat": Shape(path=1, at=0),
    "renameat2": Shape(path=1, at=0),
    "link": Shape(path=0),
    "linkat": Shape(path=1, at=0),
    "unlink": Shape(path=0),
    "unlinkat": Shape(path=1, at=0),
    "mkdir": Shape(path=0),
    "mkdirat": Shape(path=1, at=0),
    "rmdir": Shape(path=0),
    "chmod": Shape(path=0),
    "fchmod": Shape(fd=0),
    "mmap": Shape(fd=4, size=1, offset=5),
    "fcntl": Shape(fd=0),
    "ioctl": Shape(fd=0),
    "flock": Shape(fd=0),
    "dup": Shape(fd=0),
    "dup2": Shape(fd=0),
    "dup3": Shape(fd=0),
}

#: Pointer results: that one came back is compared, which is not.
POINTERS = {"mmap", "mremap"}
#: fcntl commands whose answer the kernel and libc give differently are none so far.
LIBC = ("libc.so", "libc-", "ld-linux", "libpthread", "librt.so", "libdl.so", "libm.so")


WRAPPER = re.compile(r"wrap_(.+)_\d+$")
OWN_DESCRIPTOR = re.compile(r"/proc/self/fd/(\d+)")


def is_libc(module: str) -> bool:
    return module.startswith(LIBC)


def counts(call: Syscall, symbols: Mapping[str, set[str]]) -> bool:
    """Did something outside libc ask libc for this? `symbols`: libc function -> its system calls.

    One libc frame: the program called a function that is a system call. Several: the system call
    is libc's own business (a buffered write, malloc), unless the outermost function is an op that
    the catalog says makes it (opendir: openat).
    """
    frames = call.frames
    if not frames or not is_libc(frames[0].module) or frames[0].module.startswith("ld-"):
        return False
    inside, outside = way_out(frames)
    if outside == len(frames):
        return False
    if outside > inside and is_libc(frames[outside].module):
        return False  # libfathom, called by libc (a destructor): its own
    # The wrapper's name is surer than libc's symbols: these miss functions that end in a jump.
    wrapper = WRAPPER.match(wrapper_name(frames[outside - 1])) if outside > inside else None
    if wrapper and wrapper[1] in symbols:
        return call.name in symbols[wrapper[1]]
    return inside == 1 or call.name in symbols.get(frames[inside - 1].function, ())


def way_out(frames: list[strace.Frame]) -> tuple[int, int]:
    """How many frames are libc's, and how many are libc's or, outside them, libfathom's."""
    inside = 1
    while inside < len(frames) and is_libc(frames[inside].module):
        inside += 1
    outside = inside
    while outside < len(frames) and frames[outside].module.startswith("libfathom"):
        outside += 1
    return inside, outside


def wrapper_name(frame: strace.Frame) -> str:
    """libfathom's function; strace leaves the name out where its walk ended early."""
    if frame.function:
        return frame.function
    starts, names = wrapper_symbols()
    at = bisect.bisect_right(starts, frame.address)
    return names[at - 1] if at else ""


@functools.cache
def wrapper_symbols() -> tuple[list[int], list[str]]:
    listed = subprocess.run(
        ["nm", paths.LIBRARY], capture_output=True, text=True, check=True
    ).stdout
    symbols = [line.split() for line in listed.splitlines() if " t " in line or " T " in line]
    table = sorted((int(address, 16), name) for address, _, name in symbols)
    return [address for address, _ in table], [name for _, name in table]


def is_euidaccess(call: Syscall) -> bool:
    _, outside = way_out(call.frames)
    return wrapper_name(call.frames[outside - 1]) in ("wrap_euidaccess_0", "wrap_eaccess_0")


def by_loader(call: Syscall) -> bool:
    """Made by a constructor or destructor: the loader's frame is outside the module that called."""
    modules = [frame.module for frame in call.frames]
    first = next(
        (i for i, m in enumerate(modules) if not is_libc(m) and "libfathom" not in m), len(modules)
    )
    return any(m.startswith("ld-") for m in modules[first:])


def walked_out(call: Syscall) -> bool:
    """Did strace's walk of the stack reach anything outside libc, and UCX's hooks in front of it?"""
    between = ("unexpected_backtracing_error", "libucm")
    return not is_libc(call.frames[0].module) or any(
        not is_libc(f.module) and not f.module.startswith(between) for f in call.frames
    )


def untraced(image: str) -> bool:
    name = image.rsplit("/", 1)[-1]
    return not name or any(name == u or name.startswith((u + ".", u + "_")) for u in UNTRACED)


@dataclass
class Description:
    """An open file as the kernel keeps it: shared by dup and fork."""

    position: int | None  # None: not known
    path: str  # at open; a rename changes what strace shows later


def inherit(of: dict[int, T], call: Syscall, copy: Callable[[T], T]) -> None:
    """Whom this call forks, or who forked its process, has what the parent has: threads the same, a child its own."""
    makers = [(call.maker.pid, call.pid, call.maker.shared)] if call.maker else []
    if call.name in ("clone", "clone3", "fork", "vfork") and call.result and call.result > 0:
        makers.append((call.pid, call.result, "CLONE_FILES" in " ".join(call.arguments)))
    for parent, child, shared in makers:
        if child not in of:
            of[child] = of[parent] if shared else copy(of[parent])


class Descriptions:
    """All open files of a run, followed by strace alone."""

    def __init__(self) -> None:
        self.tables: dict[int, dict[int, Description]] = defaultdict(dict)

    def step(self, call: Syscall) -> tuple[int | None, str]:
        """Position before the call and path at open, if they are known; then applies the call."""
        inherit(self.tables, call, dict)
        table = self.tables[call.pid]
        if call.result is None or not call.arguments:
            return None, ""
        fd = strace.descriptor(call.arguments[0])[0]
        at = table.get(fd)
        before = (at.position, at.path) if at else (None, "")
        if call.result >= 0:
            self._apply(call, table, fd)
        return before

    def _apply(self, call: Syscall, table: dict[int, Description], fd: int) -> None:
        result = call.result or 0
        if call.name in ("open", "openat", "creat", "memfd_create"):
            append = "O_APPEND" in " ".join(call.arguments)
            path = strace.descriptor(call.result_text.split(" ")[0])[1]
            table[result] = Description(None if append else 0, path)
        elif call.name == "close":
            table.pop(fd, None)
        elif call.name in ("dup", "dup2", "dup3") or (
            call.name == "fcntl" and call.arguments[1].startswith("F_DUPFD")
        ):
            table.pop(result, None)
            if fd in table:
                table[result] = table[fd]
        elif fd not in table:
            return
        elif call.name == "lseek":
            table[fd].position = result
        elif moves_position(call):
            known = table[fd].position
            table[fd].position = None if known is None else known + result
        elif call.name in ("sendfile", "splice", "copy_file_range"):
            for other in [strace.descriptor(a)[0] for a in call.arguments if "<" in a]:
                if other in table:
                    table[other].position = None


def moves_position(call: Syscall) -> bool:
    if call.name in ("preadv2", "pwritev2"):
        return call.arguments[3] == "-1"
    return SHAPES.get(call.name, Shape()).tracked


@dataclass
class Expected:
    """One system call that must be a row."""

    call: Syscall
    path: str  # absolute, or "" when it names none
    opened_as: str  # the descriptor's path when it was opened, or ""
    fd: int | None
    size: int | None
    offset: int | None
    position: int | None
    optional: bool


class Files:
    """Working directories, so that relative paths can be compared."""

    def __init__(self) -> None:
        self.cwd: dict[int, str] = {}

    def path(self, call: Syscall, shape: Shape, known: Descriptions) -> tuple[str, int | None]:
        self._follow(call)
        if shape.fd is not None and shape.fd < len(call.arguments):
            fd, path = strace.descriptor(call.arguments[shape.fd])
            return (path if path.startswith("/") else ""), fd
        if shape.path is None or not call.arguments[shape.path].startswith('"'):
            return "", None
        path = strace.unquote(call.arguments[shape.path])
        if own := OWN_DESCRIPTOR.fullmatch(
            path
        ):  # fchmodat without AT_SYMLINK_NOFOLLOW's system call
            description = known.tables[call.pid].get(int(own[1]))
            return (description.path if description else path), None
        base = self.cwd.get(call.pid, "")
        fd = None
        if shape.at is not None:
            fd, base = strace.descriptor(call.arguments[shape.at])
        if not path:  # AT_EMPTY_PATH: the descriptor itself
            return (base if base.startswith("/") else ""), fd
        return _below(base, path), None

    def _follow(self, call: Syscall) -> None:
        """Where relative paths begin from this call on."""
        if call.maker and call.pid not in self.cwd:
            self.cwd[call.pid] = self.cwd.get(call.maker.pid, "")
        for text in call.arguments:
            if text.startswith("AT_FDCWD<"):
                self.cwd[call.pid] = strace.descriptor(text)[1]
        if call.name == "chdir" and call.result == 0:
            base = self.cwd.get(call.pid, "")
            self.cwd[call.pid] = _below(base, strace.unquote(call.arguments[0]))
        elif call.name == "fchdir" and call.result == 0:
            self.cwd[call.pid] = strace.descriptor(call.arguments[0])[1]


def _below(base: str, path: str) -> str:
    return os.path.join(base, path) if base.startswith("/") else path


class Memory:
    """Where files lie in the memory of each process: what is done with other memory is no I/O."""

    def __init__(self) -> None:
        self.mapped: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def is_io(self, call: Syscall) -> bool:
        """Is a file mapped there, before the call? Notes what it changes."""
        inherit(self.mapped, call, list)
        if call.name in ("execve", "execveat") and call.result == 0:
            self.mapped.pop(call.pid, None)
        if call.name == "mmap":
            return self._mapped(call)
        if call.name not in ("munmap", "mremap", "msync"):
            return True
        start, length = (strace.number(text) or 0 for text in call.arguments[:2])
        is_mapped = any(
            a < start + _pages(length or 1) and start < b for a, b in self.mapped[call.pid]
        )
        if call.name != "msync" and not call.error:
            self._leave(call, start, start + _pages(length))  # without a length mremap leaves all
            if is_mapped and call.name == "mremap":
                self._put(call, 2)
        return is_mapped

    def _leave(self, call: Syscall, start: int, end: int) -> None:
        files = self.mapped[call.pid]
        over = [(a, b) for a, b in files if a < end and start < b]
        parts = [(a, start) for a, _ in over if a < start] + [(end, b) for _, b in over if end < b]
        files[:] = [*(one for one in files if one not in over), *parts]

    def _mapped(self, call: Syscall) -> bool:
        is_file = "MAP_ANONYMOUS" not in call.arguments[3]
        if not call.error:
            start = call.result or 0
            self._leave(call, start, start + _pages(strace.number(call.arguments[1]) or 0))
            if is_file:
                self._put(call, 1)
        return is_file

    def _put(self, call: Syscall, size: int) -> None:
        start = call.result or 0
        self.mapped[call.pid].append(
            (start, start + _pages(strace.number(call.arguments[size]) or 0))
        )


def _pages(length: int) -> int:
    return -(-length // 4096) * 4096


def libc_aliases() -> dict[str, set[str]]:
    """libc function -> all exported names of its address: strace -k prints any of them."""
    library = ctypes.util.find_library("c") or "libc.so.6"
    path = next(
        line.split()[-1]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith(library)
    )
    listed = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    by_address: dict[str, set[str]] = defaultdict(set)
    for address, _, name in (
        words for words in map(str.split, listed.splitlines()) if len(words) == 3
    ):
        by_address[address].add(name.split("@")[0])
    out: dict[str, set[str]] = defaultdict(set)
    for names in by_address.values():
        for name in names:
            out[name] |= names
    return out


def expected(calls: Iterable[Syscall], oracle: Mapping[str, Row]) -> list[Expected]:
    """What must be rows of a run, in order of entry."""
    symbols: dict[str, set[str]] = defaultdict(set)
    aliases = libc_aliases()
    known: set[str] = set()
    for op in oracle.values():
        known.update(op["syscalls"])
        for symbol in op["symbols"]:
            for name in aliases.get(symbol, {symbol}):
                symbols[name].update(op["syscalls"])
    descriptions, files, memory = Descriptions(), Files(), Memory()
    out = []
    for call in calls:
        position, opened_as = descriptions.step(call)
        shape = SHAPES.get(call.name, Shape())
        path, fd = files.path(call, shape, descriptions)
        is_io = memory.is_io(call)
        if call.name not in known or untraced(call.image) or not call.frames:
            continue
        optional = by_loader(call) or not walked_out(call)
        if not optional and not counts(call, symbols):
            continue
        if not is_io:
            continue
        if call.name == "newfstatat" and call.result == 0 and is_euidaccess(call):
            continue  # its access(2) comes next
        if call.name.startswith("io_") and any("libaio" in f.module for f in call.frames):
            continue  # a row of layer aio
        size = _argument(call, shape.size)
        offset = position if moves_position(call) else _argument(call, shape.offset)
        opened = opened_as if shape.fd is not None else ""
        out.append(Expected(call, path, opened, fd, size, offset, position, optional))
    out.sort(key=lambda e: e.call.when)
    return out


def _argument(call: Syscall, position: int | None) -> int | None:
    if position is None or position >= len(call.arguments):
        return None
    return strace.number(call.arguments[position])


ROWS = """
select c.id, p.pid, c.thread, c.op, c.start, c.size, c.file_offset, c.offset_from, c.bytes, c.result,
	c.error, c.state, o.name, o.descriptor, f.path, f.paths,
	exists (select 1 from calls k where k.parent = c.id and k.stream = c.stream and k.op = c.op) as outer_call
from calls c join processes p using (process) left join objects o on o.object = c.object
	left join files f on f.file = c.file
where c.layer = 'posix' and c.state <> 'unfinished'
order by c.thread, c.start, c.id
"""


def recorded(connection: Any, oracle: Mapping[str, Row]) -> list[Row]:
    """Fathom's rows that are system calls. A preload tool above makes two of one: the inner counts."""
    cursor = connection.execute(ROWS)
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]
    return [r for r in rows if not r["outer_call"] and oracle.get(r["op"], {}).get("syscalls")]


def differences(want: list[Expected], have: list[Row], oracle: Mapping[str, Row]) -> list[str]:
    """One line per difference, empty when Fathom and strace agree."""
    threads: dict[int, tuple[list[Expected], list[Row]]] = defaultdict(lambda: ([], []))
    for e in want:
        threads[e.call.pid][0].append(e)
    for row in have:
        threads[row["thread"]][1].append(row)
    out = []
    for tid, (calls, rows) in sorted(threads.items()):
        out += [f"thread {tid}: {line}" for line in _thread(calls, rows, oracle)]
    return out


def _thread(calls: list[Expected], rows: list[Row], oracle: Mapping[str, Row]) -> list[str]:
    out = []
    i = j = 0
    while i < len(calls) and j < len(rows):
        wrong = _fields(calls[i], rows[j]) if _same(calls[i], rows[j], oracle) else None
        if calls[i].optional and _other_descriptor(calls[i], rows[j]):
            wrong = None
        if wrong == []:
            i, j = i + 1, j + 1
            continue
        if calls[i].optional:
            i += 1
            continue
        step = _resume(calls[i:], rows[j:], oracle)
        if wrong and step == (1, 1):  # the same call, told differently
            out += wrong
            i, j = i + 1, j + 1
            continue
        out += [f"strace only: {_in_words(c)}" for c in calls[i : i + step[0]] if not c.optional]
        out += [f"Fathom only: {_row(r)}" for r in rows[j : j + step[1]]]
        i, j = i + step[0], j + step[1]
    out += [f"strace only: {_in_words(c)}" for c in calls[i:] if not c.optional]
    out += [f"Fathom only: {_row(r)}" for r in rows[j:]]
    return out


def _other_descriptor(want: Expected, row: Row) -> bool:
    """Enough to tell that a call which may be absent is: a row of it would have this descriptor."""
    return want.fd is not None and row.get("descriptor") not in (None, want.fd)


def _same(want: Expected, row: Row, oracle: Mapping[str, Row]) -> bool:
    return want.call.name in oracle[row["op"]]["syscalls"]


def _resume(calls: list[Expected], rows: list[Row], oracle: Mapping[str, Row]) -> tuple[int, int]:
    """How many calls and rows to pass over until both agree on three in a row, fields and all."""
    steps = sorted(
        ((a, b) for a in range(30) for b in range(30)), key=lambda s: (s != (1, 1), sum(s))
    )
    for a, b in steps:
        ahead = list(zip(calls[a : a + 3], rows[b : b + 3], strict=False))
        if ahead and all(_same(c, r, oracle) and not _fields(c, r) for c, r in ahead):
            return a, b
    return 1, 1


def _fields(want: Expected, row: Row) -> list[str]:
    wrong = []
    call = want.call
    if row["error"] != (getattr(errno, call.error, -1) if call.error else 0):
        wrong.append(f"errno {row['error']}, strace {call.error or 'none'}")
    if want.size is not None and row["size"] is not None and row["size"] != want.size:
        wrong.append(f"size {row['size']}, strace {want.size}")
    if (
        row["offset_from"] == "given"
        and want.offset is not None
        and row["file_offset"] != want.offset
    ):
        wrong.append(f"offset {row['file_offset']}, strace {want.offset}")
    if row["offset_from"] == "tracked" and not call.error and row["file_offset"] != want.position:
        wrong.append(f"tracked offset {row['file_offset']}, strace {want.position}")
    if not call.error and call.name not in POINTERS and call.result is not None:
        moved = row["result"] if row["result"] is not None else row["bytes"]
        if moved is not None and moved != call.result:
            wrong.append(f"result {moved}, strace {call.result}")
    named = [p for p in (want.path, want.opened_as) if p]
    if row["op"].startswith("shm_") and not row["name"]:
        named = []  # takes a name, not a path
    if named and not any(_same_file(p, row, call.pid) for p in named):
        wrong.append(f"file {row['path'] or row['name']}, strace {want.path}")
    if not wrong:
        return []
    return [f"{_row(row)}: {'; '.join(wrong)} [strace: {_in_words(want)}]"]


def _same_file(path: str, row: Row, pid: int) -> bool:
    names = [*(row["paths"] or ()), row["name"] or "", row["path"] or ""]
    if not path.startswith("/"):
        return any(os.path.normpath(n).endswith("/" + os.path.normpath(path)) for n in names)
    names = [n.removesuffix(" (deleted)") for n in names]
    return bool({_real(n, row["pid"]) for n in names} & {_real(path, row["pid"]), _real(path, pid)})


def _real(path: str, pid: int) -> str:
    for name in ("self", "thread-self"):
        if path.startswith(f"/proc/{name}/"):
            return f"/proc/{pid}/" + path.split("/", 3)[3]
    return os.path.realpath(path)


def _in_words(e: Expected) -> str:
    through = " ← ".join(f"{f.module}:{f.function}" for f in e.call.frames[:4])
    return f"{e.call} by {e.call.image.rsplit('/', 1)[-1]} ({through})"


def _row(row: Row) -> str:
    moved = row["result"] if row["result"] is not None else row["bytes"]
    where = f"@{row['file_offset']}" if row["file_offset"] is not None else ""
    return (
        f"{row['op']}({row['path'] or row['name'] or ''}{where}, {row['size']}) = {moved}"
        f"{' errno ' + str(row['error']) if row['error'] else ''} [{row['state']}]"
    )


def compare(trace: Path, connection: Any, oracle: Mapping[str, Row]) -> tuple[list[str], int]:
    """Differences between a strace file and a packed run, and how many calls were compared."""
    want = expected(strace.parse(trace), oracle)
    return differences(want, recorded(connection, oracle), oracle), len(want)


STREAM_ROWS = """
select c.thread, c.op, c.kind, c.bytes, c.result, c.error, o.name, o.descriptor
from calls c left join objects o using (object)
where c.layer = 'stdio' order by c.thread, c.start, c.id
"""


def under_streams(trace: Path, oracle: Mapping[str, Row]) -> Iterable[tuple[str, Syscall]]:
    """System calls that libc made inside a call on a stream, with that call's op."""
    ops = {symbol: op for op, row in oracle.items() for symbol in row["symbols"]}
    for call in sorted(strace.parse(trace), key=lambda call: call.when):
        inside, outside = way_out(call.frames) if call.frames else (0, 0)
        if inside == outside or not is_libc(call.frames[0].module):
            continue
        wrapper = WRAPPER.match(wrapper_name(call.frames[outside - 1]))
        if (
            wrapper
            and wrapper[1] in ops
            and any(call.name in r["syscalls"] for r in oracle.values())
        ):
            yield ops[wrapper[1]], call


def unexplained(trace: Path, connection: Any, oracle: Mapping[str, Row]) -> list[str]:
    """What libc did inside calls on streams, against the rows of these calls: each system call lies in one, in order,
    of a kind that the row may become, on its descriptor, its error told; and what was written is what the rows gave.
    """
    cursor = connection.execute(STREAM_ROWS)
    names = [column[0] for column in cursor.description]
    threads: dict[int, list[Row]] = defaultdict(list)
    given: dict[str, int] = defaultdict(int)
    opened: set[str] = set()
    for values in cursor.fetchall():
        row = dict(zip(names, values, strict=True))
        threads[row["thread"]].append(row)
        if row["kind"] == "write":
            given[row["name"]] += row["bytes"] or 0
        elif row["op"] == "fopen" and not row["error"]:
            opened.add(row["name"])
    if not threads:
        return []  # the layer is not recorded
    out = []
    written: dict[str, int] = defaultdict(int)
    place: dict[int, int] = defaultdict(int)
    for op, call in under_streams(trace, oracle):
        rows, at = threads[call.pid], place[call.pid]
        while at < len(rows) and not _explains(rows[at], op, call, oracle):
            at += 1
        if at == len(rows):
            out.append(f"no row of {op} explains {_told_plainly(call)}")
            continue
        place[call.pid] = at
        if call.name == "write" and call.result and call.result > 0:
            written[strace.descriptor(call.arguments[0])[1]] += call.result
    for path in sorted(opened):
        if written.get(path, 0) != given.get(path, 0):
            out.append(
                f"{path}: streams gave {given.get(path, 0)} bytes, strace wrote {written[path]}"
            )
    return out


def _explains(row: Row, op: str, call: Syscall, oracle: Mapping[str, Row]) -> bool:
    if row["op"] != op or call.name not in oracle[op]["syscalls"]:
        return False
    if call.name in ("read", "write", "openat") and call.error not in ("", "EINTR"):
        return row["error"] == getattr(errno, call.error)
    if op == "fopen" and call.name == "openat":
        return row["result"] == call.result
    if row["kind"] == "open" or call.name not in ("read", "write", "lseek"):
        return True
    descriptor, path = strace.descriptor(call.arguments[0])
    return row["descriptor"] in (None, descriptor) or row["name"] == path  # after a dup2


def _told_plainly(call: Syscall) -> str:
    return f"{call} ({' ← '.join(f.function for f in call.frames[:5])})"
