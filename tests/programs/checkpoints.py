"""A program that computes, and saves its state every few steps, in the forms of the libraries that do.

checkpoints.py FORM HABIT DIRECTORY [--rounds N] [--mb N] [--compute MS] [--others N] [--beside]

FORM: zip (members of a zip file, as torch.save), pickle (protocol 5, arrays one after the other), safetensors (a
header, then the tensors as they lie), hdf5, chunks (a directory of many files, as zarr).
HABIT: over (the file that was there is written over), new (another name each time), aside (another name, renamed when
it is complete), synced (the same, and synced before). --others: processes that compute too, and wait meanwhile.
--beside: a thread saves, while the next step computes.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import struct
import threading
import time
import zipfile
from pathlib import Path

import numpy

ARRAYS = 4


def compute(ms):
    until = time.process_time() + ms / 1000
    while time.process_time() < until:
        pass


def by_zip(file, state):
    with zipfile.ZipFile(file, "w") as members:
        for name, array in state.items():
            members.writestr(f"archive/data/{name}", array.tobytes())


def by_pickle(file, state):
    pickle.dump(state, file, protocol=5)


def by_safetensors(file, state):
    at, head = 0, {}
    for name, array in state.items():
        head[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    words = json.dumps(head).encode()
    file.write(struct.pack("<Q", len(words)) + words)
    for array in state.values():
        file.write(array)


def by_hdf5(path, state):
    import h5py

    with h5py.File(path, "w") as file:
        for name, array in state.items():
            file[name] = array


FORMS = {"zip": by_zip, "pickle": by_pickle, "safetensors": by_safetensors}


def save_file(form, habit, path, state):
    written = f"{path}.part" if habit in ("aside", "synced") else path
    if form == "hdf5":
        by_hdf5(written, state)
        if habit == "synced":
            with open(written, "rb") as file:
                os.fsync(file.fileno())
    else:
        with open(written, "wb") as file:
            FORMS[form](file, state)
            if habit == "synced":
                file.flush()
                os.fsync(file.fileno())
    if written != path:
        Path(written).replace(path)


def save(form, habit, directory, number, state):
    where = f"{directory}/state" if habit == "over" else f"{directory}/state-{number}"
    if form != "chunks":
        save_file(form, habit, where, state)
        return
    Path(where).mkdir(exist_ok=True)
    for name, array in state.items():
        for at, piece in enumerate(numpy.array_split(array, 8)):
            save_file("safetensors", habit, f"{where}/{name}.{at}", {"piece": piece})


def other(end, ms):
    while end.recv():
        compute(ms)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("form", choices=[*FORMS, "hdf5", "chunks"])
    parser.add_argument("habit", choices=["over", "new", "aside", "synced"])
    parser.add_argument("directory")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--mb", type=int, default=8)
    parser.add_argument("--compute", type=float, default=60)
    parser.add_argument("--others", type=int, default=0)
    parser.add_argument("--beside", action="store_true")
    given = parser.parse_args()
    state = {f"w{n}": numpy.zeros((given.mb << 18) // ARRAYS, dtype="f4") for n in range(ARRAYS)}
    ends = []
    for _ in range(given.others):
        ours, theirs = multiprocessing.Pipe()
        multiprocessing.Process(target=other, args=(theirs, given.compute)).start()
        theirs.close()
        ends.append(ours)
    saving = None
    for number in range(given.rounds):
        for end in ends:
            end.send(True)
        compute(given.compute)
        arguments = (given.form, given.habit, given.directory, number, state)
        if given.beside:
            if saving:
                saving.join()
            saving = threading.Thread(target=save, args=arguments)
            saving.start()
        else:
            save(*arguments)
    if saving:
        saving.join()
    for end in ends:
        end.send(False)


if __name__ == "__main__":
    main()
