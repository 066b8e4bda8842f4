"""Statements that make the calls of POSIX again."""

from collections.abc import Callable

from fathom.codegen.replay.calls import DIRECTORIES, TWO_NAMES, Call
from fathom.codegen.replay.fold import Line
from fathom.codegen.replay.making import Cannot, LeftOut, Lines, Making, flags
from fathom.codegen.replay.order import ASKS, CHANGES, ENDS, MAKES, MISSES, READS, WRITES, Effect

CREAT, EXCL, TRUNC, TMPFILE = 0o100, 0o200, 0o1000, 0o20200000
OPEN = {
    "O_WRONLY": 1, "O_RDWR": 2, "O_CREAT": CREAT, "O_EXCL": EXCL, "O_NOCTTY": 0o400, "O_TRUNC": TRUNC,
    "O_APPEND": 0o2000, "O_NONBLOCK": 0o4000, "O_SYNC": 0o4010000, "O_DSYNC": 0o10000, "O_DIRECT": 0o40000,
    "O_DIRECTORY": 0o200000,
    "O_NOFOLLOW": 0o400000, "O_NOATIME": 0o1000000, "O_CLOEXEC": 0o2000000, "O_PATH": 0o10000000,
}  # fmt: skip
LARGEFILE = 0o100000
WHENCE = {0: "SEEK_SET", 1: "SEEK_CUR", 2: "SEEK_END", 3: "SEEK_DATA", 4: "SEEK_HOLE"}
LOCKS = {
    5: "F_GETLK", 6: "F_SETLK", 7: "F_SETLKW", 36: "F_OFD_GETLK", 37: "F_OFD_SETLK", 38: "F_OFD_SETLKW",
}  # fmt: skip
LOCK = {0: "F_RDLCK", 1: "F_WRLCK", 2: "F_UNLCK"}
CONTROL = {1: "F_GETFD", 2: "F_SETFD", 3: "F_GETFL", 4: "F_SETFL"}
FLOCK = {"LOCK_SH": 1, "LOCK_EX": 2, "LOCK_NB": 4, "LOCK_UN": 8}
ENOENT = 2


def _open(m: Making, call: Call) -> Lines:
    a = call.arguments
    how = _flags(call) & ~LARGEFILE
    if how & TMPFILE == TMPFILE:
        raise Cannot("a file without a name (O_TMPFILE)")
    words = flags(how, OPEN, "O_RDONLY")
    if not how & 3 and words != "O_RDONLY":
        words = f"O_RDONLY | {words}"
    mode = f", 0{int(a.get('mode', 0o600)) & 0o7777:03o}" if how & CREAT else ""
    opening = f"open(path($0), {words}{mode})"
    name = m.names[call.path]
    if call.failed:
        return [Line(f"refused({opening});", (name,))]
    return [Line(f"fd[$1] = opened({opening});", (name, m.take_slot("fd", call)))]


def _flags(call: Call) -> int:
    if call.op == "creat":
        return CREAT | TRUNC | 1
    if call.op.startswith("mk"):  # mkstemp and its like: the name that was found is taken
        return int(call.arguments.get("flags", 0)) | CREAT | EXCL | 2
    return int(call.arguments["flags"])


def _close(m: Making, call: Call) -> Lines:
    return [Line("holds(close(fd[$0]));", (m.gave("fd", call),))]


#: Of what moves data: the call, its arguments behind the descriptor, and whether the offset is one.
MOVES = {
    "read": ("{buffer}, {size}", False),
    "write": ("{buffer}, {size}", False),
    "pread": ("{buffer}, {size}, {offset}", True),
    "pwrite": ("{buffer}, {size}, {offset}", True),
    "readv": ("pieces({buffer}, {size}, {count}), {count}", False),
    "writev": ("pieces({buffer}, {size}, {count}), {count}", False),
    "preadv": ("pieces({buffer}, {size}, {count}), {count}, {offset}", True),
    "pwritev": ("pieces({buffer}, {size}, {count}), {count}, {offset}", True),
    "preadv2": ("pieces({buffer}, {size}, {count}), {count}, {offset}, {flags}", True),
    "pwritev2": ("pieces({buffer}, {size}, {count}), {count}, {offset}, {flags}", True),
}


