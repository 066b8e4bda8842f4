"""`fathom tune --live`, by effect: who writes a file that is opened afterwards, and whether all ranks agree."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fathom.run.control import Node
from fathom.run.rings import own_rings
from fathom.run.store import open_run
from fathom.tune.settings import file as settings_file
from harness import paths
from harness.steps import RANKS, SIZE, Steps

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
	t as (select file, list(distinct value::int) as told from hints_in_force
		where key = 'tuned cb_nodes' and value not like '%left%' group by 1)
	select parse_filename(path) as name, writers, coalesce(told, []) as told
	from w join files using (file) left join t using (file) where regexp_matches(path, '/step[.][0-9]+$')"""


def fathom(*words: object) -> Any:
    return subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)], text=True, capture_output=True, timeout=300, check=False
    )  # fmt: skip


#: Of the file that stays open, by steps: how many writes, by how many processes.
OPEN_SQL = f"""select file_offset // {SIZE} as step, count(*) as writes, count(distinct process) as writers
	from calls join files using (file)
	where layer = 'posix' and calls.kind = 'write' and ends_with(path, '/steps') group by 1 order by 1"""


def writers_of(run: Steps) -> list[tuple[int, list[int]]]:
    """Who wrote the file of each step, by the run's tables."""
    rows = {row["name"]: row for row in open_run(run.at).sql(SQL).to_pylist()}
    steps = (rows[f"step.{number}"] for number in range(len(rows)))
    return [(row["writers"], row["told"]) for row in steps]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "mpi", ["mpich", pytest.param("romio321", marks=pytest.mark.full), "ompio"]
)
def test_files_opened_later_have_other_aggregators(tmp_path: Path, steps: Any, mpi: str) -> None:
    run, four = steps(mpi, 3, "--tunable"), tmp_path / "four.toml"
    four.write_text(HINTS[mpi].format(nodes=4))
    run.step(0)
    rings = own_rings(run.at)
    done = fathom("tune", "--live", run.at, four)
    assert done.returncode == 0, done.stderr
    run.step(1)
    assert fathom("tune", "--live", run.at, "none").returncode == 0
    run.step(2)
    assert run.process.wait(60) == 0
    assert rings and not rings.exists()
    before, after, back = writers_of(run)
    assert after == (4, [4]) and before == back and before[0] < 4 and before[1] == []
    assert (run.at / "tuned.jsonl").read_text().count("\n") == 2
    ended = fathom("tune", "--live", run.at, four)
    assert ended.returncode == 3 and "the run has ended" in ended.stderr


ROMIO = '[[file]]\n[file.romio]\ncb_buffer_size = "64KiB"\n'
OMPIO = "[[file]]\n[file.ompio]\ncb_nodes = 4\n"
#: What a step of a file that is open makes where the hint is taken: writes, writers. Else it is one write.
APART = '[[file]]\n[file.romio]\nromio_cb_write = "disable"\nromio_ds_write = "disable"\n'
TAKEN = {"mpich": (ROMIO, 16, 1), "romio321": (APART, 256, 4), "ompio": (OMPIO, 4, 4)}


@pytest.mark.parametrize(
    ("mpi", "how"),
    [
        ("mpich", "set_info"),
        pytest.param("mpich", "set_view", marks=pytest.mark.full),
        pytest.param("romio321", "set_info", marks=pytest.mark.full),
        pytest.param("romio321", "set_view", marks=pytest.mark.full),
        pytest.param("ompio", "set_info", marks=pytest.mark.full),
        ("ompio", "set_view"),
    ],
)
def test_a_file_that_is_open_takes_hints_where_the_catalog_says(
    tmp_path: Path, steps: Any, mpi: str, how: str
) -> None:
    text, writes, writers = TAKEN[mpi]
    run, file = steps(mpi, 3, "--tunable", how=how), tmp_path / "s.toml"
    file.write_text(text)
    knob = settings_file.read(file).rules[0].settings[0].knob
    taken = f"MPI_File_{how}" in knob.later.get(mpi, "")
    run.step(0)
    done = fathom("tune", "--live", run.at, file)
    assert done.returncode == 0 and knob.later[mpi] in done.stderr
    run.step(1)
    run.step(2)
    assert run.process.wait(60) == 0
    written = [
        (row["writes"], row["writers"]) for row in open_run(run.at).sql(OPEN_SQL).to_pylist()
    ]
    assert written == [(1, 1), *2 * [(writes, writers) if taken else (1, 1)]]


