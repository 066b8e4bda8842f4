"""Long work that gives way: what somebody waits for goes before what is worked out ahead of him."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

#: A tenth of the weight that a usual thread has when both want a processor.
NICE = 10


def _give_way() -> None:
    """Threads that this one starts from here on, as those of a database that it opens, have the same weight."""
    mine = threading.get_native_id()
    os.setpriority(os.PRIO_PROCESS, mine, max(NICE, os.getpriority(os.PRIO_PROCESS, mine)))


def politely(work: Callable[[], T]) -> T:
    """What `work` gives or raises. It has all processors while nobody else wants them, and hardly any of one that
    somebody wants: a database that `work` opens too."""
    with ThreadPoolExecutor(1, initializer=_give_way) as one:
        return one.submit(work).result()
