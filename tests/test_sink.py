"""Streams in shared files: what is read of N files and of M is the same; a torn index, a torn block, a block that is
nowhere are met and said. Blocks are made here from docs/trace-sink.md alone. And what a run ships is what it would have
written, whatever becomes of servers. Seconds."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.run.paths import engine
from forward.wire import crc32c
from harness import paths, runner

FORKS = paths.PROGRAMS / "programs" / "forks"
PIECE = 700  # bytes of a file in a block


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def text(value: bytes) -> bytes:
    return varint(len(value)) + value


def head(number: int, node: str, pieces: list[tuple[str, int, bytes]], last: bool) -> bytes:
    """Of a block that is stored as it is."""
    data = b"".join(piece for _, _, piece in pieces)
    directory = text(node.encode()) + varint(len(pieces))
    for name, at, piece in pieces:
        directory += text(name.encode()) + varint(at) + varint(len(piece))
    fixed = b"FATHOMSB" + struct.pack(
        "<HHIQQIIIII8x", 1, 0, len(directory), 99, number, int(last), 0, len(data), len(data),
        crc32c(data),
    )  # fmt: skip
    return fixed + struct.pack("<I", crc32c(fixed + directory)) + directory


def record(entries: list[tuple[str, int, bytes]]) -> bytes:
    payload = b"".join(
        text(file.encode()) + varint(at) + text(content) for file, at, content in entries
    )
    before = b"FATHOMSX" + struct.pack("<III", 1, len(entries), len(payload))
    crc = crc32c(before + bytes(8) + payload)
    return before + struct.pack("<I8x", crc) + payload


def pieces_of(node: Path) -> list[list[tuple[str, int, bytes]]]:
    """What each block of a node has: file, place in it, bytes."""
    pieces = []
    for path in sorted(node.iterdir()):
        content = path.read_bytes()
        cuts = range(0, len(content), PIECE)
        pieces += [(path.name, at, content[at : at + PIECE]) for at in cuts]
    # Streams take turns; `mounts`, as long as this machine has file systems, is before them.
    pieces.sort(key=lambda piece: (piece[0] != "mounts", piece[1]))
    return [pieces[i : i + 3] for i in range(0, len(pieces), 3)]


def held(run: Path) -> list[list[str]]:
    """Names of the files of which `share` puts a part into each block."""
    (node,) = (run / "streams").iterdir()
    return [[name for name, _, _ in group] for group in pieces_of(node)]


def calls_by_file(run: Path) -> dict[str, int]:
    """How many calls each stream file has."""
    counted = fathom.open(run).sql(
        "select s.path, count(*) as n from calls c join streams s using (stream) group by all"
    )
    return {str(one["path"]).rpartition("/")[2]: int(one["n"]) for one in counted.to_pylist()}


def share(run: Path, files: int) -> list[tuple[str, int, int]]:
    """Moves a run's streams into so many shared files; file, offset and length of each block."""
    sink = run / "sink"
    sink.mkdir()
    (node,) = (run / "streams").iterdir()
    groups = pieces_of(node)
    blocks: list[tuple[str, int, int]] = []
    entries = []
    for number, group in enumerate(groups):
        file = f"{number % files}.blocks"
        begin = head(number, node.name, group, number == len(groups) - 1)
        data = b"".join(piece for _, _, piece in group)
        with open(sink / file, "ab") as out:
            at = out.tell()
            out.write(begin + data)
        blocks.append((file, at, len(begin) + len(data)))
        entries.append((file, at, begin))
    (sink / "index").write_bytes(record(entries[:4]) + record(entries[4:]))
    shutil.rmtree(node)
    return blocks


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a program that forks."""
    folder = tmp_path_factory.mktemp("sink")
    run = folder / "run.fathom"
    command = [paths.FATHOM, "run", "--no-show", "-o", run, "--", FORKS, folder / "file"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **runner.STACK_ENV})
    return run


def rows(run: Path, name: str) -> list[dict[str, Any]]:
    """All of a table, but for where a stream's file is."""
    table = fathom.open(run).table(name)
    columns = [column for column in table.column_names if column != "path"]
    return table.select(columns).to_pylist()


TABLES = (
    "processes", "streams", "nodes", "files", "objects", "calls", "links", "counters", "sites", "marks",
)  # fmt: skip


def repack(run: Path) -> None:
    shutil.rmtree(run / "tables", ignore_errors=True)


