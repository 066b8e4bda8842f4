"""Fathom: where the I/O time of a parallel program goes.

>>> import fathom
>>> run = fathom.open("s3d.fathom")
>>> run.sql("select layer, sum(bytes) as bytes from counters group by layer")
>>> fathom.to_pandas(run.findings())

>>> with fathom.record("save") as recording:  # a block of this process; in a notebook %%fathom records a cell
...     numpy.save("grid.npy", grid)
>>> print(recording.run)

In a traced program: `with fathom.region("step", number=17): …` (docs/user-api.md). All of it: docs/python.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from fathom.regions import call_origin, current, mark, region

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from IPython.core.interactiveshell import InteractiveShell

    from fathom.api import Recording, Run

__version__ = "0.1.0"
__all__ = [
    "call_origin",
    "current",
    "diff",
    "include",
    "landscape",
    "mark",
    "open",
    "record",
    "region",
    "to_pandas",
    "to_polars",
]


def __dir__() -> list[str]:
    """For completion."""
    return list(__all__)


def include() -> str:
    """The folder of fathom.h and fathom.f90, for a compiler's -I."""
    from fathom.run import paths

    return str(paths.include())


def open(path: str | PathLike[str], *, with_runtime: bool = False) -> Run:
    """The run in this directory; packed first when it is not yet. Its tables have what the program did; with
    `with_runtime` also what the MPI library, the interpreter and the system did beside it (docs/tables.md, `runtime`).
    Raises `fathom.errors.RunError`."""
    from fathom import api
    from fathom.run import store  # the catalog's generator needs no DuckDB

    return store.open_as(api.Run, path, with_runtime=with_runtime)


def record(
    name: str | PathLike[str] | None = None,
    *,
    level: str = "call",
    layers: str | Sequence[str] = (),
    files: str | Sequence[str] = (),
) -> Recording:
    """`with fathom.record("x") as recording:` records what this process does in the block into x.fathom, in all of its
    threads, and `recording.run` is that run afterwards; an exception passes through. Without a name the run is block.1,
    block.2 …; the options are those of `fathom attach`. Raises `fathom.errors.FathomError` where the process cannot be
    recorded."""
    from fathom import api

    return api.record(name, level=level, layers=layers, files=files)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext fathom` brings `%%fathom`, which records a cell."""
    from fathom import notebook

    notebook.load(shell)


def diff(a: str | PathLike[str], b: str | PathLike[str], by: str = "function") -> pyarrow.Table:
    """Two runs side by side, as `fathom diff A B --by` has them: by layer, function, line, rank, file or
    configuration; the largest difference first. Raises `fathom.errors.FathomError`."""
    from fathom import api

    return api.diff(a, b, by)


def landscape(runs: Iterable[str | PathLike[str]]) -> pyarrow.Table:
    """A row for each run, or each run below a directory, as `fathom landscape --csv` has them. Raises
    `fathom.errors.FathomError`."""
    from fathom import api

    return api.landscape(runs)


def to_pandas(table: pyarrow.Table) -> pandas.DataFrame:
    """An Arrow table as pandas (3 or newer) has it, whole numbers whole. Raises `fathom.errors.FathomError` where it
    is not installed."""
    from fathom import frames

    return frames.to_pandas(table)


def to_polars(table: pyarrow.Table) -> polars.DataFrame:
    """An Arrow table as Polars has it. Raises `fathom.errors.FathomError` where it is not installed."""
    from fathom import frames

    return frames.to_polars(table)
