"""Makes the samples of loader.py, as many files and as one. samples.py DIRECTORY"""

import os
import sys
from pathlib import Path

from loader import SAMPLES, SIZE

directory = Path(sys.argv[1])
directory.mkdir(exist_ok=True)
with open(directory / "samples.bin", "wb") as packed:
    for number in range(SAMPLES):
        sample = os.urandom(SIZE)
        (directory / f"sample.{number:04}").write_bytes(sample)
        packed.write(sample)