@pytest.mark.some(1)
@pytest.mark.parametrize(("index", "files"), [("whole", 1), ("torn", 3), ("none", 2)])
def test_n_files_and_m_files_give_the_same_tables(
    traced: Path, tmp_path: Path, index: str, files: int
) -> None:
    """Row for row, whatever the index is like; `recover` makes it whole again."""
    shared = tmp_path / "run.fathom"
    shutil.copytree(traced, shared)
    repack(shared)
    count = len(share(shared, files))
    place = shared / "sink" / "index"
    if index == "torn":
        place.write_bytes(place.read_bytes()[:-5])
    if index == "none":
        place.unlink()
    for name in TABLES:
        assert rows(shared, name) == rows(traced, name), name
    assert all(
        path.startswith("sink/")
        for path in fathom.open(shared).table("streams")["path"].to_pylist()
    )
    recovered = recover(shared)
    assert recovered["blocks"] == count
    assert (recovered["found"] > 0) == (index != "whole")
    assert recovered["lost"] == []
    assert recover(shared)["found"] == 0


def recover(run: Path) -> dict[str, Any]:
    finished = subprocess.run(
        [engine(), "recover", run], capture_output=True, text=True, check=True
    )
    index: dict[str, Any] = json.loads(finished.stdout)["index"]
    return index


@pytest.mark.parametrize("harm", ["data", "head", "cut"])
def test_a_torn_block_is_said_and_the_others_are_read(
    traced: Path, tmp_path: Path, harm: str
) -> None:
    """Rows of all other blocks stay; the loss is in `marks`."""
    shared = tmp_path / "run.fathom"
    shutil.copytree(traced, shared)
    repack(shared)
    blocks = share(shared, 1)
    file, at, length = blocks[-1 if harm == "cut" else -3]
    content = bytearray((shared / "sink" / file).read_bytes())
    if harm == "cut":  # the server was killed while it wrote
        del content[at + length // 2 :]
    else:
        content[at + (length - 1 if harm == "data" else 20)] ^= 1
    (shared / "sink" / file).write_bytes(content)
    if harm == "head":
        (shared / "sink" / "index").unlink()
    run = fathom.open(shared)
    kinds = set(run.table("marks")["kind"].to_pylist())
    assert "missing blocks" in kinds
    before, after = calls_by_file(traced), calls_by_file(shared)
    harmed = set(held(traced)[blocks.index((file, at, length))])
    assert harmed and harmed < set(before)
    for name, calls in before.items():
        assert after.get(name, 0) == calls or (name in harmed and after.get(name, 0) < calls), name


def test_tables_whose_shared_files_are_gone_are_kept(traced: Path, tmp_path: Path) -> None:
    """Packing again would lose all calls."""
    shared = tmp_path / "run.fathom"
    shutil.copytree(traced, shared)
    repack(shared)
    share(shared, 1)
    calls = rows(shared, "calls")
    shutil.rmtree(shared / "sink")
    assert rows(shared, "calls") == calls


def test_parts_that_share_files_are_joined(traced: Path, tmp_path: Path) -> None:
    """Each of their streams becomes a file of its own."""
    shared = tmp_path / "part.fathom"
    shutil.copytree(traced, shared)
    repack(shared)
    share(shared, 2)
    whole = tmp_path / "whole.fathom"
    subprocess.run([engine(), "join", whole, shared], check=True, capture_output=True)
    assert rows(whole, "calls") == rows(traced, "calls")
    own = {path.name: path.read_bytes() for path in whole.glob("streams/*/*.fts")}
    assert own == {path.name: path.read_bytes() for path in traced.glob("streams/*/*.fts")}


# ---- shipping ----

WRITES = paths.PROGRAMS / "programs" / "writes"
CHILDREN = paths.PROGRAMS / "programs" / "many_children"
STREAMS = 2000


class Servers:
    """Two, without a trace of their own."""

    def __init__(self, export: Path) -> None:
        self.at = export / "servers"
        printed = self.fathom("up", "--export", export, "--servers", 2)
        lines = [line.removeprefix("export ").split("=", 1) for line in printed.splitlines()]
        self.environment = {name: shlex.split(value)[0] for name, value in lines}

    def fathom(self, what: str, *words: object) -> str:
        command = [paths.FATHOM, "forward", what, "--at", self.at, *words]
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=what == "up"
        )
        return done.stdout

    def kill(self) -> None:
        for one in json.loads((self.at / "servers.json").read_text())["servers"]:
            os.kill(one["pid"], signal.SIGKILL)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """They export the test's directory."""
    servers = Servers(tmp_path)
    yield servers
    servers.fathom("down", "--patience", 5)


