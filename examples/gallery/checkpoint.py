"""Steps of computing, and the state saved after each: arrays in a zip file, as torch.save writes them.

checkpoint.py [--aside] [--beside] DIRECTORY
"""

import argparse
import os
import threading
import zipfile
from pathlib import Path

import numpy

STEPS, ARRAYS, LENGTH = 6, 8, 1 << 20


def save(path, state, aside):
    """Over the last one; or to another name, synced, then renamed."""
    written = path.with_suffix(".part") if aside else path
    with open(written, "wb") as file:
        with zipfile.ZipFile(file, "w") as members:
            for name, array in state.items():
                members.writestr(name, array.tobytes())
        if aside:
            file.flush()
            os.fsync(file.fileno())
    if aside:
        written.replace(path)


def step(state):
    """Stands for a step of training."""
    for array in state.values():
        for _ in range(16):
            numpy.sin(array, out=array)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--beside", action="store_true")
    given = parser.parse_args()
    path = given.directory / "state.pt"
    state = {f"w{n}": numpy.ones(LENGTH, dtype="f4") for n in range(ARRAYS)}
    saving = None
    for _ in range(STEPS):
        step(state)
        if saving:
            saving.join()
        if given.beside:
            copy = {name: array.copy() for name, array in state.items()}
            saving = threading.Thread(target=save, args=(path, copy, given.aside))
            saving.start()
        else:
            save(path, state, given.aside)
    if saving:
        saving.join()


if __name__ == "__main__":
    main()
