"""Heat on a rod; the rod is saved now and then. What is wrong with save()?

`fathom demo` records and explains it where there is no MPI.
"""

import struct
from io import RawIOBase

SIDE, STEPS, EVERY = 20000, 100, 2


def save(file: RawIOBase, rod: list[float]) -> None:
    """Value by value: each call writes 8 bytes."""
    for value in rod:
        file.write(struct.pack("d", value))


rod = [100.0] + [0.0] * (SIDE - 1)
with open("heat.dat", "wb", buffering=0) as file:
    for step in range(STEPS):
        if step % EVERY == 0:
            save(file, rod)
        inner = [(rod[at - 1] + rod[at + 1]) / 2 for at in range(1, SIDE - 1)]
        rod = [rod[0], *inner, rod[-1]]
