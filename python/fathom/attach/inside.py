"""gdb runs this in its own Python, with all threads of a process stopped but for the calls made here.

What is to be done comes as JSON in FATHOM_GDB, the answer is a line of JSON. The entry point of the library's ELF
header is its only door, since it exports nothing (runtime/edges/attached.c): 0 gives the place of what is said,
1 begins, 2 ends, 3
tells which jumps have to be written into the program (runtime/edges/hidden.h).
"""

import json
import os
import re
import struct
from pathlib import Path
from typing import Any

import gdb  # type: ignore[import-untyped]

BUSY = 4  # Status.BUSY of injector.py, which this Python does not see
ROOM, ATTACH, JUMPS, END = 0, 1, 3, bytes(1)
DONE = 0
LOCAL_NOW = 2  # RTLD_NOW
DEEPEST = 256  # frames
TRIES = 8
#: System calls that allocator and loader make as they go, by their numbers on x86-64: mmap, mprotect, munmap, brk,
#: sched_yield, mremap, madvise, futex. -1: in none.
SHORT = (-1, 9, 10, 11, 12, 24, 25, 28, 202)
#: dlopen needs what these hold, the program's own among them.
ALLOCATOR = re.compile(
    r"(__libc_|__|je_|tc_|mi_)?(malloc|calloc|realloc|reallocarray|free|cfree|memalign|posix_memalign|aligned_alloc"
    r"|valloc|pvalloc|malloc_trim|dl_iterate_phdr)$"
)


def loader(pid: int) -> list[tuple[int, int]]:
    """Where ld.so lies in the process."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
        if re.search(r"/ld(-linux|64|-[0-9])[^/]*$", line):
            begin, end = line.split()[0].split("-")
            found.append((int(begin, 16), int(end, 16)))
    return found


def way_out(held: list[tuple[int, int]]) -> int | None:
    """Where the selected thread goes on when it has left the allocator; 0: it is in neither that nor the loader; None:
    nobody knows, as in the loader, which may go on with any function."""
    out: int | None = 0
    frame = gdb.newest_frame()
    for _ in range(DEEPEST):
        if frame is None:
            break
        if any(begin <= frame.pc() < end for begin, end in held):
            return None
        try:
            behind = frame.older()
        except gdb.error:
            behind = None  # nobody knows what lies behind
        if ALLOCATOR.match(frame.name() or ""):
            out = behind.pc() if behind else None
        frame = behind
    return out


def is_stuck() -> bool:
    """Does the selected thread wait in there, for something that is no lock and no memory?"""
    try:
        return int(gdb.parse_and_eval("$orig_rax")) not in SHORT
    except gdb.error:
        return True  # another processor


def leave(thread: Any, out: int) -> None:
    """Lets all run until this one is there."""
    gdb.Breakpoint(f"*{out}", internal=True, temporary=True).thread = thread.num
    gdb.execute("continue", to_string=True)


def borrow(process: Any) -> bool:
    """Selects a thread that may call dlopen: one that holds none of the locks of allocator and loader. What others hold
    they let go, since all run during a call."""
    held = loader(process.pid)
    for _ in range(TRIES):
        ways = {}
        for thread in sorted(process.threads(), key=lambda thread: int(thread.num)):
            thread.switch()
            ways[thread] = way_out(held)
            if ways[thread] != 0 and is_stuck():
                return False
        for thread, out in ways.items():
            if out == 0:
                thread.switch()
                return True
        known = [(thread, out) for thread, out in ways.items() if out]
        if not known:
            return False
        leave(*known[0])
    return False


def load(process: Any, library: str) -> int:
    """Where the library lies; 0: the process does not take it."""
    opened = gdb.parse_and_eval(f'((void *(*)(const char *, int))dlopen)("{library}", {LOCAL_NOW})')
    if not int(opened):
        return 0
    (base,) = struct.unpack("Q", process.read_memory(int(opened), 8))
    return int(base)


def call(entry: int, what: int) -> int:
    """By the door."""
    return int(gdb.parse_and_eval(f"((long (*)(long)){entry})({what})"))


def step_out(begin: int, end: int) -> None:
    """No thread may be between the instructions that a jump takes the place of."""
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        while begin < gdb.newest_frame().pc() < end:
            gdb.execute("set scheduler-locking on")
            gdb.execute("stepi", to_string=True)
            gdb.execute("set scheduler-locking off")


def jump(process: Any, entry: int, there: bool) -> None:
    """Writes the jumps over the beginnings of functions, or takes them away again. Code that is not as it was found in
    the program's file is let alone."""
    table = call(entry, JUMPS)
    if not table:
        return
    (count,) = struct.unpack("Q", process.read_memory(table, 8))
    rows = bytes(process.read_memory(table + 8, count * 24))
    for at, before, after in struct.iter_unpack("Q8s8s", rows):
        old, new = (before[:5], after[:5]) if there else (after[:5], before[:5])
        if bytes(process.read_memory(at, 5)) == old:
            step_out(at, at + 5)
            process.write_memory(at, new)


def act(job: dict[str, Any]) -> tuple[int, str]:
    """The library's status, and the run it names."""
    process = gdb.selected_inferior()
    base = job["base"]
    if not base and not job["library"]:
        return job["missing"], ""
    gdb.execute(r"sharedlibrary (libc\.so|alloc)", to_string=True)
    if not borrow(process):
        return BUSY, ""
    base = base or load(process, job["library"])
    if not base:
        return job["missing"], ""
    entry = base + struct.unpack("Q", process.read_memory(base + 24, 8))[0]
    room = call(entry, ROOM)
    process.write_memory(room, job["settings"].encode(errors="surrogateescape") + END)
    if job["what"] != ATTACH:
        jump(process, entry, there=False)
    status = call(entry, job["what"])
    if job["what"] == ATTACH and status == DONE:
        jump(process, entry, there=True)
    run = bytes(process.read_memory(room, 4096)).split(END)[0]
    return status, run.decode(errors="surrogateescape")


print("fathom says", json.dumps(act(json.loads(os.environ["FATHOM_GDB"]))))
