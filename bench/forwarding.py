"""Forwarding against the bare thing: a request and a Unix socket's round trip, streams, small writes and reads."""

from __future__ import annotations

import os
import re
import resource
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import collective
from tools import ENGINE, PROGRAMS, ROOT, BenchError, Row, run, scratch

FORWARD = PROGRAMS / "forward"
PRELOAD = ROOT / "build" / "libfathom_fwd_preload.so"
SLOW_STORE = ROOT / "build" / "tests" / "tools" / "slow_store.so"
ROUND = 1.5
STREAM = 0.7
COALESCED = 10.0
DATA = 64  # bytes of a small request
MIB = 1 << 20
# Bytes on the wire of a request and its reply, docs/forwarding-protocol.md: header, fields, hints, data.
SIZES = {
    "write": (64 + 32 + 4 + 16 + 2 + DATA, 64 + 8 + 1 + 2),
    "read": (64 + 32 + 4 + 16 + 2, 64 + 4 + 8 + 2 + DATA),
    "getattr": (64 + 32 + 2, 64 + 108 + 2),
}
# A store as slow as a busy shared one, fixed before anything was measured with it: 2,000 accesses and 500 MB a second.
OPERATIONS = 2000
MEGABYTES = 500
SLOW = ("--throttle", f"operations={OPERATIONS},megabytes={MEGABYTES}")
RANKS = 4
BLOCK = 4096


@dataclass(frozen=True)
class Server:
    address: str
    pid: int

    def processor_seconds(self) -> float:
        """Of all its threads so far."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


@contextmanager
def server(place: Path, *options: str) -> Iterator[Server]:
    """A forwarding server of `place`/export."""
    (place / "export").mkdir(exist_ok=True)
    words = [ENGINE, "forward", place / "export", "--unix", place / "socket", *options]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip() if process.stdout else ""
        if not address:
            raise BenchError("fathom-engine forward did not begin")
        yield Server(address, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def figure(*words: str | Path) -> float:
    """What bench/forward prints."""
    return float(run([FORWARD, *words]))


Words = Sequence[str | Path]


def spent_by(work: Callable[[], float]) -> tuple[float, float]:
    """What it gives, and the processor seconds of the processes that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    given = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return given, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def timed(words: Words) -> tuple[float, float]:
    """What bench/forward prints, and the processor seconds of it and of its child."""
    return spent_by(partial(figure, *words))


def pairs(rounds: int, bare: Words, ours: Words) -> tuple[list[float], list[float]]:
    """Both, in turn."""
    both = [(figure(*bare), figure(*ours)) for _ in range(rounds)]
    return [one[0] for one in both], [one[1] for one in both]


def small(quick: bool) -> list[Row]:
    """64 bytes to a server and back, against as many bytes to a process that only answers.

    And to one that waits by epoll and does the same access: the least that a server of many clients does.
    """
    rounds, calls = (3, 2000) if quick else (7, 10000)
    result = []
    with scratch("/dev/shm") as place, server(place) as one:
        for op, sizes in SIZES.items():
            sent = (*map(str, sizes), str(calls))
            taken = []
            for _ in range(rounds):
                bare = timed(("raw-round", *sent))
                least = timed(("raw-served", *sent, op, place / "least"))
                before = one.processor_seconds()
                took, client = timed(("round", one.address, op, str(DATA), str(calls)))
                taken.append((bare, least, (took, client + one.processor_seconds() - before)))
            result += [*round_rows(op, calls, taken), *system_calls(one, op)]
    return result


Taken = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


def round_rows(op: str, calls: int, taken: list[Taken]) -> list[Row]:
    """Of each round: seconds of a round trip and processor seconds of all; bare, of the least server, ours."""
    bare, least, ours = zip(*taken, strict=True)

    def row(
        what: str, of: int, figures: tuple[float, float], against: Sequence[tuple[float, float]]
    ) -> Row:
        ratio = statistics.median(o[of] / a[of] for o, a in zip(ours, against, strict=True))
        return Row(what, figures[0] * 1e6, "us", figures[1] * 1e6, ratio)

    def best(rows: Sequence[tuple[float, float]], of: int) -> float:
        return min(row[of] for row in rows) / (calls if of else 1)

    trip = row(f"{op} of {DATA} B: a round trip", 0, (best(ours, 0), best(bare, 0)), bare)
    target, met = f"<= {ROUND:g} x a bare Unix socket's", (trip.ratio or 0) <= ROUND
    return [
        replace(trip, target=target, met=met),
        row("  against an epoll server of that access", 0, (best(ours, 0), best(least, 0)), least),
        row("  processor time of both sides", 1, (best(ours, 1), best(bare, 1)), bare),
        row("  the same against that server's", 1, (best(ours, 1), best(least, 1)), least),
    ]


def system_calls(one: Server, op: str) -> list[Row]:
    """Of the client and of the server for each request, counted by strace."""
    calls = 2000
    words: list[str | Path] = [FORWARD, "round", one.address, op, str(DATA), str(calls)]
    with scratch() as place:
        ours, theirs = place / "client", place / "server"
        watch = ["strace", "-f", "-c", "-o", theirs, "-p", str(one.pid)]
        watcher = subprocess.Popen([str(word) for word in watch], stderr=subprocess.PIPE, text=True)
        if not watcher.stderr or "attached" not in watcher.stderr.readline():
            raise BenchError("strace cannot attach to the server")
        run(["strace", "-f", "-c", "-o", ours, *words])
        watcher.send_signal(signal.SIGINT)
        watcher.wait()
        counts = [total(path.read_text()) / calls for path in (ours, theirs)]
    return [
        Row(f"  system calls of the {who}", count, "a request")
        for who, count in zip(("client", "server"), counts, strict=True)
    ]


