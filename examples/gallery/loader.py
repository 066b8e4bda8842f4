"""A data loader in the form of PyTorch's, without PyTorch: a data set, worker processes, batches from a queue.

loader.py [--workers N] [--packed] [--epochs N] DIRECTORY
"""

import argparse
import multiprocessing
import random
from pathlib import Path

SAMPLES, SIZE, BATCH = 512, 16384, 16


class Files:
    """A sample is a file."""

    def __init__(self, directory):
        self.paths = sorted(directory.glob("sample.*"))

    def __getitem__(self, number):
        return self.paths[number].read_bytes()


class Packed:
    """All samples in one file, read a batch at a time."""

    def __init__(self, directory):
        self.file = open(directory / "samples.bin", "rb", buffering=0)

    def batch(self, number):
        self.file.seek(number * BATCH * SIZE)
        data = self.file.read(BATCH * SIZE)
        return [data[at : at + SIZE] for at in range(0, len(data), SIZE)]


def fetch(directory, packed, tasks, results):
    """A worker: numbers of samples in, a batch out."""
    samples = Packed(directory) if packed else Files(directory)
    for task in iter(tasks.get, None):
        batch = samples.batch(task) if packed else [samples[number] for number in task]
        results.put(sum(len(sample) for sample in batch))


def train(results, batches):
    """The consumer: it waits for a batch, and counts it instead of learning from it."""
    return sum(results.get() for _ in range(batches))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--packed", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    given = parser.parse_args()
    tasks, results = multiprocessing.Queue(), multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=fetch, args=(given.directory, given.packed, tasks, results))
        for _ in range(given.workers)
    ]
    for worker in workers:
        worker.start()
    for _ in range(given.epochs):
        order = list(range(SAMPLES // BATCH if given.packed else SAMPLES))
        random.Random(0).shuffle(order)
        batches = order if given.packed else [order[at : at + BATCH] for at in range(0, SAMPLES, BATCH)]
        for batch in batches:
            tasks.put(batch)
        print(f"epoch: {train(results, len(batches))} bytes")
    for _ in workers:
        tasks.put(None)
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
