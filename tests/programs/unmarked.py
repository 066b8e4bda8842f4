"""Writes inside and outside of functions that are regions: each at the offset that is the number of the one around it.

unmarked.py FILE
"""

import asyncio
import os
import sys
import threading

FD = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
NOTHING, EPOCH, STEP, BATCHES, TASK = range(5)


def write(around):
    os.pwrite(FD, b"x", around)


class Model:
    def step(self, fails):
        write(STEP)
        if fails:
            raise ValueError

    def other(self):
        write(NOTHING)


def batches():
    for _ in range(3):
        write(BATCHES)
        yield write(BATCHES)


def epoch(number):
    write(EPOCH)
    if number:
        epoch(number - 1)
    write(EPOCH)


async def task():
    write(TASK)
    await asyncio.sleep(0.001)
    write(TASK)


async def tasks():
    await asyncio.gather(*[task() for _ in range(3)])
    write(NOTHING)


def work():
    for number in range(20):
        write(NOTHING)
        epoch(number % 3)
        try:
            Model().step(number % 2)
        except ValueError:
            write(NOTHING)
        Model().other()
        for _ in batches():
            write(NOTHING)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
work()
asyncio.run(tasks())
