"""Writes from many places of Python: each at the offset that is the line it stands in and, in thousands, the number of
the stack that led to it; as many bytes as the number in the name of its file, which else is one. FILE.json has the
stacks: of each the lines of the user's own code, from inside outwards, as file, line and function.

    lines.py FILE ROUNDS
"""

import asyncio
import json
import os
import sys
import threading

FILE, ROUNDS = sys.argv[1], int(sys.argv[2])
FD = os.open(FILE, os.O_RDWR | os.O_CREAT, 0o600)


STACKS, TURN = {}, threading.Lock()


def here():
    frame, stack = sys._getframe(1), []
    line = frame.f_lineno
    while frame:
        code = frame.f_code
        if code.co_filename[0] != "<" and "/lib/python3" not in code.co_filename:
            name = getattr(code, "co_qualname", code.co_name)  # from 3.11
            stack.append((code.co_filename, frame.f_lineno, name))
        frame = frame.f_back
    with TURN:
        return 1000 * STACKS.setdefault(tuple(stack), len(STACKS)) + line


def plain():
    os.pwrite(FD, b"x", here())
    if FD:
        os.pwrite(FD, b"x", here())


def generator():
    for _ in range(3):
        os.pwrite(FD, b"x", here())
        yield os.pwrite(FD, b"x", here())


def listed():
    return [os.pwrite(FD, b"x", here()) for _ in range(2)]


class Writer:
    def __enter__(self):
        os.pwrite(FD, b"x", here())
        return self

    def __exit__(self, *_):
        os.pwrite(FD, b"x", here())

    @property
    def value(self):
        return os.pwrite(FD, b"x", here())

    def __lt__(self, other):  # called by sort(), which is in C
        os.pwrite(FD, b"x", here())
        return False


def from_c():
    sorted([Writer(), Writer()])
    max(range(3), key=lambda _: os.pwrite(FD, b"x", here()))


def caught():
    try:
        os.pwrite(FD, b"x", here())
        raise ValueError
    except ValueError:
        os.pwrite(FD, b"x", here())
    finally:
        os.pwrite(FD, b"x", here())


def deep(left):
    if left:
        deep(left - 1)
    os.pwrite(FD, b"x", here())


async def task():
    os.pwrite(FD, b"x", here())
    await asyncio.sleep(0)
    os.pwrite(FD, b"x", here())


async def tasks():
    await asyncio.gather(*[task() for _ in range(3)])


def made(number):
    """Code that comes and goes: its memory is used again."""
    lines = number % 97 + 1
    file = number % 13 + 2
    source = "\n" * lines + f"os.pwrite(FD, b'{'x' * file}', here())"
    exec(compile(source, f"made{file}.py", "exec"), globals())


def work():
    for number in range(ROUNDS):
        plain()
        list(generator())
        listed()
        with Writer() as writer:
            assert writer.value == 1
        from_c()
        caught()
        deep(5)
        made(number)
    asyncio.run(tasks())


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(f"{FILE}.json", "w") as out:
    json.dump(list(STACKS), out)
