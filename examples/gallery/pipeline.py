"""A small analysis in Python: steps that log and keep rows in HDF5, then parts that worker processes save.

pipeline.py row|block DIRECTORY
"""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import h5py
import numpy as np

STEPS, WIDTH, ROWS = 512, 2048, 64


def log(folder, step):
    with open(folder / "log.txt", "a") as file:
        file.write(f"step {step}\n")


def steps_by_row(folder, rows):
    for step in range(STEPS):
        rows[step] = np.sin(np.arange(WIDTH) + step)
        log(folder, step)


def steps_by_block(folder, rows):
    for begin in range(0, STEPS, ROWS):
        steps = np.arange(begin, begin + ROWS)
        rows[begin : begin + ROWS] = np.sin(np.arange(WIDTH) + steps[:, None])
        log(folder, begin)


def save_part(path, part):
    with h5py.File(path) as file:
        data = file["rows"][part::4]
    np.save(path.with_name(f"part{part}.npy"), data)
    return data.sum()


def main():
    how, folder = sys.argv[1], Path(sys.argv[2])
    path = folder / "rows.h5"
    with h5py.File(path, "w") as file:
        rows = file.create_dataset("rows", (STEPS, WIDTH), "f8")
        (steps_by_row if how == "row" else steps_by_block)(folder, rows)
    fresh = multiprocessing.get_context("spawn")  # HDF5 does not like to be forked
    with ProcessPoolExecutor(2, fresh) as workers:
        print(f"sum: {sum(workers.map(save_part, [path] * 4, range(4))):.3f}")


if __name__ == "__main__":
    main()
