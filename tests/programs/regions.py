"""Regions of the Python module: nested, decorated, left by an exception, with an origin. regions.py FILE"""

import os
import sys
import threading

import fathom

file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
step = fathom.region("step", number=3, level=-1, object="density")


@fathom.region("checkpoint")
def checkpoint(depth: int) -> None:
    with step:
        os.pwrite(file, b"12345678", 8 * depth)
    if depth:
        checkpoint(depth - 1)


def in_a_thread() -> None:
    with fathom.region("thread"):
        os.pwrite(file, b"12345678", 80)


checkpoint(1)
try:
    with fathom.region("failing"):
        raise KeyError
except KeyError:
    fathom.mark("failed", times=1)
thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
with fathom.region("client"):
    stream, seq = fathom.current()
with fathom.region("server"):
    fathom.call_origin(stream, seq)
heavy = {"duckdb", "pyarrow", "rich"} & set(sys.modules)
print("done", *heavy)