def _move(m: Making, call: Call) -> Lines:
    words, given = MOVES[call.op]
    size, offset = m.room(call), call.offset or 0
    numbers = [m.opened("fd", call), size]
    placed = given or (call.offset is not None and call.offset >= 0)
    if placed:
        numbers.append(offset)
    reading = call.kind == "read"
    buffer = "sink" if reading else ("data($2)" if placed else "data(0)")
    count = ""
    if "count" in call.arguments:
        count = f"${len(numbers)}"
        numbers.append(int(call.arguments["count"]))
    more = hex(int(call.arguments.get("flags", 0)))
    numbered = words.format(buffer=buffer, size="$1", offset="$2", count=count, flags=more)
    call_text = f"{call.op}(fd[$0], {numbered})"
    if call.failed:
        return [Line(f"refused({call_text});", tuple(numbers))]
    if call.bytes == size:
        return [Line(f"moved({call_text}, $1);", tuple(numbers))]
    numbers.append(call.bytes or 0)
    return [Line(f"moved({call_text}, ${len(numbers) - 1});", tuple(numbers))]


def _whence(call: Call) -> str:
    whence = int(call.arguments["whence"])
    return WHENCE.get(whence, str(whence))  # of a call that was refused for it


def _seek(m: Making, call: Call) -> Lines:
    where = _whence(call)
    call_text = f"lseek(fd[$0], $1, {where})"
    numbers = (m.opened("fd", call), int(call.arguments["distance"]))
    return [Line(f"{'refused' if call.failed else 'holds'}({call_text});", numbers)]


def _control(m: Making, call: Call) -> Lines:
    a = call.arguments
    cmd, at = int(a["cmd"]), m.opened("fd", call)
    check = "refused" if call.failed else "holds"
    if cmd in LOCKS and int(a["lock"]) in LOCK:
        kind = LOCK[int(a["lock"])]
        call_text = f"locked(fd[$0], {LOCKS[cmd]}, {kind}, {_whence(call)}, $1, $2)"
        return [Line(f"{check}({call_text});", (at, int(a["start"]), int(a["length"])))]
    if cmd in CONTROL:
        return [Line(f"{check}(fcntl(fd[$0], {CONTROL[cmd]}, $1));", (at, int(a["argument"])))]
    raise Cannot(f"fcntl with command {cmd}")


#: Calls on a descriptor, and on a name: `{x}` is an argument that was recorded.
ON_DESCRIPTOR = {
    "fsync": "fsync(fd[$0])",
    "fdatasync": "fdatasync(fd[$0])",
    "syncfs": "syncfs(fd[$0])",
    "ftruncate": "ftruncate(fd[$0], {length})",
    "fallocate": "fallocate(fd[$0], (int)({mode}), {offset}, {size})",
    "posix_fallocate": "posix_fallocate(fd[$0], {offset}, {size})",
    "posix_fadvise": "posix_fadvise(fd[$0], {offset}, {size}, (int)({advice}))",
    "readahead": "readahead(fd[$0], {offset}, (size_t)({size}))",
    "sync_file_range": "sync_file_range(fd[$0], {offset}, {size}, (unsigned)({flags}))",
    "fstat": "fstat(fd[$0], &attributes)",
    "fstatfs": "fstatfs(fd[$0], &file_system)",
    "fstatvfs": "fstatvfs(fd[$0], &volume)",
}
ON_NAME = {
    "truncate": "truncate(path($0), {length})",
    "stat": "stat(path($0), &attributes)",
    "lstat": "lstat(path($0), &attributes)",
    "fstatat": "fstatat(AT_FDCWD, path($0), &attributes, (int)({flags}))",
    "statx": "statx(AT_FDCWD, path($0), (int)({flags}), (unsigned)({mask}), &attributes_x)",
    "access": "access(path($0), (int)({mode}))",
    "faccessat": "faccessat(AT_FDCWD, path($0), (int)({mode}), (int)({flags}))",
    "statfs": "statfs(path($0), &file_system)",
    "statvfs": "statvfs(path($0), &volume)",
    "unlink": "unlink(path($0))",
    "unlinkat": "unlinkat(AT_FDCWD, path($0), (int)({flags}))",
    "remove": "remove(path($0))",
    "mkdir": "mkdir(path($0), (mode_t)({mode}))",
    "mkdirat": "mkdirat(AT_FDCWD, path($0), (mode_t)({mode}))",
    "rmdir": "rmdir(path($0))",
    "rename": "rename(path($0), other_path({to}))",
    "renameat": "renameat(AT_FDCWD, path($0), AT_FDCWD, other_path({to}))",
    "renameat2": "renameat2(AT_FDCWD, path($0), AT_FDCWD, other_path({to}), (unsigned)({flags}))",
    "link": "link(path($0), other_path({to}))",
    "linkat": "linkat(AT_FDCWD, path($0), AT_FDCWD, other_path({to}), (int)({flags}))",
}
RENAMES = tuple(op for op in TWO_NAMES if op.startswith("rename"))
REMOVES = ("unlink", "unlinkat", "remove", "rmdir")
ERROR_IS_RESULT = ("posix_fallocate", "posix_fadvise")


