"""A day of a centre: jobs made of the rows of some real runs and public logs, under other names and at other times.

An OST and a user are slow by plan. Writers of it, to be killed."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from harness import paths

TODAY = datetime(2026, 11, 28)
OSTS, SLOW_OST, SLOWER = 16, 13, 4.0
BAD_USER, LOST = "eve", 60.0  # node seconds, of each of his jobs, and more where others lose much
#: Names that a user may give: none of them is a folder, a column, or an end of a line.
HOSTILE = (
    *(
        "../../../etc",
        "a=b",
        "date=2020-01-01",
        "line\nbreak",
        'it\'s "quoted"',
        "'; drop table jobs; --",
    ),
    *("\udcff\x1b[31m", "Ünï/日", "", "*.parquet"),
)
USERS = (*(f"user{n}" for n in range(20)), *HOSTILE)

#: Files written in small pieces, each made sure of; and one in large ones.
PROGRAM = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for one in range(int(sys.argv[2])):
    os.write(file, b"x" * int(sys.argv[3]))
    if sys.argv[4] == "sync":
        os.fsync(file)
"""
SLOW = {"SLOW_STORE_LATENCY_US": "3000", "SLOW_STORE_ONLY": "fsync"}
Summary = dict[str, list[dict[str, Any]]]


def record(place: Path) -> None:
    """Three real runs: `bad` syncs each small piece, `good` and `other` write large ones."""
    _record(place, "bad", 300, 512, "sync")
    _record(place, "good", 16, 1 << 20, "no")
    _record(place, "other", 8, 1 << 18, "no")


def _record(place: Path, name: str, *words: object) -> None:
    slow = f"{paths.BUILD / 'tests' / 'tools' / 'slow_store.so'}:{paths.LIBRARY}"
    subprocess.run(
        [paths.FATHOM, "run", "--no-show", "-o", place / name, "--", "env", f"LD_PRELOAD={slow}", sys.executable, "-S",
         "-c", PROGRAM, place / "data", *map(str, words)],
        env=os.environ | SLOW | {"SLOW_STORE_UNDER": str(place)}, capture_output=True, check=True, timeout=120,
    )  # fmt: skip


@dataclass
class Day:
    """The jobs, and what must be true of them."""

    summaries: list[Summary]

    @property
    def ids(self) -> set[str]:
        """One of each job."""
        return {one["jobs"][0]["id"] for one in self.summaries}

    def rows(self, table: str) -> int:
        """How many there are of a table."""
        return sum(len(one[table]) for one in self.summaries)


def _servers(chance: random.Random, began: datetime, ended: datetime) -> list[dict[str, Any]]:
    """What a job wrote to some OSTs: as long as others took for it, but for the slow one."""
    rows = []
    for ost in chance.sample(range(OSTS), chance.randint(1, 4)):
        size = 2.0 ** chance.uniform(20, 32)
        times = SLOWER if ost == SLOW_OST else 1.0
        rows.append(
            {"server": f"OST {ost}", "mount": "/scratch", "file_system": "lustre", "kind": "write", "begins": began,
             "ends": ended, "calls": size / 2**20, "bytes": size,
             "seconds": size * 1e-9 * times * chance.uniform(0.6, 1.6)}
        )  # fmt: skip
    return rows


def _job(chance: random.Random, number: int, base: Summary, user: str, day: datetime) -> Summary:
    job = base["jobs"][0]
    began = day + timedelta(seconds=chance.uniform(0, 86000))
    ended = began + timedelta(seconds=job["seconds"])
    key = {"id": f"{number:016x}", "version": "0" * 16}
    copy = {table: [row | key for row in rows] for table, rows in base.items()}
    copy["jobs"][0] |= {
        "user": user, "started": began, "ended": ended, "name": f"{job['name']}{chance.choice(HOSTILE)}.{number}",
        "job": str(number), "collected": TODAY,
    }  # fmt: skip
    copy["servers"] = [row | key for row in _servers(chance, began, ended)]
    return copy


def _worsened(job: Summary, lost: float) -> None:
    """However loaded the machine was that recorded it, so much is lost, by syncs."""
    row = job["jobs"][0]
    row |= {"seconds": 4 * lost, "nodes": 1, "lost_seconds": lost, "lost_node_seconds": lost}
    row |= {"lost_by": "sync-churn"}
    key = {name: row[name] for name in ("id", "version")}
    at = {"cause": "sync", "mount": "/scratch", "file_system": "lustre"}
    job["causes"] = [key | at | {"seconds": lost, "all_seconds": lost}]


