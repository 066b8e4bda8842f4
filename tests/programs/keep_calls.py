"""Writes to its second argument, block after block, and ends as its first one says."""

import os
import resource
import signal
import sys
from pathlib import Path

how, path = sys.argv[1:]
file = os.open(path, os.O_RDWR | os.O_CREAT)
for block in range(20_000):
    os.pwrite(file, bytes(1024 + block % 3), block * 4096 % (1 << 20))
for _ in range(200):
    os.close(os.open(path, os.O_RDONLY))
Path(path).rename(path + ".new")
if how == "full":
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 22, 1 << 22))
        os.pwrite(file, b"x", 1 << 22)
    except OSError as error:
        print(error)
elif how == "absent":
    print(Path(path).exists())
elif how == "hangs":
    signal.alarm(1)
    os.read(os.pipe()[0], 1)
elif how == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(3 if how == "fails" else 0)
