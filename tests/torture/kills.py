"""Processes of Fathom and the user's, killed at random: what was recorded is kept, what comes next is right."""

from __future__ import annotations

import functools
import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

from harness import faults, killed, readers
from harness.paths import ROOT

from torture.part import Part, shared

sys.path.append(str(ROOT / "python" / "tests"))

from serve.served import Server, served

CHILDREN = 10
#: Of one reader, each begun where the last was killed.
KILLS = 4
ASKED = ("overview", "lanes", "files", "coverage")


def programs(place: Path, seed: int) -> int:
    """Children that write and are killed: each finished call is a row, and no other."""
    killed.kill_children(place, CHILDREN, seed)
    return CHILDREN


@functools.cache
def prepared(name: str) -> tuple[faults.Case, faults.Result, float]:
    """A command, what it leaves, and how long it takes."""
    place = shared() / "place"
    case = readers.case(name, place)
    right = faults.right_one(case)
    case.restore()
    begun = time.monotonic()
    case.run()
    return case, right, time.monotonic() - begun


def engine(_: Path, seed: int) -> int:
    """pack, recover and join, killed and begun again."""
    chance = random.Random(seed)
    name = chance.choice([name for name in readers.COMMANDS if name not in ("stat", "dump")])
    case, right, usual = prepared(name)
    case.restore()
    for _ in range(KILLS):
        process = subprocess.Popen(
            case.words, cwd=case.place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0, 1.2 * usual))
        process.kill()
        process.wait()
    again = case.run()
    assert again.status == 0, f"{name}: {again.errors}"
    differing = faults.differing(again, right)
    assert again.files == right.files, f"{name}, killed {KILLS} times: other {differing}"
    return KILLS


@functools.cache
def shown() -> Path:
    """A run that somebody looked at."""
    place = shared() / "place"
    readers.shown_run(place)
    return place / "w.fathom"


def answers(run: Path) -> list[str]:
    """What the page asks first, but for where the run lies."""
    with served(run) as server:
        server.enter()
        asked = [server.ask(f"{name}?run={run.stem}") for name in ASKED]
        statuses = {name: status for name, (status, _) in zip(ASKED, asked, strict=True)}
        assert set(statuses.values()) == {200}, statuses
        text = [json.dumps(answer) for _, answer in asked]
    for place in (run.parent, shown().parent):  # its program ran there
        text = [answer.replace(str(place), "") for answer in text]
    return text


def view(place: Path, seed: int) -> int:
    """The web server, killed while it is asked: the next one answers the same."""
    expected, chance = answers(shown()), random.Random(seed)
    run = place / "w.fathom"
    shutil.copytree(shown(), run)
    with served(run) as server:
        server.enter()
        for name in chance.sample(ASKED, chance.randrange(len(ASKED))):
            server.ask(f"{name}?run=w")
        asked = threading.Thread(target=ask_in_vain, args=(server, chance.choice(ASKED)))
        asked.start()
        time.sleep(chance.uniform(0, 0.3))
        server.process.send_signal(signal.SIGKILL)
        asked.join(30)
    assert answers(run) == expected, "another answer after the kill"
    return 1


def ask_in_vain(server: Server, name: str) -> None:
    """Its server is killed meanwhile."""
    with suppress(OSError, HTTPException):
        server.ask(f"{name}?run=w")


PARTS = (
    Part(
        "kill-program",
        "each call that a killed program had finished is a row (its own count)",
        "kills",
        programs,
    ),
    Part(
        "kill-engine",
        "pack, recover and join, killed and begun again, leave what they would have",
        "kills",
        engine,
    ),
    Part(
        "kill-view",
        "the page answers the same after a kill of its server, and nothing is left behind",
        "kills",
        view,
    ),
)
