"""A process that reads log after log, each in a child of its own: to start Python takes longer than to read one."""

import gc
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from fathom.interop.imports.lines import Lines, tell_all

# Bytes that the name of a log may have.
LONGEST = 1 << 16

#: Tells what is in a log, by its name.
Tell = Callable[[str, Lines], None]


def serve(tell: Tell) -> NoReturn:
    """Answers fathom/run/importing.py, by the socket on our standard input: a message is the name of a log, with the
    files that become the child's output and errors; the answer is its status, as Python has it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # who asks says what was stopped
    gc.freeze()
    with socket.socket(fileno=0) as asker, suppress(ConnectionError):  # of one that was killed
        while (asked := socket.recv_fds(asker, LONGEST, 2))[0]:
            name, files, _, _ = asked
            child = os.fork()
            if child == 0:
                _read(tell, os.fsdecode(name), files)
            for file in files:
                os.close(file)
            _, status = os.waitpid(child, 0)
            asker.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _read(tell: Tell, log: str, files: list[int]) -> NoReturn:
    """In the child."""
    status = 1
    try:
        for place, file in enumerate(files, 1):
            os.dup2(file, place)
        status = tell_all(lambda lines: tell(log, lines))
    finally:
        # What the library does at its end concerns nobody.
        os._exit(status)
