"""A consumer fed by worker processes, in the ways of Python's libraries, and what each worker did by its own count.

loader.py WAY DIRECTORY [--workers N] [--batches N] [--consume MS] [--decode MS] [--large ORDER]

WAY: queue (batches by a shared queue), poll (the same with a time-out, as PyTorch waits), pipe (a socket pair for
each worker), fork, spawn, forkserver (multiprocessing.Pool), executor (concurrent.futures), dask, joblib. A batch is
8 files of 4 KiB, or with --large 8 records of one file, in order or shuffled. --consume: what the consumer computes
for a batch; --decode: what a worker does.
Prints a JSON object: PID -> bytes that this worker read.
"""

import argparse
import json
import multiprocessing
import os
import queue
import random
import time
from concurrent.futures import ProcessPoolExecutor

BATCH, SIZE = 8, 4096
RECORDS = 512


def given():
    parser = argparse.ArgumentParser()
    parser.add_argument("way")
    parser.add_argument("directory")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batches", type=int, default=16)
    parser.add_argument("--consume", type=float, default=0)
    parser.add_argument("--decode", type=float, default=0)
    parser.add_argument("--large", choices=["order", "shuffled"])
    return parser.parse_args()


def compute(ms):
    until = time.process_time() + ms / 1000
    while time.process_time() < until:
        pass


def records(number, arguments):
    """Of a batch: a part of the file, in order or not."""
    order = list(range(RECORDS))
    if arguments.large == "shuffled":
        random.Random(0).shuffle(order)
    return [order[(number * BATCH + at) % RECORDS] for at in range(BATCH)]


def load(task):
    """A batch: who read it, and its bytes."""
    number, arguments = task
    if arguments.large:
        descriptor = os.open(f"{arguments.directory}/large", os.O_RDONLY)
        parts = [os.pread(descriptor, SIZE, at * SIZE) for at in records(number, arguments)]
        os.close(descriptor)
    else:
        parts = []
        for at in range(BATCH):
            descriptor = os.open(f"{arguments.directory}/sample.{number}.{at}", os.O_RDONLY)
            parts.append(os.read(descriptor, SIZE))
            os.close(descriptor)
    compute(arguments.decode)
    return os.getpid(), sum(map(len, parts))


def from_queue(tasks, results, timeout):
    while True:
        try:
            task = tasks.get(timeout=timeout)
        except queue.Empty:
            continue
        if task is None:
            return
        results.put(load(task))


def from_pipe(end):
    for task in iter(end.recv, None):
        end.send(load(task))


def by_queue(tasks, workers, timeout):
    todo, results = multiprocessing.Queue(), multiprocessing.Queue()
    processes = [
        multiprocessing.Process(target=from_queue, args=(todo, results, timeout))
        for _ in range(workers)
    ]
    for process in processes:
        process.start()
    for task in tasks:
        todo.put(task)
    for _ in tasks:
        yield results.get(timeout=timeout)
    for _ in processes:
        todo.put(None)
    for process in processes:
        process.join()


def by_pipe(tasks, workers):
    ends = []
    for _ in range(workers):
        ours, theirs = multiprocessing.Pipe()
        multiprocessing.Process(target=from_pipe, args=(theirs,)).start()
        theirs.close()
        ends.append(ours)
    for number, task in enumerate(tasks):
        ends[number % workers].send(task)
        if number % workers == workers - 1:
            yield from [end.recv() for end in ends]
    for end in ends:
        end.send(None)


def results(arguments):
    tasks = [(number, arguments) for number in range(arguments.batches)]
    way, workers = arguments.way, arguments.workers
    if way in ("queue", "poll"):
        yield from by_queue(tasks, workers, 30 if way == "poll" else None)
    elif way == "pipe":
        yield from by_pipe(tasks, workers)
    elif way == "executor":
        with ProcessPoolExecutor(workers) as executor:
            yield from executor.map(load, tasks)
    elif way == "dask":
        from distributed import Client, LocalCluster

        with (
            LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield from client.gather(client.map(load, tasks))
    elif way == "joblib":
        from joblib import Parallel, delayed

        yield from Parallel(workers)(delayed(load)(task) for task in tasks)
    else:
        with multiprocessing.get_context(way).Pool(workers) as pool:
            yield from pool.imap(load, tasks)
            pool.close()
            pool.join()


def main():
    arguments = given()
    sums = {}
    for pid, size in results(arguments):
        sums[pid] = sums.get(pid, 0) + size
        compute(arguments.consume)
    print(json.dumps(sums))


if __name__ == "__main__":
    main()