def _plain(m: Making, call: Call) -> Lines:
    if call.op in ON_DESCRIPTOR:
        text, numbers = ON_DESCRIPTOR[call.op], [m.opened("fd", call)]
    else:
        text, numbers = ON_NAME[call.op], [m.names[call.path]]
    a = call.arguments | {"size": call.size, "offset": call.offset}
    if "to" in call.arguments:
        a["to"] = m.names[str(call.arguments["to"])]
    for word in ("offset", "length", "size", "mode", "advice", "flags", "mask", "to"):
        if f"{{{word}}}" in text:
            if a.get(word) is None:
                raise Cannot(f"its {word} was not recorded")
            text = text.replace(f"{{{word}}}", f"${len(numbers)}")
            numbers.append(int(a[word]))
    good, bad = ("must", "fails") if call.op in ERROR_IS_RESULT else ("holds", "refused")
    return [Line(f"{bad if call.failed else good}({text});", tuple(numbers))]


def _flock(m: Making, call: Call) -> Lines:
    how = flags(int(call.arguments["operation"]), FLOCK)
    check = "refused" if call.failed else "holds"
    return [Line(f"{check}(flock(fd[$0], {how}));", (m.opened("fd", call),))]


OPENS = ("open", "openat", "creat", "mkstemp", "mkostemp", "mkstemps", "mkostemps")
MAKERS: dict[str, Callable[[Making, Call], Lines]] = {
    **dict.fromkeys(OPENS, _open),
    **dict.fromkeys(MOVES, _move),
    **dict.fromkeys((*ON_DESCRIPTOR, *ON_NAME), _plain),
    "close": _close, "lseek": _seek, "fcntl": _control, "flock": _flock,
    "sync": lambda _, __: [Line("sync();")],
}  # fmt: skip


def lines(making: Making, call: Call) -> Lines:
    """Of one call of layer posix."""
    maker = MAKERS.get(call.op)
    if maker:
        return maker(making, call)
    if call.kind in ("meta", "dir") and not call.op.startswith("dup"):
        raise LeftOut
    raise Cannot("no statement is known for it")


def effects(call: Call) -> list[Effect]:
    """What a call of layer posix does to files."""
    path, op = call.path, call.op
    if call.failed:
        return [Effect(path, MISSES)] if call.error == ENOENT else []
    if op in OPENS:
        how = _flags(call)
        makes = MAKES if how & CREAT else ASKS
        does = CHANGES if how & TRUNC or how & (CREAT | EXCL) == CREAT | EXCL else makes
        return [Effect(path, does, 0, 0 if how & TRUNC else None, creates=bool(how & CREAT))]
    if call.kind in ("read", "write"):
        short = call.kind == "read" and (call.bytes or 0) < (call.size or 0)
        does = (ENDS if short else READS) if call.kind == "read" else WRITES
        known = call.offset is not None and call.offset >= 0 and (call.bytes or 0) > 0
        return [Effect(path, does, (call.offset or 0) + (call.bytes or 0) if known else 0)]
    if op in TWO_NAMES:
        to = str(call.arguments["to"])
        return [Effect(path, CHANGES, removes=op in RENAMES), Effect(to, CHANGES, creates=True)]
    if op in ("truncate", "ftruncate"):
        return [Effect(path, CHANGES, length=int(call.arguments["length"]))]
    if op in REMOVES or op in DIRECTORIES:
        return [Effect(path, CHANGES, creates=op in DIRECTORIES, removes=op in REMOVES)]
    if op in ("fallocate", "posix_fallocate"):
        return [Effect(path, CHANGES, (call.offset or 0) + (call.size or 0))]
    return [Effect(path, ASKS)] if op in ON_NAME else []
