"""A program that runs while servers are there for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from fathom.errors import FathomError

#: What somebody sends to us alone is the program's; what a terminal sends, it has got as well.
PASSED_ON = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip


@contextmanager
def beside(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[None]:
    """A command that runs meanwhile: it ends when its standard input is closed, and what it prints is for the user. No
    words: none. Errors: FathomError if it cannot be started."""
    if not command:
        yield
        return
    try:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise FathomError(f"{command[0]}: {error.strerror}") from error
    try:
        yield
    finally:
        assert process.stdin and process.stdout
        process.stdin.close()
        sys.stderr.writelines(process.stdout)  # until it says that nobody need wait


def execute(program: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs it; its exit status, or less a signal's number. Errors: FathomError if it cannot be started."""
    waited = {signal.SIGCHLD, *PASSED_ON}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        process = subprocess.Popen(
            program, env=environment,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
        )  # fmt: skip
    except OSError as error:
        raise FathomError(f"{program[0]}: {error.strerror}") from error
    else:
        while process.poll() is None:
            received = signal.sigwaitinfo(waited)
            if received.si_signo != signal.SIGCHLD and received.si_code <= 0:
                process.send_signal(received.si_signo)
        return int(process.returncode)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_as(status: int) -> int:
    """The exit status; of a signal, this process ends by it too."""
    if status >= 0:
        return status
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    return 128 - status
