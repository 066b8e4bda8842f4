"""libotf2 as the `otf2` package brings it: an archive that is written, and the C functions that write events.

The package's own classes take 18 µs an event where the C functions, called from Python, take 3.5. So events are written
by the latter, and definitions, of which there are few, by the package's thin layer over them.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _otf2
from _otf2.Config import conf

from fathom.errors import FathomError

EVENT_CHUNK = 1 << 20  # bytes that are kept before they are written
#: The same of definitions, of which each location has a chunk, and more where the longest, a list of ranks, needs it.
DEFINITION_CHUNK, OF_RANK = 1 << 18, 16
ANCHOR = "traces"

POINTER = ctypes.c_void_p
U8, U32, U64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64
I32, I64 = ctypes.c_int32, ctypes.c_int64

Function = Callable[..., int]


def function(name: str, *types: type) -> Function:
    """A function of the library that takes these and gives an error code, 0 for none. Python's lock is kept: to give
    it away takes as long as an event."""
    entry = getattr(ctypes.PyDLL(conf.lib._name), f"OTF2_{name}")
    entry.argtypes, entry.restype = types, ctypes.c_int
    return entry  # type: ignore[no-any-return]


_errors: list[int] = []


def _keep(
    _data: int, _file: bytes, _line: int, _in: bytes, code: int, _form: bytes, _values: int
) -> int:
    """What the library would print: the first says why, what follows from it does not. Below 0 are warnings."""
    if code > 0:
        _errors.append(code)
    return code


CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, POINTER, ctypes.c_char_p, U64, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, POINTER
)  # fmt: skip
_callback = CALLBACK(_keep)
ctypes.CDLL(conf.lib._name).OTF2_Error_RegisterCallback(_callback, None)


def _error(code: int) -> FathomError:
    first = _errors[0] if _errors else code
    return FathomError(f"export: OTF2: {_otf2.Error_GetDescription(_otf2.ErrorCode(first))}")


def check(code: int) -> None:
    """Errors: FathomError in the library's words."""
    if code:
        raise _error(code)


class Archive:
    """An archive that is being written."""

    def __init__(self, directory: Path, ranks: int) -> None:
        definitions = max(DEFINITION_CHUNK, OF_RANK * ranks)
        self._handle = _otf2.Archive_Open(
            str(directory), ANCHOR, _otf2.FILEMODE_WRITE, EVENT_CHUNK, definitions,
            _otf2.SUBSTRATE_POSIX, _otf2.COMPRESSION_NONE,
        )  # fmt: skip
        # The library calls it as long as the archive is open.
        self._flush = _otf2.FlushCallbacks(pre_flush=lambda *_: _otf2.FLUSH, post_flush=None)
        _otf2.Archive_SetFlushCallbacks(self._handle, self._flush, None)
        _otf2.Archive_SetSerialCollectiveCallbacks(self._handle)
        _otf2.Archive_OpenEvtFiles(self._handle)
        self._open: dict[int, tuple[int, Any]] = {}
        #: Events of each location that was closed.
        self.counted: dict[int, int] = {}

    def describe(self, creator: str, description: str) -> None:
        """Who made it of what."""
        _otf2.Archive_SetCreator(self._handle, creator)
        _otf2.Archive_SetDescription(self._handle, description)

    def open(self, location: int) -> int:
        """The writer of a location's events, as the C functions take it."""
        writer = _otf2.Archive_GetEvtWriter(self._handle, location)
        address = ctypes.cast(writer, POINTER).value or 0
        self._open[address] = location, writer
        return address

    def close(self, address: int) -> None:
        """Writes what is left of its events."""
        location, writer = self._open.pop(address)
        self.counted[location] = int(_otf2.EvtWriter_GetNumberOfEvents(writer))
        _otf2.Archive_CloseEvtWriter(self._handle, writer)

    def finish(self, define: Callable[[Any], None]) -> None:
        """Closes the events, lets `define` write the definitions, closes the archive."""
        _otf2.Archive_CloseEvtFiles(self._handle)
        _otf2.Archive_OpenDefFiles(self._handle)
        # Each location has a file of its own definitions, empty here: readers look for it.
        for location in self.counted:
            _otf2.Archive_CloseDefWriter(
                self._handle, _otf2.Archive_GetDefWriter(self._handle, location)
            )
        _otf2.Archive_CloseDefFiles(self._handle)
        writer = _otf2.Archive_GetGlobalDefWriter(self._handle)
        define(writer)
        _otf2.Archive_CloseGlobalDefWriter(self._handle, writer)
        _otf2.Archive_Close(self._handle)


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """The package's errors as ours."""
    _errors.clear()
    try:
        yield
    except _otf2.Error as error:
        raise _error(error.code.value) from error
