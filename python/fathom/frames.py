"""Arrow tables as pandas or Polars have them. Both are optional; neither is loaded before it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from fathom.errors import needed

if TYPE_CHECKING:
    import pandas
    import polars


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """The same rows as a pandas DataFrame, its columns of Arrow's types: 64-bit ids stay whole numbers where some are
    null, which NumPy's types would make doubles of. Raises `fathom.errors.UsageError` where pandas is missing."""
    with needed("fathom.to_pandas", "pandas"):
        import pandas
    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def to_polars(table: pa.Table) -> polars.DataFrame:
    """The same rows as a Polars DataFrame, most columns without a copy. Raises `fathom.errors.UsageError` where Polars
    is missing."""
    with needed("fathom.to_polars", "polars"):
        import polars
    return polars.DataFrame(table)
