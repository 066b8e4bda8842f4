"""The mean of each column of a field: as the maths says it, or by what lies together in the file.

columns.py FILE columns|rows
"""

import sys

import h5py
import numpy as np

SIZE = 2048
FEW = 256


def write(path):
    """A field of doubles in h5py's default layout: contiguous, row after row."""
    with h5py.File(path, "w") as file:
        file["grid"] = np.ones((SIZE, SIZE))


def by_columns(grid):
    return [grid[:, column].mean() for column in range(FEW)]


def by_rows(grid):
    return grid[:, :FEW].mean(axis=0)


if __name__ == "__main__":
    write(sys.argv[1])
    with h5py.File(sys.argv[1]) as file:
        means = by_columns(file["grid"]) if sys.argv[2] == "columns" else by_rows(file["grid"])
    print(f"mean of the means: {np.mean(means)}")