@pytest.mark.parametrize(
    ("mpi", "how"),
    [("mpich", "set_info"), pytest.param("romio321", "set_view", marks=pytest.mark.full)],
)
def test_a_buffer_of_an_open_file_never_grows(
    tmp_path: Path, steps: Any, mpi: str, how: str
) -> None:
    """ROMIO makes it at the open, and would write behind its end."""
    small, large = tmp_path / "small.toml", tmp_path / "large.toml"
    small.write_text(ROMIO)
    large.write_text(ROMIO.replace("64KiB", "1MiB"))
    run = steps(mpi, 4, "--tunable", "--tuned", small, how=how)
    run.step(0)
    assert fathom("tune", "--live", run.at, large).returncode == 0
    for number in range(1, 4):
        run.step(number)
    assert run.process.wait(60) == 0
    assert [row["writes"] for row in open_run(run.at).sql(OPEN_SQL).to_pylist()] == [16] * 4
    left = """select value from hints_in_force
		where key = 'tuned cb_buffer_size' and value like '%; left: the file is open%'"""
    assert len(open_run(run.at).sql(left).to_pylist()) == RANKS


@pytest.mark.full
@pytest.mark.parametrize("how", ["set_info", "set_view"])
def test_all_ranks_of_an_open_file_take_the_same_whenever_it_comes(steps: Any, how: str) -> None:
    count, sizes = 40, [SIZE >> shift for shift in range(5)]
    run = steps("mpich", count, "--tunable", how=how)
    run.step(0)
    rings = own_rings(run.at)
    assert rings
    for number in range(1, count):
        (run.out / f"go.{number}").touch()
    node, changes = Node(rings), 0
    while run.process.poll() is None and (rings / "control").exists():
        try:
            node.tune(f"fathom-tuned 1\nrule\ninfo cb_buffer_size {sizes[changes % 5]}\n")
        except FileNotFoundError:  # the run has ended
            break
        changes += 1
        time.sleep(0.005)
    assert run.process.wait(60) == 0 and changes > 0
    writes = [row["writes"] for row in open_run(run.at).sql(OPEN_SQL).to_pylist()]
    assert len(writes) == count and len(set(writes)) > 1
    assert set(writes) <= {SIZE // size for size in sizes}


def test_all_ranks_take_the_same_whenever_it_comes(steps: Any) -> None:
    """MPICH fails where hints differ from rank to rank."""
    count = 24
    run = steps("mpich", count, "--tunable")
    run.step(0)
    rings = own_rings(run.at)
    assert rings
    node, changes = Node(rings), 0
    while run.process.poll() is None and (rings / "control").exists():
        lines = f"fathom-tuned 1\nrule\ninfo cb_nodes {1 + changes % 4}\ninfo cb_config_list *:*\n"
        try:
            node.tune(lines)
            for number in range(1, 0 if changes else count):
                (run.out / f"go.{number}").touch()
        except FileNotFoundError:  # the run has ended
            break
        changes += 1
        time.sleep(0.005)
    assert run.process.wait(60) == 0 and changes > 0
    seen = writers_of(run)
    assert len(seen) == count
    # a later value may have come with the file's view, which takes it not
    assert all(writers in hints for writers, hints in seen[1:])
    assert len({writers for writers, _ in seen[1:]}) > 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[file]]\n[file.hdf5]\nalignment = [0, 4096]\n", "hints of files for MPI-IO"),
        ("[launch.romio]\ncb_nodes = 2\n", "a launch or a layout cannot be changed"),
        ("[[file]]\n[file.pnetcdf]\nnc_header_align_size = 512\n", "hints of files for MPI-IO"),
        ("".join(f'[[file]]\nmatch = "{n}"\n[file.romio]\ncb_nodes = 2\n' for n in range(33)), "room"),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    at = tmp_path / "r.fathom"
    assert fathom("run", "--no-show", "-o", at, "--", "true").returncode == 0
    (tmp_path / "s.toml").write_text(text)
    done = fathom("tune", "--live", at, tmp_path / "s.toml")
    assert done.returncode == 2 and reason in done.stderr and done.stderr.count("\n") == 1
    plain = fathom("tune", "--live", at, "none")
    assert plain.returncode == 3 and "fathom run --tunable" in plain.stderr
