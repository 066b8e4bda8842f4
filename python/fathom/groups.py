"""Programs that were started in a group of their own: ended together with all that they started."""

import contextlib
import os
import signal
import subprocess

GRACE = 5.0  # seconds that a program has to end by itself


def end(process: "subprocess.Popen[bytes]", politely: signal.Signals = signal.SIGTERM) -> None:
    """Asks a program that still runs, and its group, to end; kills them where that does not do in time."""
    for number in (politely, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
