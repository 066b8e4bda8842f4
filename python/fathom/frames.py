"""Arrow tables as pandas or Polars have them. Both are optional; neither is loaded before it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from fathom.errors import FathomError, install

if TYPE_CHECKING:
    import pandas
    import polars


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """The same rows as a pandas DataFrame, its columns of Arrow's types: 64-bit ids stay whole numbers where some are
    null, which NumPy's types would make doubles of. Raises `fathom.errors.FathomError` where pandas is missing."""
    try:
        import pandas
    except ImportError:
        raise missing("pandas") from None
    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def to_polars(table: pa.Table) -> polars.DataFrame:
    """The same rows as a Polars DataFrame, most columns without a copy. Raises `fathom.errors.FathomError` where Polars
    is missing."""
    try:
        import polars
    except ImportError:
        raise missing("polars") from None
    return polars.DataFrame(table)


def missing(library: str) -> FathomError:
    """What is missing, and how to get it."""
    return FathomError(f"{library} is not installed here; {install(library)}")
