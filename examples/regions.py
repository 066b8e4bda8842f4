"""A time loop that writes a checkpoint every few steps, with its parts named for Fathom.

fathom run -o regions -- python regions.py
"""

import array

import fathom

density = array.array("d", range(65536))


@fathom.region("checkpoint")
def checkpoint(path: str) -> None:
    """Write every variable, each in a region of its own."""
    with open(path, "wb") as file, fathom.region("write variable", object="density"):
        file.write(density)


for step in range(20):
    with fathom.region("step", number=step):
        density[0] += 1
        if step % 5 == 0:
            checkpoint("out")
