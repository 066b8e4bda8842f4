"""IOFSL's section 3.3 (Jones et al.), typed: unmodified programs that know nothing of each other append to one file, by
one server and by two (Figs. 6 and 7), and do not wait for the store. Judged by what each program must have written.

Small accesses put together (Figs. 3 and 4) are in tests/forward/test_server.py, where a server finds them all at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import paths

CLIENTS = 12
PRELOAD = paths.BUILD / "libfathom_fwd_preload.so"


@contextlib.contextmanager
def servers(folder: Path, options: str) -> Iterator[dict[str, str]]:
    """`eval "$(fathom forward up …)"`: the environment of their clients; at the end `fathom forward down`."""
    lines = shlex.split(forward(folder, f"up --export {folder}/store {options}"))
    words = (word.partition("=") for word in lines if "=" in word)
    settings = {name: value for name, _, value in words} | {"LD_PRELOAD": str(PRELOAD)}
    try:
        yield os.environ | settings
    finally:
        forward(folder, "down")


def forward(folder: Path, words: str) -> str:
    done = subprocess.run(
        [paths.FATHOM, "forward", *shlex.split(words)], cwd=folder, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path


@pytest.mark.parametrize("count", [1, 2])
def test_section_3_3_atomic_append(place: Path, count: int) -> None:
    """Streams of records into one file: each record is whole, each client's are in order, nothing else is there."""
    records = {
        n: [f"{n:02}:{k:03}:".ljust(99, "x") + "\n" for k in range(20)] for n in range(CLIENTS)
    }
    with servers(place, f"--servers {count}") as settings:
        clients = []
        for n, lines in records.items():
            (place / f"in{n}").write_text("".join(lines))
            copy = [
                "dd",
                f"if={place}/in{n}",
                f"of={place}/store/trace",
                "bs=100",
                "oflag=append",
                "conv=notrunc",
            ]
            behind = settings | {"FATHOM_FORWARD_DURABILITY": "accepted"}
            clients.append(subprocess.Popen([*copy, "status=none"], env=behind))
        assert [client.wait(120) for client in clients] == [0] * CLIENTS
        moved = [one["written_bytes"] for one in json.loads(forward(place, "status --json"))]
    written = (place / "store" / "trace").read_text().splitlines(keepends=True)
    assert len(written) == 20 * CLIENTS
    assert sum(moved) == 100 * len(written)
    for n, lines in records.items():
        assert [line for line in written if line.startswith(f"{n:02}:")] == lines
