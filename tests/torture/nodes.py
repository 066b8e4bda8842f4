"""Nodes that send their part of a run: their collector and their agents are killed, and started again."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

from harness import nodes, paths, tables
from harness.nodes import contents
from harness.readers import ENGINE, WRITES
from harness.running import agents

from torture.part import Part

#: Calls of a process, and processes of a node one after another.
CALLS, PROCESSES = 20_000, 5
PROGRAM = f"for i in $(seq {PROCESSES}); do {WRITES} $0.$i {CALLS} 8 exit; sleep 0.2; done"
STEP = {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "3"}
WHOLE = "state=whole"
#: Seconds, on a busy machine.
LONGEST = 120


class Collector:
    """At one address, whatever becomes of its processes."""

    def __init__(self, run: Path, count: int) -> None:
        self.run, self.count = run, count
        self.address = f"127.0.0.1:{nodes.free_ports(1)[0]}"
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        words = [ENGINE, "collect", str(self.run), "--listen", self.address, "--key", "k"]
        with self.run.with_name("collector.log").open("a") as log:
            process = subprocess.Popen(
                [*words, "--nodes", str(self.count)], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert process.stdout
        line = process.stdout.readline()
        assert line or process.wait() == 0, "the collector is not there"
        return process

    def restart(self, pause: float) -> None:
        self.stop()
        time.sleep(pause)
        self.process = self._start()

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


class Sender:
    """A node, its program and its agents."""

    def __init__(self, node: nodes.Node, place: Path, target: str) -> None:
        self.node, self.target = node, target
        self.ring = place / f"{node.name}.rings"
        self.part = node.local / "part.fathom"  # as it sees it
        self.was_cut = False
        words = ["run", "--no-show", "--sample", "0.02", "--collect", target, "-o", self.part]
        self.program = self._run(paths.FATHOM, *words, "--", "sh", "-c", PROGRAM, node.local / "f")

    def _run(self, *words: object) -> subprocess.Popen[bytes]:
        env = {**os.environ, **STEP, "FATHOM_RING": str(self.ring)}
        command = self.node.command(*words)
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=env, stdin=quiet, stdout=quiet, stderr=quiet)

    def cut(self) -> int:
        """Kills its agent, if it has one."""
        pids = agents(self.ring)
        for pid in pids:
            os.kill(pid, 9)
        self.was_cut |= bool(pids)
        return len(pids)

    def end(self) -> None:
        self.program.wait(LONGEST)
        until = time.monotonic() + LONGEST
        while agents(self.ring):
            assert time.monotonic() < until, f"the agent of {self.node.name} does not end"
            time.sleep(0.05)

    def send_again(self) -> None:
        """By another agent; the rings of those that are gone are there still."""
        words = ["agent", self.part, "--ring", self.ring, "--sample", "0", "--collect", self.target]
        assert self._run(ENGINE, *words).wait(LONGEST) == 0

    def files(self) -> dict[str, bytes]:
        return contents(self.node.disk / "part.fathom")


def check_said(run: Path, sender: Sender) -> None:
    """Of a node whose agent was killed: what came is a part of what it has, and readers are told."""
    copy = run.with_name("copy.fathom")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    (folder,) = (sender.node.disk / "part.fathom" / "streams").iterdir()
    note = copy / "streams" / folder.name / "collected"
    if not note.exists():
        return  # nothing came; the collector waits for it
    if note.read_text().startswith(WHOLE):
        theirs = sender.files()
        assert {name: contents(copy).get(name) for name in theirs} == theirs, "said to be whole"
        return
    streams = {n: text for n, text in sender.files().items() if n.endswith(".fts")}
    for name, text in contents(copy).items():
        is_its_own = name.startswith(f"streams/{folder.name}/") and name.endswith(".fts")
        assert not is_its_own or streams[name].startswith(text), name
    marks = tables.ask(tables.connect(copy), "select kind from marks where kind like 'missing%'")
    assert ["missing node part"] in marks, marks


def collect(place: Path, seed: int) -> int:
    """Two or three nodes send while any of it is killed; in the end all is there, byte for byte."""
    chance = random.Random(seed)
    count, kills = chance.randrange(2, 4), chance.randrange(3, 8)
    at = (place / "nodes").resolve()
    run, done = at.parent / "run.fathom", 0
    names = [f"n{number}" for number in range(count)]
    made = nodes.make(at, names, ["twin"] * count)
    collector = Collector(run, count)
    senders = [Sender(node, at.parent, f"{collector.address}/k") for node in made]
    try:
        for _ in range(kills):
            time.sleep(chance.uniform(0, 0.6))
            if chance.random() < 0.7:
                collector.restart(chance.uniform(0, 0.5))
                done += 1
            else:
                done += chance.choice(senders).cut()
        for sender in senders:
            sender.end()
        for sender in senders:
            if sender.was_cut:
                check_said(run, sender)
                sender.send_again()
        collector.process.wait(LONGEST)
        assert collector.process.returncode == 0
    finally:
        collector.stop()
        for sender in senders:
            sender.cut()
            sender.program.kill()
            sender.program.wait()
    rows = tables.ask(tables.connect(run), "select count(*) from calls where op = 'pwrite'")
    assert rows == [[count * PROCESSES * CALLS]], rows
    expected = {name: text for sender in senders for name, text in sender.files().items()}
    here = contents(run)
    wrong = sorted(n for n in here.keys() | expected.keys() if here.get(n) != expected.get(n))
    assert not wrong, f"other than on the nodes: {wrong}"
    return done


PARTS = (
    Part(
        "kill-collect",
        "of nodes that send, agents and collector are killed: all comes, byte for byte, or it is said",
        "kills",
        collect,
        ("namespaces",),
    ),
)
