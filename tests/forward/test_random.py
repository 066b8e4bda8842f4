"""Random operations through each skin do at every step what they do on a local file: over a sound Unix socket, to a
server before another one, and over all that is hard at once. About 40 s. The long tests take FORWARD_MANY_STEPS
(1,000,000) steps each, 10 to 20 minutes of two cores; with pytest -s they say how far they are."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import needs

from .client import Server as Front
from .damage import damaged
from .test_c_client import DRIVE, server, serves
from .test_fuse import MOUNTER, Mounted
from .test_preload import PRELOAD, PROGRAMS
from .wire import ROOT

STEPS = 600
MANY_STEPS = int(os.environ.get("FORWARD_MANY_STEPS", "1000000"))
REORDER = "reorder=100"  # of the client's own damaging transport

pytestmark = pytest.mark.skipif(not serves(), reason="no fathom-engine forward: make build")


@dataclass(frozen=True)
class Way:
    """Of the data to the server."""

    level: str
    tcp: bool = False
    options: Sequence[str] = ()  # of the server
    permille: Mapping[str, int] = field(default_factory=dict)  # of frames that are damaged
    behind: bool = False  # another server


WAYS = {
    "sound": Way("written"),
    "behind": Way("accepted", behind=True),
    "hard": Way(
        "accepted", True, ["--pool", "100000"],
        {"drop": 3, "truncate": 3, "duplicate": 3, "delay": 3},
    ),
}  # fmt: skip


class Place:
    """A server, reached in one of these ways, and a local file beside."""

    def __init__(self, tmp: Path, way: Way, at: ExitStack) -> None:
        self.tmp, self.way, self.at = tmp, way, at
        self.local = tmp / "local"
        self.token = tmp / "token"
        self.token.touch(0o600)
        self.token.write_text("0123456789abcdef" * 4)
        listen = ["--tcp", "127.0.0.1:0", "--token", str(self.token)]
        listen = listen if way.tcp else ["--unix", str(tmp / "s/sock")]
        self.server = at.enter_context(server(tmp, *listen, *way.options))
        self.front = self.server.address
        if way.behind:
            self.front = f"unix:{tmp}/front"
            store = Path(self.server.address)
            at.callback(Front(store, "--unix", f"{tmp}/front", log=tmp / "front.log").stop)

    def address(self) -> str:
        """Of the server, or of what damages its connections."""
        if not self.way.permille:
            return self.front
        place = self.tmp / "s/damaged"
        return self.at.enter_context(damaged(self.front, place, self.way.permille))[0]


def api(place: Place, steps: int, seed: int = 5) -> None:
    """The C client, each write at a random level; its own transport does the damage, and other orders."""
    address = place.front
    if place.way.permille:
        kinds = [f"{kind}={permille}" for kind, permille in place.way.permille.items()]
        address = f"fault:{','.join(['7', *kinds, REORDER])}:{address}"
    environment = {"TIMEOUT": "60000"} | ({"TOKEN": str(place.token)} if place.way.tcp else {})
    run([DRIVE, "fsx", address, place.local, str(steps), str(seed)], steps, environment)


def preload(place: Place, steps: int, seed: int = 3) -> None:
    """A program that knows nothing of it."""
    prefix = place.tmp / "fwd"
    environment = {
        "LD_PRELOAD": str(PRELOAD),
        "FATHOM_FORWARD_PREFIX": str(prefix),
        "FATHOM_FORWARD_SERVERS": place.address(),
        "FATHOM_FORWARD_TOKEN": str(place.token),
        "FATHOM_FORWARD_DURABILITY": place.way.level,
        "FATHOM_FORWARD_TIMEOUT": "60",
    }
    twins = [PROGRAMS / "preload_twins", prefix / "fsx", place.local, str(steps), str(seed)]
    run(twins, steps, environment)


def fuse(place: Place, steps: int, seed: int = 6) -> None:
    """The same program without libc.so, on a mount."""
    if not MOUNTER.exists():
        pytest.skip("built without libfuse 3: make build")
    needs.require(["fuse", "namespaces"])
    options = ["--timeout", "60", "--durability", place.way.level]
    options += ["--token", str(place.token)] if place.way.tcp else []
    mounted = Mounted(place.tmp / "mounted", place.address(), *options)
    try:
        twins = [PROGRAMS / "static_twins", mounted.at / "fsx", place.local, str(steps), str(seed)]
        run(twins, steps, {})
    finally:
        assert mounted.end() == 0


def run(command: Sequence[str | Path], steps: int, environment: Mapping[str, str]) -> None:
    """Ends well; what it says is pytest's to show."""
    subprocess.run(
        command, check=True, timeout=300 + steps / 50, cwd=ROOT, env=os.environ | environment
    )


@pytest.mark.parametrize("steps", [STEPS, pytest.param(MANY_STEPS, marks=pytest.mark.full)])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("skin", [api, preload, fuse])
def test_random_operations_equal_a_local_file(tmp_path: Path, skin, way: str, steps: int) -> None:
    with ExitStack() as at:
        place = Place(tmp_path, WAYS[way], at)
        skin(place, steps)
        assert (place.server.export / "fsx").read_bytes() == place.local.read_bytes()
