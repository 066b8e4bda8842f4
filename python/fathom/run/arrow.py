"""Arrow in a process that is a command of ours."""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError(name)
        return None


def leave_pandas_out() -> None:
    """Arrow imports pandas, where there is one, to see whether the first list that it is given is one of pandas', which
    takes a fifth of a second. It looks once, here; who asks for a frame of pandas later gets one."""
    refuse = _NoPandas()
    sys.meta_path.insert(0, refuse)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(refuse)
