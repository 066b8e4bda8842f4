"""Bytes of accesses in the cells of a picture of a file: what `access_cells.sql` adds up, of sums that are few."""

import numpy as np
import pyarrow as pa

KINDS = ("read", "write")


def cells(placed: pa.Table, step: int) -> pa.Table:
    """Rows x, y, kind, calls, bytes of those of `access_placed.sql`; `step`: bytes of a row of cells."""
    x, first, last, calls, head, tail = (
        placed[name].to_numpy().astype(np.int64)
        for name in ("x", "first", "last", "calls", "head", "tail")
    )
    kind = (placed["kind"].to_numpy() == KINDS[1]).astype(np.int64)
    shape = (x.max(initial=0) + 1, last.max(initial=0) + 2, len(KINDS))
    begun, moved, whole = (np.zeros(shape, np.int64) for _ in range(3))
    np.add.at(begun, (x, first, kind), calls)
    np.add.at(moved, (x, first, kind), head)
    np.add.at(moved, (x, last, kind), tail)
    # Rows between the first and the last are filled: as many begin below the first as end at the last.
    longer = last > first
    at = x[longer], kind[longer]
    np.add.at(whole, (at[0], first[longer] + 1, at[1]), calls[longer])
    np.add.at(whole, (at[0], last[longer], at[1]), -calls[longer])
    moved += np.cumsum(whole, axis=1) * step
    filled = np.nonzero((moved > 0) | (begun > 0))
    return pa.table(
        {
            "x": filled[0], "y": filled[1], "kind": np.array(KINDS)[filled[2]],
            "calls": begun[filled], "bytes": moved[filled],
        }
    )  # fmt: skip