def start(servers: Servers, run: Path, sink: str, *program: object) -> subprocess.Popen[str]:
    command = [paths.FATHOM, "run", "--no-show", "--trace-sink", sink, "-o", run, "--", *program]
    return subprocess.Popen(
        [str(word) for word in command], stderr=subprocess.PIPE, text=True,
        env={**os.environ, **runner.STACK_ENV, **servers.environment},
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> str:
    _, message = process.communicate(timeout=300)
    return message


def written(run: Path) -> int:
    """Calls of `pwrite` in it."""
    (row,) = fathom.open(run).sql("select count(*) n from calls where op = 'pwrite'").to_pylist()
    return int(row["n"])


@pytest.mark.parametrize(
    "words",
    ["forward", "forward=flush=end,size=4K,nonblocking", "forward=flush=step,mark=16K,plain"],
)
def test_what_a_run_ships_is_what_it_made(servers: Servers, tmp_path: Path, words: str) -> None:
    """No stream is a file of its own, all rows are there, the index is whole, nothing waits on the node."""
    run = tmp_path / "run.fathom"
    process = start(servers, run, words, WRITES, tmp_path / "f", 30000)
    assert "trace sink: " in ended(process)
    assert process.returncode == 0
    assert written(run) == 30000
    assert "missing blocks" not in fathom.open(run).table("marks")["kind"].to_pylist()
    assert not list(run.glob("streams/*/*"))
    assert {path.name for path in (run / "sink").iterdir()} == {"0.blocks", "1.blocks", "index"}
    assert recover(run)["found"] == 0
    assert not Path(json.loads((run / "run.json").read_text())["configuration"]["ring"]).exists()


def test_a_process_that_is_killed_leaves_all_it_recorded(servers: Servers, tmp_path: Path) -> None:
    """What was in its ring is shipped, too."""
    run = tmp_path / "run.fathom"
    process = start(servers, run, "forward", WRITES, tmp_path / "f", 500, 8, "kill")
    ended(process)
    assert written(run) == 500
    assert not list(run.glob("streams/*/*"))


@pytest.mark.full
def test_servers_that_are_killed_cost_nothing(servers: Servers, tmp_path: Path) -> None:
    """The node's streams go into a file of its own, and that is said."""
    run = tmp_path / "run.fathom"
    servers.kill()
    process = start(servers, run, "forward", WRITES, tmp_path / "f", 3000)
    message = ended(process)
    assert "the rest is in sink/own-" in message
    assert written(run) == 3000
    assert process.returncode == 0


def test_without_servers_it_does_not_start(tmp_path: Path) -> None:
    """One line says what to do."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FATHOM_FORWARD")}
    command = [paths.FATHOM, "run", "--trace-sink", "forward", "-o", tmp_path / "r", "--", "true"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 125
    assert "add --forward, or start some" in done.stderr
    assert not (tmp_path / "r.fathom").exists()


def test_with_servers_around_the_program(tmp_path: Path) -> None:
    """`fathom run --forward=2 --trace-sink forward`: shipped before they end."""
    command = [
        paths.FATHOM, "run", "--no-show", "--forward=2", "--trace-sink", "forward", "-o", "run", "--",
        WRITES, "f", "2000",
    ]  # fmt: skip
    environment = {**os.environ, **runner.STACK_ENV}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run.fathom"
    files = {path.name for path in (run / "sink").iterdir()}
    assert files == {"0.blocks", "1.blocks", "index"}
    assert written(run) == 2000
    assert recover(run)["lost"] == []
    assert files == {path.name for path in (run / "sink").iterdir()}  # nothing was left on the node
    paths_of = fathom.open(run).sql("select path from streams where events > 0")["path"]
    assert sum(path.startswith("sink/") for path in paths_of.to_pylist()) == 1


def test_two_thousand_streams_are_three_files(servers: Servers, tmp_path: Path) -> None:
    """M + 1 creates for N streams: M servers' files and the index."""
    run = tmp_path / "run.fathom"
    process = start(servers, run, "forward", CHILDREN, tmp_path / "f", STREAMS)
    ended(process)
    assert process.returncode == 0
    assert {path.name for path in (run / "sink").iterdir()} == {"0.blocks", "1.blocks", "index"}
    assert not list(run.glob("streams/*/*"))
    finished = subprocess.run([engine(), "stat", run], capture_output=True, text=True, check=True)
    assert json.loads(finished.stdout)["files"] == STREAMS + 1
    assert recover(run)["found"] == 0
