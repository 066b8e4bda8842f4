"""Locks of processes and of open files in argv[1]: prints what can be had, locally as on a forwarded directory."""

import errno
import fcntl
import os
import signal
import struct
import sys
from collections.abc import Callable
from typing import Any

PATH = sys.argv[1] + "/f"
WAIT, NOW = fcntl.LOCK_EX, fcntl.LOCK_EX | fcntl.LOCK_NB
FLOCK = struct.Struct("hhqqi4x")
KINDS = {fcntl.F_RDLCK: "shared", fcntl.F_WRLCK: "exclusive", fcntl.F_UNLCK: "none"}


def had(how: Callable[..., Any], *where: Any) -> str:
    """Whether a lock can be had, or why not."""
    try:
        how(*where)
    except OSError as error:
        return "busy" if error.errno in (11, 13) else errno.errorcode[error.errno or 0]
    return "had"


def by_file(file: Any, kind: int, start: int, length: int, command: int = fcntl.F_OFD_SETLK) -> str:
    """The same of the open file (OFD), or what F_OFD_GETLK says."""
    request = FLOCK.pack(kind, os.SEEK_SET, start, length, 0)
    if command != fcntl.F_OFD_GETLK:
        return had(fcntl.fcntl, file, command, request)
    reply = FLOCK.unpack(fcntl.fcntl(file, command, request))
    return KINDS[reply[0]] + (f" {reply[2]} {reply[3]}" if reply[0] != fcntl.F_UNLCK else "")


class Child:
    """A process that opens the file too, does something, says what came of it, and stays until it is told to end."""

    def __init__(self, what: Callable[[Any], str]) -> None:
        self.answers, writing_end = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            with open(PATH, "r+b", 0) as file:
                os.write(writing_end, what(file).encode())
                signal.sigwait({signal.SIGTERM})
            os._exit(0)
        os.close(writing_end)

    def says(self) -> str:
        """What came of it."""
        return os.read(self.answers, 99).decode()

    def end(self) -> str:
        """The same; it closes the file and ends."""
        answer = self.says()
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        os.close(self.answers)
        return answer


def ranges(file: Any) -> None:
    """Of processes: they split, end with a process, and when it closes the file."""
    fcntl.lockf(file, WAIT, 100, 50)
    print(Child(lambda g: had(fcntl.lockf, g, NOW, 10, 140)).end())
    other = Child(lambda g: had(fcntl.lockf, g, NOW, 10, 150))
    print(other.says(), had(fcntl.lockf, file, NOW, 20, 140))
    os.kill(other.pid, signal.SIGKILL)
    os.waitpid(other.pid, 0)
    # over a network the locks of a killed process end a moment later
    print(had(fcntl.lockf, file, WAIT, 20, 140))
    fcntl.lockf(file, fcntl.LOCK_UN, 10, 60)
    print(Child(lambda g: had(fcntl.lockf, g, NOW, 10, 60)).end())
    print(Child(lambda g: by_file(g, fcntl.F_RDLCK, 0, 0, fcntl.F_OFD_GETLK)).end())
    os.close(os.dup(file.fileno()))
    print(Child(lambda g: had(fcntl.lockf, g, NOW, 0, 0)).end())


def whole(file: Any) -> None:
    """Of open files: a child has its parent's."""
    fcntl.flock(file, WAIT)
    print(Child(lambda g: had(fcntl.flock, g, NOW)).end())
    print(Child(lambda _: had(fcntl.flock, file, NOW)).end())
    print(Child(lambda g: had(fcntl.lockf, g, NOW)).end())
    fcntl.flock(file, fcntl.LOCK_SH)
    print(Child(lambda g: had(fcntl.flock, g, fcntl.LOCK_SH | fcntl.LOCK_NB)).end())
    print(by_file(file, fcntl.F_WRLCK, 5, 5))
    print(Child(lambda g: by_file(g, fcntl.F_RDLCK, 9, 2)).end())
    print(Child(lambda g: by_file(g, fcntl.F_RDLCK, 9, 2, fcntl.F_OFD_GETLK)).end())
    with open(PATH, "r+b", 0) as second:
        print(by_file(second, fcntl.F_RDLCK, 0, 6), had(fcntl.flock, second, NOW))
    file.close()
    with open(PATH, "r+b", 0) as again:
        print(had(fcntl.flock, again, NOW), by_file(again, fcntl.F_WRLCK, 0, 0))


def waits(file: Any) -> None:
    """A lock is waited for until it is free, or a signal comes; nobody waits for itself."""
    fcntl.lockf(file, WAIT, 10, 0)
    waiting = Child(lambda g: had(fcntl.lockf, g, WAIT, 10, 5))
    fcntl.lockf(file, fcntl.LOCK_UN)
    print(waiting.end())

    def interrupted(g: Any) -> str:
        def stop(*_: Any) -> None:
            raise TimeoutError

        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            fcntl.lockf(g, WAIT, 10, 0)
        except TimeoutError:
            return "interrupted"
        return "had"

    fcntl.lockf(file, WAIT, 10, 0)
    print(Child(interrupted).end())

    def second_lock(g: Any, start: int) -> str:
        answer = had(fcntl.lockf, g, WAIT, 10, start)
        if answer != "had":
            fcntl.lockf(g, fcntl.LOCK_UN)
        return answer

    def circle(g: Any) -> str:
        fcntl.lockf(g, WAIT, 10, 20)
        os.write(ready[1], b"x")
        return second_lock(g, 0)

    ready = os.pipe()
    other = Child(circle)
    os.read(ready[0], 1)
    mine = second_lock(file, 20)  # one of the two is told, and gives back
    print(sorted([mine, other.end()]))


with open(PATH, "w+b", 0) as first:
    ranges(first)
with open(PATH, "w+b", 0) as first:
    waits(first)
whole(open(PATH, "w+b", 0))  # noqa: SIM115 -- it closes it