def make(good: Sequence[Summary], bad: Summary, jobs: int, days: int = 1) -> Day:
    """So many jobs, over days that end with TODAY; a fiftieth is the bad user's, all on the last one."""
    chance = random.Random(1)
    lost = max(LOST, *(4 * one["jobs"][0]["lost_node_seconds"] for one in good))
    made = []
    for number in range(jobs):
        is_bad = number % 50 == 7
        user = BAD_USER if is_bad else chance.choice(USERS)
        day = TODAY - timedelta(days=0 if is_bad else number % days)
        made.append(_job(chance, number, bad if is_bad else chance.choice(list(good)), user, day))
        if is_bad:
            _worsened(made[-1], lost)
    return Day(made)


def spool(
    place: Path, runs: Sequence[Path], logs: Sequence[Path], jobs: int
) -> list[tuple[str, str]]:
    """So many run directories, copies of these under other identities, users and times, and these logs.

    The batch number and user of each run.
    """
    chance = random.Random(3)
    known = []
    for number in range(jobs):
        copy = place / f"{number % 4}" / f"job {number}.fathom"
        shutil.copytree(runs[number % len(runs)], copy)
        about = json.loads((copy / "run.json").read_text("utf-8"))
        known.append((str(number), chance.choice(USERS[:20])))
        about["id"] = f"{number:016x}"
        about["environment"] |= dict(
            zip(("SLURM_JOB_ID", "SLURM_JOB_USER"), known[-1], strict=True)
        )
        about["start_ns"] -= number * 60 * 10**9
        (copy / "run.json").write_text(json.dumps(about), "utf-8")
    for number, log in enumerate(logs):
        shutil.copy(log, place / f"{number % 4}" / log.name)
    return known


def collect(into: Path, place: Path, kills: int, most: float) -> None:
    """`fathom collect` by four at once, each of two parts of a spool; killed so often, then once to its end."""
    chance = random.Random(4)
    for time_ in range(kills + 1):
        parts = [[place / f"{n}", place / f"{(n + 1) % 4}"] for n in range(4)]
        words = [
            [str(one) for one in (paths.FATHOM, "collect", "--into", into, *part)] for part in parts
        ]
        running = [subprocess.Popen(one, stdout=subprocess.DEVNULL) for one in words]
        for process in running if time_ < kills else ():
            time.sleep(chance.uniform(0, most))
            process.kill()
        statuses = [process.wait() for process in running]
    assert statuses == [0] * len(running)


WRITER = """
import pickle, random, sys
from pathlib import Path
from fathom.run import lake
to, chance = lake.make(Path(sys.argv[1])), random.Random(sys.argv[3])
left = pickle.loads(Path(sys.argv[2]).read_bytes())
print("begins", flush=True)
while left:
    many = chance.choice((1, 1, 8, 64))
    some, left = left[:many], left[many:]
    to.add([one for one in some if not to.has(one["jobs"][0]["started"].date(), (one["jobs"][0]["id"], "0" * 16))])
"""


def writer(into: Path, part: Path, seed: int) -> subprocess.Popen[str]:
    """A process that adds the jobs of a file; it has begun."""
    process = subprocess.Popen(
        [paths.PYTHON, "-c", WRITER, str(into), str(part), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == "begins\n"
    return process


def write(into: Path, day: Day, place: Path, kills: int, most: float) -> None:
    """By four writers at once, each job by two of them. Each is killed so often, at most `most` seconds after it began,
    and starts again."""
    chance = random.Random(2)
    parts = []
    for number in range(4):
        mine = [one for n, one in enumerate(day.summaries) if n % 4 in (number, (number + 1) % 4)]
        chance.shuffle(mine)
        parts.append(place / f"part{number}")
        parts[-1].write_bytes(pickle.dumps(mine))
    for _ in range(kills):
        running = [writer(into, part, seed) for seed, part in enumerate(parts)]
        for process in running:
            time.sleep(chance.uniform(0, most))
            process.send_signal(signal.SIGKILL)
            process.wait()
    running = [writer(into, part, seed) for seed, part in enumerate(parts)]
    assert [process.wait() for process in running] == [0] * len(parts)


def die_at(step: int) -> None:
    """This process is killed before the so manieth time that it changes names in a directory."""
    left = [step]

    def hook(event: str, _: object) -> None:
        if event in ("os.rename", "os.remove", "os.mkdir"):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
