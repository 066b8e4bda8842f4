"""Measurements into a Parquet file by pyarrow: a row group for every minute, or one for an hour.

table.py FILE ROWS_PER_GROUP
"""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 200_000


def write(path, rows):
    draw = np.random.default_rng(0)
    names = [f"sensor{number}" for number in range(20)]
    table = pa.table({name: draw.random(ROWS) for name in names})
    pq.write_table(table, path, row_group_size=rows)


def mean(path):
    return pq.read_table(path, columns=["sensor3"])["sensor3"].to_numpy().mean()


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
    print(f"mean: {mean(sys.argv[1]):.3f}")
