"""Makes and removes lock files, each followed at once by a file that may get its inode."""

import os
import sys
from pathlib import Path

os.chdir(sys.argv[1])
for step in range(20):
    lock = os.open(f"lock.{step}", os.O_CREAT | os.O_WRONLY)
    os.close(lock)
    Path(f"lock.{step}").unlink()
    final = os.open(f"final.{step}", os.O_CREAT | os.O_WRONLY)
    os.write(final, b"x" * (step + 1))
    os.close(final)
