"""Long work at a low priority, so that what somebody waits for goes first."""

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
    thread = threading.get_native_id()
    os.setpriority(os.PRIO_PROCESS, thread, max(NICE, os.getpriority(os.PRIO_PROCESS, thread)))


def in_background(work: Callable[[], T], give_up: Callable[[], object] | None = None) -> T:
    """Runs `work` in a thread of low priority and gives what it gives or raises; so are threads of databases that it
    opens. `give_up` interrupts it: on Ctrl-C it is called until the work ends."""
    with ThreadPoolExecutor(1, initializer=_give_way) as executor:
        future = executor.submit(work)
        try:
            return future.result()
        except (KeyboardInterrupt, SystemExit):
            while give_up and not future.done():
                give_up()
                wait([future], timeout=0.1)
            raise
