"""A program's own words in its trace: fathom.h for Python.

>>> with fathom.region("step", number=17):
...     write_everything()
>>> @fathom.region("checkpoint")
... def checkpoint(state): ...

Where Fathom does not trace the process nothing is recorded and nothing is loaded but ctypes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    import ctypes

P = ParamSpec("P")
R = TypeVar("R")

_NUMBERS = 4  # FATHOM_NUMBERS of fathom.h
_INT64 = (1 << 64) - 1


class _Calls:
    """The functions that dlsym finds where Fathom traces this process; all of them or none."""

    def __init__(self) -> None:
        import ctypes  # not before the first region: it is not free

        # The interpreter's lock is kept: no call waits for anything.
        library = ctypes.PyDLL(None)
        self.traced = hasattr(library, "fathom_begin_with")
        if not self.traced:
            return
        u64, pointer = ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)

        class With(ctypes.Structure):
            _fields_ = (
                ("object", ctypes.c_char_p),
                ("count", ctypes.c_uint32),
                ("key", ctypes.c_char_p * _NUMBERS),
                ("value", ctypes.c_int64 * _NUMBERS),
            )

        self.with_type = With
        self.u64 = u64
        self.begin = library.fathom_begin_with
        self.end = library.fathom_end
        self.mark = library.fathom_mark_with
        self.current = library.fathom_current
        self.call_origin = library.fathom_call_origin
        for function in (self.begin, self.mark):
            function.argtypes = [ctypes.c_char_p, ctypes.POINTER(With)]
            function.restype = None
        self.end.argtypes, self.end.restype = [ctypes.c_char_p], None
        self.current.argtypes = [pointer, pointer]
        self.call_origin.argtypes, self.call_origin.restype = [u64, u64], None

    def having(self, named: str | None, numbers: dict[str, int]) -> ctypes.Structure | None:
        """struct fathom_with; None when there is nothing to say."""
        if named is None and not numbers:
            return None
        block = self.with_type()
        block.object = None if named is None else _text(named)
        block.count = len(numbers)
        for place, (key, value) in enumerate(numbers.items()):
            block.key[place] = _text(key)
            block.value[place] = value
        return block


@functools.cache
def _calls() -> _Calls:
    return _Calls()


def look_again() -> None:
    """Fathom came into this process after its first region may have looked for it."""
    _calls.cache_clear()


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace").partition(b"\0")[0]


def _checked(what: str, numbers: dict[str, Any]) -> dict[str, int]:
    """The same mistakes are mistakes whether the process is traced or not."""
    if len(numbers) > _NUMBERS:
        raise ValueError(f"fathom.{what}: at most {_NUMBERS} numbers, {len(numbers)} given")
    return {key: operator.index(value) & _INT64 for key, value in numbers.items()}


class region:  # noqa: N801 - used as a word of the language: `with region(…)`, `@region(…)`
    """A part of the program, by name: `with` it, or decorate a function with it.

    Numbers (`number=17`) are columns of its calls, `object` names what it works on. Regions nest
    in each thread; one instance may be used again and again, also inside itself.
    """

    def __init__(self, name: str, *, object: str | None = None, **numbers: int) -> None:
        checked = _checked("region", numbers)
        self._name = _text(name)
        self._with = _calls().having(object, checked) if _calls().traced else None

    def __enter__(self) -> region:
        calls = _calls()
        if calls.traced:
            calls.begin(self._name, self._with)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        calls = _calls()
        if calls.traced:
            calls.end(self._name)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return inside


def mark(name: str, *, object: str | None = None, **numbers: int) -> None:
    """A point in time: a call that ends as it begins."""
    checked = _checked("mark", numbers)
    calls = _calls()
    if calls.traced:
        calls.mark(_text(name), calls.having(object, checked))


def current() -> tuple[int, int]:
    """Identity (stream, seq) of this thread's innermost open call; (0, 0): none is recorded."""
    calls = _calls()
    if not calls.traced:
        return 0, 0
    stream, seq = calls.u64(), calls.u64()
    calls.current(stream, seq)
    return stream.value, seq.value


def call_origin(stream: int, seq: int) -> None:
    """In a server: the innermost open region of this thread serves the call of that identity."""
    calls = _calls()
    if calls.traced:
        calls.call_origin(stream, seq)
