"""A day of a centre: jobs made of the rows of some real runs, under other names and at other times, with an OST and a
user that are slow by plan. Writers of it, to be killed."""

from __future__ import annotations

import os
import pickle
import random
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
BAD_USER, LOST = "eve", 60.0  # seconds, of each of his jobs
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

Summary = dict[str, list[dict[str, Any]]]


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
    if user == BAD_USER:
        # However loaded the machine was that recorded it.
        copy["jobs"][0] |= {
            "seconds": 4 * LOST,
            "lost_seconds": LOST,
            "lost_node_seconds": LOST,
            "lost_by": "sync-churn",
        }
        copy["causes"] = [
            key
            | {
                "cause": "sync",
                "mount": "/scratch",
                "file_system": "lustre",
                "seconds": LOST,
                "all_seconds": LOST,
            }
        ]
    return copy


def make(good: Sequence[Summary], bad: Summary, jobs: int, days: int = 1) -> Day:
    """So many jobs, over days that end with TODAY; a fiftieth is the bad user's, all on the last one."""
    chance = random.Random(1)
    made = []
    for number in range(jobs):
        is_bad = number % 50 == 7
        user = BAD_USER if is_bad else chance.choice(USERS)
        day = TODAY - timedelta(days=0 if is_bad else number % days)
        made.append(_job(chance, number, bad if is_bad else chance.choice(list(good)), user, day))
    return Day(made)


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
