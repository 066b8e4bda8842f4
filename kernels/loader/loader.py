"""A data loader without a framework: many files of samples of different sizes, read in shuffled order, epoch
after epoch, by worker processes that take batches from a queue. Every byte read is checked.

    loader.py [options] DIRECTORY
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from io import FileIO
from pathlib import Path

#: The bytes of all samples, at different places of this row.
ROW = bytes((i * 7 + (i >> 8) * 13) & 0xFF for i in range(1 << 16))
OPEN_FILES = 8  # of a worker; more files are closed and opened again


@dataclass(frozen=True)
class Sample:
    number: int
    path: Path
    offset: int
    size: int

    def data(self) -> bytes:
        """A function of the sample's number, as long as it."""
        at = self.number * 997 % (len(ROW) - self.size)
        return ROW[at : at + self.size]


def samples(options: argparse.Namespace) -> list[Sample]:
    """Sizes are drawn between half and three halves of --size, the same in every process."""
    draw = random.Random(options.seed)
    out: list[Sample] = []
    for file in range(options.files):
        offset = 0
        for _ in range(options.samples):
            size = draw.randint(options.size // 2, options.size * 3 // 2)
            out.append(Sample(len(out), options.directory / f"shard.{file:05}.bin", offset, size))
            offset += size
    return out


class Account:
    """The program's own account, as kernels/README.md has it; this is no MPI program: rank -1."""

    def __init__(self, directory: Path | None) -> None:
        self.file = (directory / f"{os.getpid()}.txt").open("a", buffering=1) if directory else None

    def tell(self, kind: str, sample: Sample) -> None:
        if self.file:
            place = f"{sample.path}|||{sample.offset}|{sample.size}|{sample.size}"
            self.file.write(f"-1|posix|{kind}|{place}\n")


def write(every: list[Sample], account: Account) -> None:
    files: dict[Path, FileIO] = {}
    for sample in every:
        file = files.get(sample.path) or files.setdefault(sample.path, FileIO(sample.path, "w"))
        account.tell("write", sample)
        if file.write(sample.data()) != sample.size:
            raise SystemExit(f"loader: {sample.path}: wrote less than asked")
    for file in files.values():
        file.close()


@lru_cache(maxsize=OPEN_FILES)
def opened(path: Path) -> FileIO:
    return FileIO(path)


#: Of a worker process, set when it starts.
worker_account = Account(None)


def start_worker(directory: Path | None) -> None:
    global worker_account  # a worker has no other way to keep something from task to task
    worker_account = Account(directory)


def read_batch(batch: list[Sample]) -> int:
    """Bytes of the batch; a worker's task."""
    for sample in batch:
        file = opened(sample.path)
        worker_account.tell("read", sample)
        file.seek(sample.offset)
        if file.read(sample.size) != sample.data():
            raise ValueError(f"{sample.path}: sample {sample.number} is not what was written")
    return sum(sample.size for sample in batch)


def epochs(options: argparse.Namespace, every: list[Sample]) -> int:
    moved = 0
    with multiprocessing.get_context(options.start).Pool(
        options.workers, start_worker, (options.account,)
    ) as pool:
        for epoch in range(options.epochs):
            order = random.Random(options.seed + 1 + epoch).sample(every, len(every))
            batches = [order[i : i + options.batch] for i in range(0, len(order), options.batch)]
            moved += sum(pool.imap_unordered(read_batch, batches))
        # closed and joined, so that workers end in order
        pool.close()
        pool.join()
    return moved


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name, default, means in (
        ("files", 16, "files"),
        ("samples", 64, "samples in each"),
        ("size", 4096, "mean bytes of a sample"),
        ("batch", 8, "samples of a worker's task"),
        ("workers", 4, "worker processes"),
        ("epochs", 2, "times that every sample is read"),
        ("seed", 1, "of sizes and orders"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=means)
    parser.add_argument("--start", choices=("fork", "spawn"), default="fork", help="of workers")
    parser.add_argument("--account", type=Path, help="directory for the program's own account")
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    if min(options.files, options.samples, options.batch, options.workers, options.epochs) < 1:
        parser.error("every number must be at least 1")
    if not 2 <= options.size <= len(ROW) // 2:
        parser.error(f"--size: from 2 to {len(ROW) // 2}")
    return options


def main() -> int:
    options = arguments()
    every = samples(options)
    began = time.monotonic()
    write(every, Account(options.account))
    written = time.monotonic()
    moved = epochs(options, every)
    print(
        f"files={options.files} samples={len(every)} bytes={moved} "
        f"write_seconds={written - began:.6f} read_seconds={time.monotonic() - written:.6f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
