"""Long work that gives way: what somebody waits for goes before what is worked out ahead of him."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

#: A tenth of the weight that a usual thread has when both want a processor.
NICE = 10


def _give_way() -> None:
    """Threads that this one starts from here on, as those of a database that it opens, have the same weight."""
    mine = threading.get_native_id()
    os.setpriority(os.PRIO_PROCESS, mine, max(NICE, os.getpriority(os.PRIO_PROCESS, mine)))


def in_background(work: Callable[[], T], give_up: Callable[[], object] | None = None) -> T:
    """What `work` gives or raises. It has all processors while nobody else wants them, and hardly any of one that
    somebody wants: a database that `work` opens too. `give_up`: interrupts what it is at; on Ctrl-C it is called until
    it ends."""
    with ThreadPoolExecutor(1, initializer=_give_way) as one:
        done = one.submit(work)
        try:
            return done.result()
        except (KeyboardInterrupt, SystemExit):
            while give_up and not done.done():
                give_up()
                wait([done], timeout=0.1)
            raise
