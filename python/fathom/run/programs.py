"""Other programs that we start: what they print, in which time, and their end."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

GRACE = 5.0  # seconds that a program has to end by itself
ANSWER_SECONDS = 30.0  # seconds that a program has to say its version, or the like

Process = subprocess.Popen[bytes] | subprocess.Popen[str]
Done = subprocess.CompletedProcess[str]


def end(process: Process, politely: signal.Signals = signal.SIGTERM) -> None:
    """Asks a program that still runs, and its group, to end; kills them where that does not do in time."""
    for number in (politely, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)


def run(
    words: Sequence[str | Path], seconds: float | None, *,
    environment: Mapping[str, str] | None = None, cwd: Path | None = None,
) -> Done | None:  # fmt: skip
    """Status and output; None: it did not end in time, and was ended with all that it had started."""
    with subprocess.Popen(
        words, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end(process)
    return Done(process.args, process.returncode, out, err)


def ask(*words: str) -> Done | None:
    """What a command answers, without us in it; None when it cannot be asked."""
    clean = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    try:
        return run(words, ANSWER_SECONDS, environment=clean)
    except OSError:
        return None
