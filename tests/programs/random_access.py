"""random_access.py DIRECTORY CALLS RANKS: reads and writes by lot, by so many processes at once.

Each reads `input`, which is there before, reads and writes a file of its own, and what is neither: a file that is not
there, short reads, a lock, a file that gets shorter.
"""

import contextlib
import fcntl
import os
import random
import sys

LARGEST, INPUT = 20000, 300000


def one(lot: random.Random, source: int, own: int) -> None:
    size, at = lot.randrange(LARGEST), lot.randrange(INPUT)
    way = lot.randrange(6)
    if way == 0:
        os.pread(source, size, at)
    elif way == 1:
        os.pwrite(own, bytes(size), at)
    elif way == 2:
        os.lseek(own, at, os.SEEK_SET)
        os.write(own, bytes(size))
    elif way == 3:
        os.read(own, size)
    elif way == 4:
        os.pwritev(own, [bytes(size), bytes(size)], at)
    else:
        os.read(source, size)


def work(directory: str, calls: int, rank: int) -> None:
    lot = random.Random(rank)
    with contextlib.suppress(FileNotFoundError):
        os.open(f"{directory}/missing", os.O_RDONLY)
    source = os.open(f"{directory}/input", os.O_RDONLY)
    own = os.open(f"{directory}/own.{rank}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o640)
    for _ in range(calls):
        one(lot, source, own)
    fcntl.lockf(own, fcntl.LOCK_EX, 7, 5)
    os.ftruncate(own, 1000)
    os.fsync(own)
    assert os.fstat(own).st_size == 1000
    os.close(source)
    os.close(own)


def main() -> None:
    directory, calls, ranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    children = []
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            work(directory, calls, rank)
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


main()
