"""`fathom tune --live`, by effect: who writes a file that is opened afterwards, and whether all ranks agree."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fathom import manifest
from fathom.control import Node
from fathom.store import open_run
from harness import needs, paths, runner

RANKS, SIZE = 4, 4 * 64 * 4096
HINTS = {
    "mpich": '[[file]]\n[file.romio]\ncb_nodes = {nodes}\ncb_config_list = "*:*"\n',
    "romio321": '[[file]]\n[file.romio]\ncb_nodes = {nodes}\ncb_config_list = "*:*"\n',
    "ompio": "[[file]]\n[file.ompio]\ncb_nodes = {nodes}\n",
}
#: Of each file: processes that wrote it, and numbers of aggregators that they were told.
SQL = """with w as (
		select file, count(distinct process) as writers from calls
		where layer = 'posix' and kind = 'write' group by 1
	),
	t as (select file, list(distinct value::int) as told from hints_in_force where key = 'tuned cb_nodes' group by 1)
	select parse_filename(path) as name, writers, coalesce(told, []) as told
	from w join files using (file) left join t using (file) where regexp_matches(path, '/step[.][0-9]+$')"""


def fathom(*words: object) -> Any:
    return subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)], text=True, capture_output=True, timeout=100, check=False
    )  # fmt: skip


class Steps:
    """The program, recorded, that writes a file for each step."""

    def __init__(self, folder: Path, mpi: str, steps: int, *options: str) -> None:
        needs.require(needs.of_mpi(mpi))
        self.out, self.at = folder / "out", folder / "r.fathom"
        self.out.mkdir()
        program = paths.PROGRAMS / "programs" / "mpi" / f"steps_{needs.MPI[mpi]}"
        command = [*runner.LAUNCH[mpi].split(), "-n", str(RANKS), program, self.out, steps]
        words = [paths.FATHOM, "run", "--no-show", *options, "-o", self.at, "--", *command]
        self.process = subprocess.Popen(
            [str(word) for word in words], env={**os.environ, **runner.STACK_ENV}, start_new_session=True
        )  # fmt: skip

    def step(self, number: int) -> None:
        """Lets it write this file, and waits for that."""
        (self.out / f"go.{number}").touch()
        file, until = self.out / f"step.{number}", time.monotonic() + 120
        while not file.exists() or file.stat().st_size < SIZE:
            assert self.process.poll() is None and time.monotonic() < until
            time.sleep(0.02)

    def found(self) -> list[tuple[int, list[int]]]:
        """Who wrote the file of each step, by the run's tables."""
        rows = {row["name"]: row for row in open_run(self.at).sql(SQL).to_pylist()}
        found = (rows[f"step.{number}"] for number in range(len(rows)))
        return [(row["writers"], row["told"]) for row in found]


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Any]:
    started: list[Steps] = []

    def start(mpi: str, count: int, *options: str) -> Steps:
        started.append(Steps(tmp_path, mpi, count, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            os.killpg(one.process.pid, 9)
        one.process.wait()


@pytest.mark.parametrize(
    "mpi", ["mpich", pytest.param("romio321", marks=pytest.mark.full), "ompio"]
)
def test_files_opened_later_have_other_aggregators(tmp_path: Path, steps: Any, mpi: str) -> None:
    run, four = steps(mpi, 3, "--tunable"), tmp_path / "four.toml"
    four.write_text(HINTS[mpi].format(nodes=4))
    run.step(0)
    done = fathom("tune", "--live", run.at, four)
    assert done.returncode == 0, done.stderr
    run.step(1)
    assert fathom("tune", "--live", run.at, "none").returncode == 0
    run.step(2)
    assert run.process.wait(60) == 0
    before, after, back = run.found()
    assert after == (4, [4]) and before == back and before[0] < 4 and before[1] == []
    assert (run.at / "tuned.jsonl").read_text().count("\n") == 2
    ended = fathom("tune", "--live", run.at, four)
    assert ended.returncode == 3 and "the run has ended" in ended.stderr


def test_all_ranks_take_the_same_whenever_it_comes(steps: Any) -> None:
    """MPICH fails where hints differ from rank to rank."""
    count = 24
    run = steps("mpich", count, "--tunable")
    run.step(0)
    rings = manifest.ring_directory(manifest.read(run.at))
    assert rings
    for number in range(1, count):
        (run.out / f"go.{number}").touch()
    node, changes = Node(rings), 0
    while run.process.poll() is None and (rings / "control").exists():
        lines = f"fathom-tuned 1\nrule\ninfo cb_nodes {1 + changes % 4}\ninfo cb_config_list *:*\n"
        try:
            node.tune(lines)
        except FileNotFoundError:  # the run has ended
            break
        changes += 1
        time.sleep(0.005)
    assert run.process.wait(60) == 0 and changes > 0
    found = run.found()
    assert len(found) == count
    assert all(told in ([], [writers]) for writers, told in found)
    assert len({writers for writers, told in found if told}) > 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[file]]\n[file.hdf5]\nalignment = [0, 4096]\n", "hints of files for MPI-IO"),
        ("[launch.romio]\ncb_nodes = 2\n", "a launch or a layout cannot be changed"),
        ("[[file]]\n[file.pnetcdf]\nnc_header_align_size = 512\n", "hints of files for MPI-IO"),
        ("".join(f'[[file]]\nmatch = "{n}"\n[file.romio]\ncb_nodes = 2\n' for n in range(33)), "room"),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_is_refused(tmp_path: Path, text: str, said: str) -> None:
    at = tmp_path / "r.fathom"
    assert fathom("run", "--no-show", "-o", at, "--", "true").returncode == 0
    (tmp_path / "s.toml").write_text(text)
    done = fathom("tune", "--live", at, tmp_path / "s.toml")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    plain = fathom("tune", "--live", at, "none")
    assert plain.returncode == 3 and "fathom run --tunable" in plain.stderr
