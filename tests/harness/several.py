"""python several.py ENGINE WHO [WORDS…]: commands of several processes, one of which, WHO, has these words before it:
an agent that sends w.fathom to a collector, into all.fathom; a pack whose shares others do. What WHO writes on stderr,
and its exit status, are this program's, unless another one's failure says more."""

import contextlib
import os
import signal
import subprocess
import sys
import time

ENGINE, WHO, BEFORE = sys.argv[1], sys.argv[2], sys.argv[3:]
PIPE, NOWHERE = subprocess.PIPE, subprocess.DEVNULL
NOT_SENT = "not sent to "


def command(who: str, *words: str) -> list[str]:
    return [*(BEFORE if who == WHO else []), ENGINE, *words]


def kill(process: subprocess.Popen[str]) -> int:
    """With who traces it; a status that says that it had not ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return 3


def collect() -> int:
    words = ("collect", "all.fathom", "--listen", "127.0.0.1:0", "--key", "k", "--nodes", "1")
    collector = subprocess.Popen(
        command("collect", *words), stdout=PIPE, stderr=PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert collector.stdout
    target = collector.stdout.readline().strip()
    if not target:
        sys.stderr.write(collector.communicate()[1])
        return collector.returncode
    words = ("agent", "w.fathom", "--ring", "rings", "--sample", "0", "--collect", target)
    agent = subprocess.Popen(
        command("agent", *words), stdin=NOWHERE, stdout=NOWHERE, stderr=PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    while collector.poll() is None and agent.poll() is None:
        time.sleep(0.01)
    if collector.returncode:
        kill(agent)  # it would look for another one
    said = agent.communicate()[1] or ""
    has_sent = agent.returncode == 0 and NOT_SENT not in said
    status = (agent.returncode or 3) if WHO == "agent" and not has_sent else 0
    if not has_sent and collector.poll() is None:
        status = kill(collector) if WHO == "collect" else status
        kill(collector)
    lines = (collector.communicate()[1] or "") if WHO == "collect" else said
    sys.stderr.writelines(dict.fromkeys(lines.splitlines(True)))  # each connection has the fault
    return status or (collector.returncode if has_sent or WHO == "collect" else 3)


def pack() -> int:
    words = ("pack", "--quiet", "--force", "--jobs", "1", "--shares", "2", "w.fathom")
    packer = subprocess.Popen(command("pack --shares", *words), stdin=PIPE, stdout=PIPE, text=True)
    assert packer.stdin and packer.stdout
    for line in packer.stdout:
        step, count, folder = line.split()
        answer = "done"
        for number in range(int(count)):
            share = ("pack-share", f"w.fathom/{folder}", step, str(number), "--jobs", "1")
            # Of two, one is under strace: the other is as ever.
            who = "pack-share" if number else "other"
            done = subprocess.run(command(who, *share), capture_output=True, text=True, check=False)
            if done.returncode:
                answer = done.stderr.strip() or f"status {done.returncode}"
                break
        try:
            print(answer.replace("\n", " | "), file=packer.stdin, flush=True)
        except BrokenPipeError:
            break
    return packer.wait()


def strace() -> int:
    """A log of strace as a run, and how much is in it: ids are by chance."""
    done = subprocess.run(command("strace", "strace", "x.fathom", "log"), stdout=PIPE, check=False)
    if done.returncode == 0:
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.flush()
        return subprocess.run([ENGINE, "stat", "x.fathom"], check=False).returncode
    return done.returncode


sys.exit({"collect": collect, "agent": collect, "strace": strace}.get(WHO, pack)())