def total(summary: str) -> int:
    """Calls in a summary of strace -c."""
    total_line = re.search(r"^100\.00\s+\S+\s+(?:\d+\s+)?(\d+)\s.*total$", summary, re.MULTILINE)
    if not total_line:
        raise BenchError(f"strace -c says otherwise than expected:\n{summary}")
    return int(total_line[1])


def streams(quick: bool) -> list[Row]:
    """1 MiB at a time, one way, against the same between two processes."""
    rounds, count = (2, 200) if quick else (5, 1000)
    size = (str(MIB), str(count))
    result = []
    with scratch("/dev/shm") as place:
        bare = place / "bare"
        run([FORWARD, "raw-copy", *size, bare])
        kinds: dict[str, tuple[str, str, Words]] = {
            "write, dropped": ("null", "write", ("raw-copy", *size, "-")),
            "write, into memory": ("posix", "write", ("raw-copy", *size, bare)),
            "read, from memory": ("posix", "read", ("raw-fetch", *size, bare)),
        }
        for what, (store, op, baseline) in kinds.items():
            with server(place, "--store", store) as one:
                words: list[str | Path] = ["stream", one.address, op, *size]
                run([FORWARD, *words[:2], "write", *size, "2"])
                theirs, ours = pairs(rounds, baseline, (*words, "1"))
            ratio = statistics.median(o / t for o, t in zip(ours, theirs, strict=True))
            result.append(
                Row(
                    f"stream of 1 MiB pieces: {what}",
                    max(ours) / 1e6,
                    "MB/s",
                    max(theirs) / 1e6,
                    ratio,
                    f">= {STREAM:g} x a bare copy of the same",
                    ratio >= STREAM,
                )
            )
    return result


def together(file: Path, count: int, env: dict[str, str], does: str = "strided") -> float:
    """Seconds of the slowest of four processes that write, or read, a file, strided."""
    start = str(int(time.time()) + 2)
    running = [
        subprocess.Popen(
            [FORWARD, does, file, str(rank), str(RANKS), str(BLOCK), str(count), start],
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    printed = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise BenchError("a process that writes failed")
    return max(map(float, printed))


def slow_store(place: Path) -> dict[str, str]:
    """Environment in which files below a place are on the slow store."""
    return {
        "LD_PRELOAD": str(SLOW_STORE),
        "SLOW_STORE_LATENCY_US": str(1e6 / OPERATIONS),
        "SLOW_STORE_RATE_MB": str(MEGABYTES),
        "SLOW_STORE_UNDER": str(place),
        "SLOW_STORE_QUEUE": str(place / "queue"),
    }


def forwarded(one: Server, level: str = "written") -> dict[str, str]:
    """Environment in which files below /fwd are those of a server."""
    return {
        "LD_PRELOAD": str(PRELOAD),
        "FATHOM_FORWARD_PREFIX": "/fwd",
        "FATHOM_FORWARD_SERVERS": one.address,
        "FATHOM_FORWARD_DURABILITY": level,
    }


def strided_row(what: str, took: float, direct: float, gated: bool) -> Row:
    """Seconds through a server beside those directly."""
    won = direct / took
    target = f">= {COALESCED:g} x faster" if gated else ""
    return Row(what, took, "s", direct, won, target, won >= COALESCED if gated else None)


def strided_reads(quick: bool) -> list[Row]:
    """Four processes read 4 KiB blocks in turn, from a slow store: directly, and through a server."""
    count = 200 if quick else 1000
    with scratch("/dev/shm") as place:
        (place / "export").mkdir()
        together(place / "export" / "data", count, {})
        direct = together(place / "export" / "data", count, slow_store(place), "strided-read")
        result = []
        for cache_bytes in (0, 64 * MIB):
            with server(place, *SLOW, "--cache", str(cache_bytes)) as one:
                took = together(Path("/fwd/data"), count, forwarded(one), "strided-read")
            what = f"strided 4 KiB reads of 4 processes, slow store, blocks {'' if cache_bytes else 'not '}kept"
            result.append(strided_row(what, took, direct, cache_bytes > 0))
    return result


def strided(quick: bool) -> list[Row]:
    """Four processes write 4 KiB blocks in turn, to a slow store: directly, and through a server."""
    count = 200 if quick else 1000
    with scratch("/dev/shm") as place:
        direct = together(place / "direct", count, slow_store(place))
        result = []
        for level in ("written", "accepted"):
            with server(place, *SLOW) as one:
                env = forwarded(one, level)
                took, spent = spent_by(partial(together, Path("/fwd/data"), count, env))
                spent += one.processor_seconds()
            written = place / "export" / "data"
            if written.read_bytes() != (place / "direct").read_bytes():
                raise BenchError("the forwarded file differs from the direct one")
            written.unlink()
            what = f"strided 4 KiB writes of 4 processes, slow store, level {level}"
            result.append(strided_row(what, took, direct, level == "accepted"))
            result.append(
                Row("  processor time of all, of a write", spent * 1e6 / (RANKS * count), "us")
            )
    return result


def rows(quick: bool) -> list[Row]:
    """Requests, streams, coalescing, whole programs."""
    parts = (small, streams, strided, strided_reads, collective.rows)
    return [row for part in parts for row in part(quick)]
