"""The forwarding servers: killed while programs write, and random operations beside a local file."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from forward.records import check_order, tiles
from forward.test_behind import behind
from forward.test_c_client import DRIVE
from forward.test_fuse import Mounted
from forward.test_preload import PRELOAD
from forward.test_striped import Stripes, stripes
from harness.paths import PYTHON

from forward import groups, test_names_once, test_random
from torture.part import Part

STEPS = 300
RECORDS = 120
C_RECORDS = 1500
#: Programs whose files are killed under them.
PROGRAMS = 2
#: As servers have it, s: a program of a busy machine may be away for longer than tests of theirs wait.
LEASE = 30
Servers = groups.Group | Stripes
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


def end_one(servers: Servers, chance: random.Random) -> None:
    """Any is killed, or asked to end: rarely where others ask it on, as it goes on for ten seconds then."""
    count = len(servers.servers)
    is_asked = chance.random() < (0.35 if count == 1 else 0.07)
    servers.restart(chance.randrange(count), signal.SIGTERM if is_asked else signal.SIGKILL)


def killed_group(place: Path, seed: int) -> int:
    """Sources append through two to four servers, of which any is ended and started again."""
    chance = random.Random(seed)
    return killed_sources(groups.group(place, chance.randrange(2, 5)), chance)


def killed_behind(place: Path, seed: int) -> int:
    """The same through servers of which the first is the others' store."""
    chance = random.Random(seed)
    return killed_sources(behind(place, chance.randrange(2, 4)), chance)


