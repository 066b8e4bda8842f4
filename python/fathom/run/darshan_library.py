"""Darshan's own library of its logs, libdarshan-util, by ctypes: where it is, its functions and structures."""

import ctypes
import importlib.util
import shutil
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_ubyte,
    c_uint64,
    c_void_p,
)
from functools import cache
from pathlib import Path

NAME = "libdarshan-util.so"
# Older ones have another structure of the job, and say of no module whether it is whole.
OLDEST = (3, 4)
# The library writes as much of paths and command lines.
LONGEST_TEXT = 1 << 16
# Names of counters end with one that ends so.
LAST = b"_NUM_INDICES"


class Job(Structure):
    """`struct darshan_job`; its text is the last member, and there is room for a longer one."""

    _fields_ = [
        (name, c_int64)
        for name in ("uid", "start_s", "start_ns", "end_s", "end_ns", "processes", "job")
    ] + [("metadata", c_char * LONGEST_TEXT)]


class Module(Structure):
    """`struct darshan_mod_info`."""

    _fields_ = (
        ("name", c_char_p), ("length", c_int), ("version", c_int), ("index", c_int), ("partial", c_int)
    )  # fmt: skip


class Name(Structure):
    """`struct darshan_name_record`."""

    _fields_ = (("id", c_uint64), ("name", c_char_p))


class Mount(Structure):
    """`struct darshan_mnt_info`."""

    _fields_ = (("type", c_char * 3015), ("path", c_char * 3015))


class Base(Structure):
    """What every record begins with."""

    _fields_ = (("id", c_uint64), ("rank", c_int64))


class Traced(Structure):
    """A record of DXT; segments follow it, writes first."""

    _fields_ = (
        ("base", Base), ("shared", c_int64), ("host", c_char * 64), ("writes", c_int64), ("reads", c_int64)
    )  # fmt: skip


class Heat(Structure):
    """A record of HEATMAP."""

    _fields_ = (
        ("base", Base), ("width", c_double), ("bins", c_int64), ("writes", POINTER(c_int64)),
        ("reads", POINTER(c_int64)),
    )  # fmt: skip


class InDaos(Structure):
    """What is behind the counters of a record of DFS; of one of DAOS with its object's number."""

    _fields_ = (
        ("pool", c_ubyte * 16), ("container", c_ubyte * 16), ("high", c_uint64), ("low", c_uint64)
    )  # fmt: skip


class Router(Structure):
    """What is before the counters of a router of APXC."""

    _fields_ = (
        ("base", Base), ("group", c_int64), ("chassis", c_int64), ("blade", c_int64), ("node", c_int64)
    )  # fmt: skip


class Component(Structure):
    """Of a layout of Lustre, counters as `lustre_comp_counter_names` has them."""

    _fields_ = (("counters", c_int64 * 7), ("pool", c_char * 16))


class Layout(Structure):
    """A record of LUSTRE: components, then the OSTs of all of them."""

    _fields_ = (
        ("base", Base), ("components", c_int64), ("stripes", c_int64), ("component", POINTER(Component)),
        ("osts", POINTER(c_int64)),
    )  # fmt: skip


FUNCTIONS: dict[str, tuple[object, tuple[object, ...]]] = {
    "darshan_log_get_lib_version": (c_char_p, ()),
    "darshan_log_open": (c_void_p, (c_char_p,)),
    "darshan_log_get_job": (c_int, (c_void_p, POINTER(Job))),
    "darshan_log_get_job_runtime": (c_int, (c_void_p, Job, POINTER(c_double))),
    "darshan_log_get_exe": (c_int, (c_void_p, c_char_p)),
    "darshan_log_get_mounts": (c_int, (c_void_p, POINTER(POINTER(Mount)), POINTER(c_int))),
    "darshan_log_get_modules": (None, (c_void_p, POINTER(POINTER(Module)), POINTER(c_int))),
    "darshan_log_get_name_records": (None, (c_void_p, POINTER(POINTER(Name)), POINTER(c_int))),
    "darshan_log_get_record": (c_int, (c_void_p, c_int, POINTER(c_void_p))),
    "darshan_free": (None, (c_void_p,)),
}


class Library:
    """One that is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.calls = ctypes.CDLL(path)
        for name, (gives, takes) in FUNCTIONS.items():
            function = getattr(self.calls, name)
            function.restype, function.argtypes = gives, takes
        self.version: str = self.calls.darshan_log_get_lib_version().decode()

    def number(self) -> tuple[int, ...]:
        """Its version, to be compared."""
        words = self.version.replace("-", ".").split(".")
        return tuple(int(word) for word in words if word.isdigit())

    def names(self, variable: str) -> tuple[str, ...]:
        """Of the counters in an array of a record; none where this library does not have it."""
        try:
            first = ctypes.addressof(c_char_p.in_dll(self.calls, variable))
        except ValueError:
            return ()
        names: list[str] = []
        while True:
            name = c_char_p.from_address(first + len(names) * ctypes.sizeof(c_char_p)).value
            if name is None or name.endswith(LAST):
                return tuple(names)
            names.append(name.decode())


def _candidates() -> list[str]:
    """An installation's, by the loader's path and beside its commands; then the one that the wheel brings."""
    candidates = [NAME]
    parser = shutil.which("darshan-parser")
    if parser:
        prefix = Path(parser).resolve().parent.parent
        candidates += [str(prefix / folder / NAME) for folder in ("lib", "lib64")]
    package = importlib.util.find_spec("darshan")
    if package and package.origin:
        place = Path(package.origin).parent
        for folder in (place.parent / "darshan.libs", place):
            candidates += [str(path) for path in sorted(folder.rglob("libdarshan-util*.so*"))]
    return candidates


@cache
def library() -> Library | None:
    """The newest that is there, since each reads the logs of all before it; None where there is none."""
    newest = None
    for path in _candidates():
        try:
            loaded = Library(path)
        except (OSError, AttributeError):
            continue
        if loaded.number() >= OLDEST and (newest is None or loaded.number() > newest.number()):
            newest = loaded
    return newest
