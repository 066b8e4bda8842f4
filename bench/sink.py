"""The trace sink: N streams as N files and in M + 1, and what its servers would do for 200,000 clients.

python bench/sink.py PICTURE    # draws the model from costs measured here
"""

from __future__ import annotations

import shlex
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from forwarding import FORWARD, MIB, server
from tools import FATHOM, ROOT, BenchError, Row, fathom_run, run, scratch

CHILDREN = ROOT / "build" / "tests" / "programs" / "many_children"
SERVERS = 2

# The largest run of the IOFSL paper: cores of Jaguar, forwarding nodes, GiB of traces.
CLIENTS, FORWARDERS, VOLUME = 200_448, 672, 415 << 30
#: Files a second that its file system was to be asked for at most, and cores of one of its nodes.
CREATES, CORES = 4000, 12
#: Servers that a node's agent uses, docs/trace-sink.md.
USED = 4


# ---- measured ----


@contextmanager
def servers(place: Path) -> Iterator[dict[str, str]]:
    """Two that export a directory; the environment of their clients."""
    at: list[str | Path] = ["--at", place / "servers"]
    exports = run([FATHOM, "forward", "up", *at, "--export", place, "--servers", str(SERVERS)])
    try:
        words = [word for word in shlex.split(exports) if "=" in word]
        yield dict(word.split("=", 1) for word in words)
    finally:
        run([FATHOM, "forward", "down", *at])


def traced(directory: Path, streams: int, *options: str, **env: str) -> tuple[float, int]:
    """Seconds of a run of so many processes one after the other, and the files that their streams are in."""
    began = time.monotonic()
    program: list[str | Path] = [CHILDREN, directory.parent / "data", str(streams)]
    run([*fathom_run(directory, *options), *program], env)
    took = time.monotonic() - began
    files = [*directory.glob("streams/*/*.fts"), *directory.glob("sink/*")]
    if len(files) < min(streams, SERVERS + 1):
        raise BenchError(f"{directory}: {len(files)} files of {streams} streams")
    return took, len(files)


def streams(quick: bool) -> list[Row]:
    """Two thousand processes, or twenty thousand: their streams as files, and through two servers."""
    count = 2000 if quick else 20000
    with scratch("/dev/shm") as place, servers(place) as env:
        direct, each = traced(place / "direct.fathom", count)
        shipped, shared = traced(place / "sink.fathom", count, "--trace-sink", "forward", **env)
    return [
        Row(f"{count:,} streams: the run", shipped, "s", direct, shipped / direct),
        Row(
            "  files made for them", shared, "", each, shared / each,
            f"<= {SERVERS + 1}", shared <= SERVERS + 1,
        ),
    ]  # fmt: skip


# ---- modelled ----


@dataclass(frozen=True)
class Costs:
    """Processor seconds of a server."""

    connection: float
    block: float  # of a MiB, appended

    @classmethod
    def measured(cls, quick: bool) -> Costs:
        rounds, count = (3, 100) if quick else (5, 400)
        with scratch("/dev/shm") as place, server(place) as one:

            def spent(*words: str) -> float:
                before = one.processor_seconds()
                run([FORWARD, words[0], one.address, *words[1:]])
                return one.processor_seconds() - before

            connection, block = [], []
            for _ in range(rounds):
                connection.append(spent("connect", str(count)) / count)
                block.append(spent("stream", "append", str(MIB), str(count), "2") / count)
                (place / "export" / "data").unlink()
        return cls(statistics.median(connection), statistics.median(block))


def files_each(clients: float) -> float:
    """Seconds to create a file for each client."""
    return clients / CREATES


def forwarded(clients: float, forwarders: float, costs: Costs) -> float:
    """Seconds until the busiest server has all: its files are made, its nodes connected, its blocks appended."""
    nodes = max(1.0, clients / CORES)
    connections = nodes * min(USED, forwarders) / forwarders
    blocks = clients * (VOLUME / CLIENTS) / MIB / forwarders
    return (forwarders + 1) / CREATES + connections * costs.connection + blocks * costs.block


def model(quick: bool) -> list[Row]:
    """The largest run of the paper with these costs, without the store's bandwidth, which both need."""
    costs = Costs.measured(quick)
    ours, theirs = forwarded(CLIENTS, FORWARDERS, costs), files_each(CLIENTS)
    return [
        Row("a connection, processor time of the server", costs.connection * 1e6, "us"),
        Row("a block of 1 MiB appended, processor time of the server", costs.block * 1e6, "us"),
        Row(
            f"modelled: {CLIENTS:,} clients, {FORWARDERS} servers; files made, blocks taken",
            ours, "s", theirs, theirs / ours,
        ),
    ]  # fmt: skip


def draw(costs: Costs, picture: Path) -> None:
    """The model from a thousand clients to a million."""
    from matplotlib.figure import Figure

    clients = [10 ** (3 + step / 20) for step in range(61)]
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.loglog(
        clients,
        [files_each(n) for n in clients],
        label="a file per client: creates alone",
    )
    for forwarders in (16, 128, FORWARDERS):
        seconds = [forwarded(n, forwarders, costs) for n in clients]
        axes.loglog(
            clients,
            seconds,
            label=f"{forwarders} servers: creates, connections, blocks",
        )
    axes.axvline(CLIENTS, color="grey", linewidth=0.8, linestyle=":")
    axes.text(
        CLIENTS * 1.05,
        axes.get_ylim()[0] * 1.3,
        f"{CLIENTS:,}",
        color="grey",
        fontsize=8,
    )
    axes.set(xlabel="clients", ylabel="seconds, without the store's bandwidth")
    axes.set_title(
        f"Modelled: a connection takes {costs.connection * 1e6:.0f} µs, a block of 1 MiB"
        f" {costs.block * 1e6:.0f} µs; {CREATES:,} creates a second",
        fontsize=9,
    )
    axes.legend(fontsize=8)
    axes.grid(True, which="major", linewidth=0.3)
    figure.savefig(picture, dpi=120)


def rows(quick: bool) -> list[Row]:
    """Files, and the model."""
    return [*streams(quick), *model(quick)]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python bench/sink.py PICTURE")
    draw(Costs.measured(quick=False), Path(sys.argv[1]))
