"""The forwarding servers: killed while programs write, and random operations beside a local file."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from forward.records import check_order, tiles
from forward.test_fuse import Mounted
from forward.test_preload import PRELOAD
from harness.paths import PYTHON

from forward import groups, test_names_once, test_random
from forward.client import Server
from torture.part import Part

STEPS = 300
RECORDS = 120
APPEND = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from forward.records import record
place, source, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
out = os.open(f"{place}/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
for step in range(count):
    data = record(source, step, 20 + step * 97 % 5000)
    assert os.write(out, data) == len(data)
    name = f"{place}/{source}.{step}"
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    os.rename(name, name + ".done")
    if step % 3 == 0:
        os.unlink(name + ".done")
    time.sleep(0.002)
os.fsync(out)
"""


def killed_group(place: Path, seed: int) -> int:
    """Sources append through two to four servers, of which any is killed and started again."""
    chance = random.Random(seed)
    kills, count = chance.randrange(2, 6), chance.randrange(2, 5)
    with groups.group(place, count) as g:
        sources = [groups.Source(number, g) for number in range(chance.randrange(2, 7))]
        threads = groups.run(sources, range(RECORDS // 2))
        for _ in range(kills):
            time.sleep(chance.uniform(0, 0.4))
            g.restart(chance.randrange(count))
        groups.finish(threads, 180)
        groups.check(g, sources, RECORDS // 2)
    return kills


def cut_group(place: Path, seed: int) -> int:
    """The same, and the file is truncated through any of them meanwhile."""
    chance = random.Random(seed)
    kills, count = chance.randrange(2, 6), chance.randrange(2, 4)
    with groups.group(place, count) as g:
        sources = [groups.Source(number, g) for number in range(chance.randrange(2, 6))]
        threads = groups.run(sources, range(RECORDS // 2))
        for _ in range(kills):
            for _ in range(chance.randrange(1, 4)):
                time.sleep(chance.uniform(0, 0.15))
                groups.cut(g, chance.randrange(count))
            g.restart(chance.randrange(count))
        groups.finish(threads, 180)
        groups.check_cut(g)
    return kills


def killed_names(place: Path, seed: int) -> int:
    """Names of programs, on striped servers or by way of one that relays."""
    chance = random.Random(seed)
    kills = chance.randrange(2, 8)
    with chance.choice([test_names_once.striped, test_names_once.relayed])(place) as servers:
        test_names_once.names_beside_kills(servers, kills, seed)
    return kills


def await_log(export: Path, started: list[subprocess.Popen[str]]) -> None:
    """All have reached the server: one that is not there when a program begins is not waited for."""
    for source in range(len(started)):
        while not list(export.glob(f"{source}.*")):
            assert started[source].poll() is None, started[source].communicate()
            time.sleep(0.01)


def killed_preload(place: Path, seed: int) -> int:
    """Programs with the preload library."""
    server = Server(place / "export", "--unix", str(place / "sock"))
    environment = {
        **os.environ, "LD_PRELOAD": str(PRELOAD), "FATHOM_FORWARD_PREFIX": "/fwd",
        "FATHOM_FORWARD_SERVERS": server.addresses[0], "FATHOM_FORWARD_TIMEOUT": "60",
    }  # fmt: skip
    return killed(server, seed, "/fwd", environment)


def killed_mount(place: Path, seed: int) -> int:
    """Programs on a mount."""
    server = Server(place / "export", "--unix", str(place / "sock"))
    # it waits so long for a server that is gone in the end, and is waited for half a minute
    mounted = Mounted(place / "mounted", server.addresses[0], "--timeout", "20")
    try:
        return killed(server, seed, str(mounted.at), dict(os.environ))
    finally:
        assert mounted.end() == 0


def killed(server: Server, seed: int, at: str, environment: dict[str, str]) -> int:
    """Unmodified programs append, make, rename and remove files; their server is killed, or asked to end."""
    chance = random.Random(seed)
    kills, programs = chance.randrange(2, 6), 2
    export, listens = server.export, ("--unix", server.addresses[0].removeprefix("unix:"))
    words = [PYTHON, "-c", APPEND, str(Path(groups.__file__).parents[1]), at]
    started = [
        subprocess.Popen([*words, str(source), str(RECORDS)], env=environment, stderr=subprocess.PIPE, text=True)
        for source in range(programs)
    ]  # fmt: skip
    try:
        await_log(export, started)
        for _ in range(kills):
            time.sleep(chance.uniform(0, 0.5))
            server.stop(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            server = Server(export, *listens)
        ended = [process.communicate(timeout=180) for process in started]
        assert [process.returncode for process in started] == [0] * programs, ended
        client = server.client()
        gaps = [gap[:2] for gap in client.ask("gaps", client.open("log"), 0)[0]]
        offsets = tiles((export / "log").read_bytes(), gaps)
        assert len(offsets) == programs * RECORDS, f"{len(offsets)} of {programs * RECORDS} records"
        check_order(offsets)
        kept = {f"{s}.{n}.done" for s in range(programs) for n in range(RECORDS) if n % 3}
        there = {
            path.name for path in export.iterdir() if path.name.endswith((".done", *"0123456789"))
        }
        assert there == kept, f"names: {sorted(there ^ kept)[:5]}"
    finally:
        [process.kill() for process in started]
        server.stop(signal.SIGKILL)
    return kills


def operations(place: Path, seed: int) -> int:
    """Random reads, writes, truncations through the C client, preload or a mount, as on a local file."""
    chance = random.Random(seed)
    skin = chance.choice([test_random.api, test_random.preload, test_random.fuse])
    way = chance.choice(list(test_random.WAYS.values()))
    with ExitStack() as at:
        reached = test_random.Place(place, way, at)
        skin(reached, STEPS, seed % 1_000_000 + 1)
        there = (reached.server.export / "fsx").read_bytes()
        assert there == reached.local.read_bytes(), f"{skin.__name__}: another file"
    return STEPS


PARTS = (
    Part(
        "forward-group",
        "appends through servers that are killed: each once, whole, in order (its own records)",
        "kills",
        killed_group,
    ),
    Part(
        "forward-cuts",
        "the same while the file is truncated: records, once, in order, and declared gaps",
        "kills",
        cut_group,
    ),
    Part(
        "forward-names",
        "names on striped servers, or one that relays: no false error (programs through preload)",
        "kills",
        killed_names,
    ),
    Part(
        "forward-kill",
        "programs through preload see no error; each record, name and removal is done once",
        "kills",
        killed_preload,
    ),
    Part(
        "forward-mount",
        "programs on a mount see no error; each record, name and removal is done once",
        "kills",
        killed_mount,
        ("fuse", "namespaces"),
    ),
    Part(
        "forward-random",
        "random operations through each way equal those on a local file",
        "operations",
        operations,
    ),
)
