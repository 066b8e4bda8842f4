"""Logs of Darshan that nobody recorded: written by Darshan's own library, with any modules and records."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_uint64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path

from fathom.run.darshan_library import Job, Library, Mount, library

START = 1_700_000_000
#: Numbers of modules in the library's order.
NUMBERS = {
    "POSIX": 1, "MPI-IO": 2, "H5F": 3, "H5D": 4, "PNETCDF_FILE": 5, "PNETCDF_VAR": 6, "BG/Q": 7, "LUSTRE": 8,
    "STDIO": 9, "DXT_POSIX": 10, "DXT_MPIIO": 11, "MDHIM": 12, "APXC": 13, "APMPI": 14, "HEATMAP": 15,
    "DFS": 16, "DAOS": 17,
}  # fmt: skip
ZLIB = 0


@dataclass
class Module:
    """What a log has of one."""

    version: int
    records: list[bytes] = field(default_factory=list)


class _Listed(Structure):
    """A name as the library lists it: of uthash's handle the link to the next one is all that its writer needs."""


_Listed._fields_ = [
    ("record", c_char_p), ("table", c_void_p), ("before", c_void_p), ("next", POINTER(_Listed)), ("rest", c_char * 64),
]  # fmt: skip


def record(
    module: str,
    name: int,
    rank: int,
    counters: Mapping[str, float],
    file: int | None = None,
    rest: bytes = b"",
) -> bytes:
    """Of a module that counts: counters by their names, without the module's before them; others are 0."""
    prefix = {"MPI-IO": "MPIIO"}.get(module, module)
    known = _library()
    integers, reals = (known.names(f"{prefix.lower()}_{kind}counter_names") for kind in ("", "f_"))
    unknown = {f"{prefix}_{key}" for key in counters} - {*integers, *reals}
    assert not unknown, unknown
    numbers = [int(counters.get(key.removeprefix(f"{prefix}_"), 0)) for key in integers]
    times = [float(counters.get(key.removeprefix(f"{prefix}_"), 0)) for key in reals]
    inside = [] if file is None else [file]
    form = f"<Qq{len(inside)}Q{len(numbers)}q{len(times)}d"
    return struct.pack(form, name, rank, *inside, *numbers, *times) + rest


def names(array: str) -> tuple[str, ...]:
    """Of the library's counters."""
    return _library().names(array)


def write(
    path: Path,
    modules: Mapping[str, Module],
    names: Mapping[int, str],
    ranks: int,
    mounts: Sequence[tuple[str, str]] = (),
    seconds: int = 10,
) -> Path:
    """A log. `names`: of records; `mounts`: points and types."""
    calls = _library().calls
    calls.darshan_log_create.restype = c_void_p
    handle = c_void_p(calls.darshan_log_create(bytes(path), ZLIB, 0))
    assert handle
    job = Job(1000, START, 0, START + seconds, 0, ranks, 4711, b"lib_ver=3.5.0\n")
    points = (Mount * len(mounts))(*(Mount(kind.encode(), at.encode()) for at, kind in mounts))
    _done(calls.darshan_log_put_job(handle, byref(job)))
    _done(calls.darshan_log_put_exe(handle, b"/bin/program -x"))
    _done(calls.darshan_log_put_mounts(handle, points, c_int(len(mounts))))
    _done(calls.darshan_log_put_namehash(handle, _listed(names)))
    for name, module in sorted(modules.items(), key=lambda one: NUMBERS[one[0]]):
        for one in module.records:
            _done(calls.darshan_log_put_mod(handle, NUMBERS[name], one, len(one), module.version))
    calls.darshan_log_close(handle)
    return path


def _library() -> Library:
    darshan = library()
    assert darshan is not None
    return darshan


def _done(status: int) -> None:
    assert status >= 0


def _listed(names: Mapping[int, str]) -> object:
    """Linked from the last to the first; ctypes keeps those alive that the first one leads to."""
    first: _Listed | None = None
    for number, name in reversed(names.items()):
        text = bytes(c_uint64(number)) + name.encode() + b"\0"
        # Numbers may have zero bytes, which a c_char_p would end at: the pointer is to the whole.
        one = _Listed(ctypes.cast(ctypes.create_string_buffer(text, len(text)), c_char_p))
        if first is not None:
            one.next = ctypes.pointer(first)
        first = one
    return byref(first) if first is not None else None
