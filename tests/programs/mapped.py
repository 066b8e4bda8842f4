"""Reads a file through memory as libraries of arrays do, and prints what /proc/self/smaps says the process has of it.

mapped.py numpy|arrow|safetensors|fork FILE
"""

import json
import mmap
import os
import struct
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

HOW, PATH = sys.argv[1], Path(sys.argv[2]).resolve()
NUMBERS = np.arange(4 << 20, dtype=np.int64)  # 32 MiB
PART = 1 << 20


def resident() -> int:
    """Bytes."""
    size, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if not line[0].isupper():
            inside = line.endswith(str(PATH))
        elif inside and line.startswith("Rss:"):
            size += int(line.split()[1]) * 1024
    return size


def say() -> None:
    print(resident(), flush=True)


def of_numpy() -> None:
    NUMBERS.tofile(PATH)
    array = np.memmap(PATH, dtype=np.int64, mode="r")
    assert array[:PART].sum() > 0
    say()
    del array


def of_arrow() -> None:
    with (
        pa.OSFile(str(PATH), "wb") as sink,
        pa.ipc.new_file(sink, pa.schema([("x", pa.int64())])) as writer,
    ):
        writer.write_table(pa.table({"x": NUMBERS}), max_chunksize=PART)
    with pa.memory_map(str(PATH)) as source:
        batch = pa.ipc.open_file(source).get_batch(1)
        assert batch["x"].to_numpy().sum() > 0
        say()
        del batch


def of_safetensors() -> None:
    """A length, a header of JSON, the tensors: one of them is read."""
    header = json.dumps(
        {"w": {"dtype": "I64", "shape": [NUMBERS.size], "data_offsets": [0, NUMBERS.nbytes]}}
    )
    PATH.write_bytes(struct.pack("<Q", len(header)) + header.encode() + NUMBERS.tobytes())
    with PATH.open("rb") as file:
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = 8 + struct.unpack("<Q", whole[:8])[0]
    tensor = np.frombuffer(whole, dtype=np.uint8, offset=begin + PART, count=PART)
    assert tensor.sum() > 0
    say()
    del tensor
    whole.close()


def of_fork() -> None:
    """A loader's worker uses what its parent has mapped; both keep it to their end."""
    NUMBERS.tofile(PATH)
    array = np.memmap(PATH, dtype=np.int64, mode="r")
    if os.fork() == 0:
        assert array[PART : 2 * PART].sum() > 0
        say()
        os._exit(0)
    os.wait()
    assert array[:PART].sum() > 0
    say()
    sys.stdout.flush()
    os._exit(0)


{"numpy": of_numpy, "arrow": of_arrow, "safetensors": of_safetensors, "fork": of_fork}[HOW]()