def killed_sources(started: AbstractContextManager[groups.Group], chance: random.Random) -> int:
    kills = chance.randrange(2, 6)
    with started as g:
        sources = [groups.Source(number, g) for number in range(chance.randrange(2, 7))]
        threads = groups.run(sources, range(RECORDS // 2))
        for _ in range(kills):
            time.sleep(chance.uniform(0, 0.4))
            end_one(g, chance)
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
            end_one(g, chance)
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


def await_log(names: Path, started: list[subprocess.Popen[str]]) -> None:
    """All have reached the server: one that is not there when a program begins is not waited for."""
    for source in range(len(started)):
        while not list(names.glob(f"{source}.*")):
            assert started[source].poll() is None, started[source].communicate()
            time.sleep(0.01)


def preloaded(servers: Servers) -> list[tuple[str, dict[str, str]]]:
    """For each program where it writes, and its environment: one after the other through the last servers."""
    environment = {
        **os.environ, "LD_PRELOAD": str(PRELOAD), "FATHOM_FORWARD_PREFIX": "/fwd", "FATHOM_FORWARD_TIMEOUT": "60",
    }  # fmt: skip
    asked = [servers.servers[-1 - source % len(servers.servers)] for source in range(PROGRAMS)]
    return [
        ("/fwd", environment | {"FATHOM_FORWARD_SERVERS": server.addresses[0]}) for server in asked
    ]


def killed_preload(place: Path, seed: int) -> int:
    """Programs with the preload library."""
    with behind(place, 1, lease=LEASE) as servers:
        return killed(servers, place / "store", seed, preloaded(servers))


def killed_relayed(place: Path, seed: int) -> int:
    """The same through a server whose store is another."""
    with behind(place, 2, lease=LEASE) as servers:
        return killed(servers, place / "store", seed, preloaded(servers))


def killed_striped(place: Path, seed: int) -> int:
    """The same through servers that stripe."""
    with stripes(place, 3, 4096, lease=LEASE) as servers:
        return killed(servers, servers.store(0), seed, preloaded(servers))


def killed_mount(place: Path, seed: int) -> int:
    """Programs on a mount."""
    with behind(place, 1, lease=LEASE) as servers:
        # it waits so long for a server that is gone in the end, and is waited for half a minute
        address = servers.servers[0].addresses[0]
        mounted = Mounted(place / "mounted", address, "--timeout", "20")
        try:
            at = [(str(mounted.at), dict(os.environ))] * PROGRAMS
            return killed(servers, place / "store", seed, at)
        finally:
            assert mounted.end() == 0


def killed(servers: Servers, names: Path, seed: int, at: list[tuple[str, dict[str, str]]]) -> int:
    """Unmodified programs append, make, rename and remove files; a server is killed, or asked to end."""
    chance = random.Random(seed)
    kills = chance.randrange(2, 6)
    words = [PYTHON, "-c", APPEND, str(Path(groups.__file__).parents[1])]
    started = [
        subprocess.Popen(
            [*words, place, str(source), str(RECORDS)], env=environment, stderr=subprocess.PIPE, text=True
        )
        for source, (place, environment) in enumerate(at)
    ]  # fmt: skip
    try:
        await_log(names, started)
        end_some(servers, kills, chance)
        ended = [process.communicate(timeout=180) for process in started]
    finally:
        [process.kill() for process in started]
    assert [process.returncode for process in started] == [0] * PROGRAMS, ended
    client = servers.servers[0].client()
    log = client.open("log")
    gaps = [gap[:2] for gap in client.ask("gaps", log, 0)[0]]
    offsets = tiles(client.read(log, (0, client.size(log)))[0], gaps)
    assert len(offsets) == PROGRAMS * RECORDS, f"{len(offsets)} of {PROGRAMS * RECORDS} records"
    check_order(offsets)
    kept = {f"{s}.{n}.done" for s in range(PROGRAMS) for n in range(RECORDS) if n % 3}
    there = {path.name for path in names.iterdir() if path.name.endswith((".done", *"0123456789"))}
    assert there == kept, f"names: {sorted(there ^ kept)[:5]}"
    return kills


def end_some(servers: Servers, kills: int, chance: random.Random) -> None:
    for _ in range(kills):
        time.sleep(chance.uniform(0, 0.5))
        end_one(servers, chance)


def killed_api(place: Path, seed: int) -> int:
    """Programs that append by the C interface, which says at which offsets."""
    chance = random.Random(seed)
    kills = chance.randrange(2, 6)
    with behind(place, 1, lease=LEASE) as servers:
        watch = servers.servers[0].client()
        words = [str(DRIVE), "records", servers.servers[0].addresses[0], "log", str(C_RECORDS)]
        started = [
            subprocess.Popen(words, env={**os.environ, "TIMEOUT": "60000"}, stdout=subprocess.PIPE, text=True)
            for _ in range(PROGRAMS)
        ]  # fmt: skip
        try:
            while watch.status()["clients"] <= PROGRAMS:
                time.sleep(0.01)
            end_some(servers, kills, chance)
            told = [process.communicate(timeout=180)[0] for process in started]
        finally:
            [process.kill() for process in started]
        assert [process.returncode for process in started] == [0] * PROGRAMS, told
        client = servers.servers[0].client()
        gaps = [gap[:2] for gap in client.ask("gaps", client.open("log"), 0)[0]]
        check_told((place / "store/log").read_bytes(), told, gaps)
    return kills


def check_told(log: bytes, told: list[str], gaps: list[tuple[int, int]]) -> None:
    """Each record lies where its program was told, in its order; nothing else is there but declared gaps."""
    ranges = list(gaps)
    for lines in told:
        records = [tuple(map(int, line.split())) for line in lines.splitlines()]
        assert len(records) == C_RECORDS and records == sorted(records), "out of order"
        for step, (offset, length) in enumerate(records):
            wanted = b"%08d %06d." % (length, step) + bytes([97 + step % 26]) * (length - 16)
            assert log[offset : offset + length] == wanted, f"another record at {offset}"
        ranges += records
    end = 0
    for offset, length in sorted(ranges):
        assert offset == end, f"at {end} is neither a record nor a gap, or two"
        end += length
    assert end == len(log)


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
        "forward-behind",
        "the same where the first server is the others' store",
        "kills",
        killed_behind,
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
        "forward-striped",
        "the same on servers that stripe",
        "kills",
        killed_striped,
    ),
    Part(
        "forward-relayed",
        "the same through a server whose store is another",
        "kills",
        killed_relayed,
    ),
    Part(
        "forward-api",
        "programs that append by the C interface: each record once, where they were told (their own lists)",
        "kills",
        killed_api,
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
