"""Arrow in a process that is a command of ours."""

import contextlib
import importlib
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any


class _Refusal(MetaPathFinder):
    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name == self._name:
            raise ModuleNotFoundError(name)
        return None


@contextlib.contextmanager
def _without(name: str) -> Iterator[None]:
    """No module of this name is to be had, unless it is there already."""
    refusal = _Refusal(name)
    sys.meta_path.insert(0, refusal)
    try:
        yield
    finally:
        sys.meta_path.remove(refusal)


def leave_pandas_out() -> None:
    """Arrow imports pandas, where there is one, to see whether the first list that it is given is one of pandas', which
    takes a fifth of a second. It looks once, here; who asks for a frame of pandas later gets one."""
    with _without("pandas"):
        import pyarrow as pa

        pa.array([])


def leave_numpy_out() -> None:
    """Each part of Arrow imports NumPy, where there is one, which takes longer than Arrow itself. For commands that
    hand it no array of NumPy's, nor ask for one."""
    global _has_numpy
    _has_numpy = False
    _load("pyarrow")


_has_numpy = True


def _load(name: str) -> Any:
    with contextlib.nullcontext() if _has_numpy else _without("numpy"):
        return importlib.import_module(name)


class _Part:
    """A part of Arrow that is loaded by whoever needs it first: it takes as long as ten statements."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(_load(self._name), name)


compute, parquet = _Part("pyarrow.compute"), _Part("pyarrow.parquet")
