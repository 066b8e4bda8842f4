"""A program that runs while servers are there for it."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from fathom.errors import FathomError

#: What somebody sends to us alone is the program's; what a terminal sends, it has got as well.
PASSED_ON = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip


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
            said = signal.sigwaitinfo(waited)
            if said.si_signo != signal.SIGCHLD and said.si_code <= 0:
                process.send_signal(said.si_signo)
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
