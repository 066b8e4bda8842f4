"""Threads that write files, read them back and compare, below one directory, until standard input ends: a line for each
round of the first, and at the end one of JSON: rounds, and what went wrong."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading

WRITERS, BLOCKS, BLOCK = 3, 8, 16384


def block(writer: int, number: int) -> bytes:
    return hashlib.sha256(b"%d.%d" % (writer, number)).digest() * (BLOCK // 32)


def written_and_read(path: str, writer: int, first: int) -> None:
    blocks = [block(writer, first + i) for i in range(BLOCKS)]
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    for i, data in enumerate(blocks):
        assert os.pwrite(file, data, i * BLOCK) == BLOCK, "a short write"
    os.fsync(file)
    os.close(file)
    file = os.open(path, os.O_RDONLY)
    for i, data in enumerate(blocks):
        assert os.pread(file, BLOCK, i * BLOCK) == data, "other bytes than were written"
    os.close(file)


def main() -> None:
    at, wrong, over = sys.argv[1], [], threading.Event()
    rounds = [0] * WRITERS

    def work(writer: int) -> None:
        while not over.is_set():
            try:
                written_and_read(
                    f"{at}/load.{writer}.{rounds[writer] % 16}", writer, rounds[writer]
                )
            except (OSError, AssertionError) as error:
                wrong.append(repr(error))
            rounds[writer] += 1
            if writer == 0:
                print(rounds[0], flush=True)

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"rounds": rounds, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    main()
