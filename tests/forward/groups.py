"""Servers of one directory, and sources that append records to a file through them."""

from __future__ import annotations

import itertools
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .client import READ, Client, Refused, Server
from .records import check_order, record, tiles
from .wire import NUMBERS, request

FLAG = NUMBERS["flag"]
RETRY, PULL, NONBLOCKING = FLAG["retry"], FLAG["pull"], FLAG["nonblocking"]
DRAINING = NUMBERS["status"]["draining"]


SHARED = {NUMBERS["hint"]["append_shared"]: b""}
TO_NOTHING = [8, 0, 0, 0, 0, 0, 0, 0, 0]  # of setattr


class Group:
    """Servers of tmp/store that know each other."""

    under: Sequence[str] = ()  # what those are run under that are started from now on

    def __init__(self, tmp: Path, count: int, *options: str) -> None:
        self.tmp = tmp
        self.names = [f"s{number}" for number in range(count)]
        listed = tmp / f"group{count}"
        listed.write_text("# servers\n" + "".join(f"unix:{tmp}/{name}\n" for name in self.names))
        lease = [] if "--lease" in options else ["--lease", "1"]
        self.options = ["--group", str(listed), *lease, *options]
        self.servers = [self.start(number) for number in range(count)]

    def start(self, number: int) -> Server:
        """One of them."""
        name = self.names[number]
        options = ["--unix", str(self.tmp / name), "--name", name, *self.options]
        log = self.tmp / f"{name}.log"
        return Server(self.exports(name), *options, log=log, under=self.under)

    def exports(self, _: str) -> Path:
        """What a server of that name exports."""
        return self.tmp / "store"

    def restart(self, number: int, how: signal.Signals = signal.SIGKILL) -> None:
        """Ended, and started again on its socket."""
        self.servers[number].stop(how)
        self.servers[number] = self.start(number)

    def owner(self) -> int:
        """Number of the server that owns the end of the only file that is appended to."""
        owns = [bool(server.client().status()["ends"]) for server in self.servers]
        assert sum(owns) == 1
        return owns.index(True)

    def stop(self) -> None:
        """All of them."""
        for server in self.servers:
            if server.process.poll() is None:
                server.stop(signal.SIGKILL)


@contextmanager
def group(tmp: Path, count: int, *options: str) -> Iterator[Group]:
    started = Group(tmp, count, *options)
    try:
        yield started
        for server in started.servers:
            assert server.process.poll() is None, server.log.read_text()
    finally:
        started.stop()


def await_another(error: OSError | Refused) -> None:
    """A lost connection, and the word of a server that ends, are no answer; anything else is raised."""
    if isinstance(error, Refused) and error.status != DRAINING:
        raise error


class Source:
    """Appends records through one server, whatever happens to it, and asks again where it had no answer."""

    def __init__(self, number: int, group: Group) -> None:
        self.number, self.group = number, group
        self.address = f"unix:{group.tmp}/{group.names[number % len(group.names)]}"
        self.client: Client | None = None
        self.offsets: dict[tuple[int, int], int] = {}
        self.failed: list[object] = []  # what commits said

    def _again(self, end: float) -> tuple[Client, bytes]:
        while True:
            try:
                self.client = Client(self.address, like=self.client)
                return self.client, self.client.open("log")
            except (OSError, Refused) as error:
                await_another(error)
                assert time.time() < end, "no server for a minute"
                time.sleep(0.02)

    def append(self, steps: range) -> None:
        """Records of these numbers, of random lengths."""
        chance, end = random.Random(self.number), time.time() + 60
        client, handle = self._again(end)
        for step in steps:
            data = record(self.number, step, chance.choice([20, 500, 9000, 60_000]))
            flags, seq = chance.choice([0, NONBLOCKING]), next(client.seqs)
            flags |= PULL if len(data) > client.inline else 0
            while True:
                body = request("append", [handle, len(data)]) + (b"" if flags & PULL else data)
                try:
                    client.send("append", body, seq=seq, flags=flags)
                    self.offsets[self.number, step] = client.reply(seq, data)[1][0]
                    self.failed += client.commit(handle, 2)
                    break
                except (OSError, Refused) as error:
                    await_another(error)
                    client, handle = self._again(end)
                    flags = flags & PULL | RETRY


def run(sources: list[Source], steps: range) -> list[threading.Thread]:
    threads = [threading.Thread(target=source.append, args=[steps]) for source in sources]
    [thread.start() for thread in threads]
    return threads


def finish(threads: list[threading.Thread], seconds: float = 120) -> None:
    """Waits for sources, which must end."""
    [thread.join(seconds) for thread in threads]
    assert not any(thread.is_alive() for thread in threads), "a source has not ended"


def cut(group: Group, number: int) -> None:
    """The log is truncated through one of the servers, whoever appends to it."""
    client = group.servers[number].client()
    client.ask("setattr", client.open("log"), *TO_NOTHING, hints=SHARED)


def check_cut(group: Group) -> None:
    """A log that was truncated consists of records, each once, in order, and of declared gaps."""
    client = group.servers[0].client()
    gaps = [gap[:2] for gap in client.ask("gaps", client.open("log", READ), 0)[0]]
    check_order(tiles((group.tmp / "store/log").read_bytes(), gaps))


def check(group: Group, sources: list[Source], steps: int) -> None:
    """All that was told is there, once, in order; what is between is declared, by every server alike."""
    failed = [failed for source in sources for failed in source.failed]
    assert not failed, f"called failed: {failed}"
    content = (group.tmp / "store/log").read_bytes()
    gaps_of_servers = []
    for server in group.servers:
        client = server.client()
        gaps_of_servers.append(
            [gap[:2] for gap in client.ask("gaps", client.open("log", READ), 0)[0]]
        )
    assert all(gaps == gaps_of_servers[0] for gaps in gaps_of_servers)
    in_file = tiles(content, gaps_of_servers[0])
    offsets = dict(itertools.chain.from_iterable(source.offsets.items() for source in sources))
    assert len(offsets) == len(sources) * steps
    assert in_file == offsets, f"(record, offset): {sorted(in_file.items() ^ offsets.items())[:6]}"
    check_order(in_file)
