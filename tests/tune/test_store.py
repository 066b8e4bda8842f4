"""The pattern store with real programs, after Behzad et al. 2019, 10.3: four kernels are known, others ask."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.errors import FathomError
from fathom.run.store import open_run
from fathom.tune.search.ledger import Ledger, Outcome, Step
from fathom.tune.search.objective import measure
from fathom.tune.search.space import Dimension, Space
from fathom.tune.settings import file as settings_file
from fathom.tune.settings import toml
from fathom.tune.store.base import Base
from fathom.tune.store.entry import Entry, Given, Tuned
from fathom.tune.store.fingerprint import machine_of, ranks_of, stack_of
from fathom.tune.store.look import Lookup, Match, look_up
from fathom.tune.store.searched import entry_of
from fathom.tune.store.shape import groups
from harness import needs, paths, runner

#: Of each that is known: its program, ranks, arguments, and what is said to be best for it.
KNOWN = {
    "vpic": ("vpic_hdf5", 2, "-p 1000", Given("romio.cb_nodes", 2, {"cb_config_list": "*:*"})),
    "vorpal": ("vorpal_hdf5", 4, "12 20 15 0 0 0 2 2 1", Given("romio.cb_buffer_size", "4MiB")),
    "gcrm": ("gcrm_hdf5", 4, "-l 3 2 1", Given("romio.romio_cb_write", "enable")),
    "s3d": ("s3d_hdf5", 4, "-c 1 16 16 16 2 2 1", Given("romio.romio_ds_write", "disable")),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


def fathom(*words: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)], env={**os.environ, **runner.STACK_ENV, **(env or {})},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def stored(*words: object) -> subprocess.CompletedProcess[str]:
    """`fathom tune store …`, in this process: starting another for each takes longer than what it does."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["tune", "store", *map(str, words)])
    return subprocess.CompletedProcess([], status, out.getvalue(), err.getvalue())


@cache
def recorded(place: Path, kernel: str, ranks: int, arguments: str) -> Path:
    """The run directory of a kernel."""
    needs.require(needs.of_mpi("mpich"))
    name = f"{kernel}.{ranks}.{arguments.replace(' ', '_')}"
    data = place / f"data-{name}"
    data.mkdir()
    launch = [*runner.LAUNCH["mpich"].split(), "-n", str(ranks)]
    program = paths.BUILD / "kernels" / f"{kernel}_mpich"
    words = ["run", "--no-show", "-o", place / name, "--level", "call", "--", *launch, program]
    done = fathom(*words, *arguments.split(), data)
    assert done.returncode == 0, done.stderr
    return place / f"{name}.fathom"


def known(place: Path, name: str) -> Entry:
    """As a search of this program would leave it."""
    kernel, ranks, arguments, given = KNOWN[name]
    run = open_run(recorded(place, kernel, ranks, arguments))
    file_groups = groups(run)
    every = [path for group in file_groups for path in group.paths]
    tuned = tuple(
        Tuned(group.files, group.file_system, group.shape, (given,)) for group in file_groups
    )
    return Entry(
        name, 1.7e9, "runtime", "s", False, 2.0, 1.0, (2.0,), (1.0,), "gain", ranks_of(run), stack_of(run),
        machine_of(run, every), tuned,
    )  # fmt: skip


@cache
def store(place: Path) -> Path:
    path = place / "known.db"
    Base(path, write=True).add(known(place, name) for name in KNOWN)
    return path


def look(place: Path, kernel: str, arguments: str) -> Lookup:
    return look_up(open_run(recorded(place, kernel, 4, arguments)), store(place))


def only(advice: Lookup) -> Match:
    (match,) = advice.matches
    assert match.entry is not None and match.distance is not None
    return match


def test_ior_as_vpic_is_the_same_pattern(place: Path) -> None:
    """10.3.1: eight segments, a dataset each. Known from 2 ranks, asked by 4."""
    match = only(look(place, "ior_hdf5", "-d -e 4 8 8192 8192"))
    assert (match.verdict, match.entry and match.entry.name) == ("exact", "vpic")
    assert [setting.value for setting in match.settings] == [4]
    assert "cb_nodes 2 -> 4: 2 -> 4 ranks" in match.remarks
    assert any(line.startswith("measured at 2 ranks with 3.91 KiB each") for line in match.remarks)


def test_vorpal_in_other_blocks_is_known(place: Path) -> None:
    """10.3.2: the same pattern at another size; where blocks are uneven besides, the nearest."""
    even = only(look(place, "vorpal_hdf5", "16 16 8 0 0 0 2 2 1"))
    assert (even.verdict, even.entry and even.entry.name) == ("exact", "vorpal")
    uneven = only(look(place, "vorpal_hdf5", "16 16 8 2 2 2 2 2 1"))
    assert (uneven.verdict, uneven.entry and uneven.entry.name) == ("similar", "vorpal")
    assert even.settings == uneven.settings == (KNOWN["vorpal"][3],)


def test_flash_is_nearest_to_vpic(place: Path) -> None:
    """10.3.3: 24 of its datasets are the largest. The paper takes GCRM; but a rank's part is one piece, as VPIC's."""
    advice = look(place, "flash_hdf5", "-b 4 -f cp")
    assert [match.group.files for match in advice.matches] == [
        "flash_chk_*.h5",
        "flash_plt_cnt_*.h5",
    ]
    assert advice.matches[0].group.shape.arrays == 24
    assert advice.matches[0].group.shape.key == "hdf5 write collective 8 (GEN_BLOCK,*,*,*)"
    for match in advice.matches:
        assert (match.verdict, match.entry and match.entry.name) == ("similar", "vpic")
    rules = toml.read("found", advice.text).rules
    assert [rule.files for rule in rules] == [("*/flash_chk_*.h5",), ("*/flash_plt_cnt_*.h5",)]


def test_what_is_like_nothing_is_to_be_trained(place: Path) -> None:
    chombo = look(place, "chombo_hdf5", "-b 5 -l 2 -c 1")
    alone = look(place, "synthetic_mpiio", "-m independent column 32 32")
    assert [only(one).verdict for one in (chombo, alone)] == ["train", "train"]
    assert chombo.text == alone.text == ""
    assert only(chombo).distance and only(alone).distance.total > 0.1  # type: ignore[union-attr]


def test_another_file_system_or_machine_is_not_this_one(place: Path, tmp_path: Path) -> None:
    run = recorded(place, *KNOWN["gcrm"][:3])
    page = json.loads(stored("list", "--store", store(place), "--json").stdout)
    (data,) = (one for one in page if one["name"] == "gcrm")
    verdicts = []
    for change in ({"hosts": ["elsewhere*"]}, None):
        if change:
            data["machine"] |= change
        else:
            data["groups"] = [one | {"file_system": "lustre"} for one in data["groups"]]
        entry = {key: value for key, value in data.items() if key != "id"}
        export = tmp_path / "export.json"
        export.write_text(
            json.dumps({"kind": "fathom pattern store", "format": 1, "entries": [entry]})
        )
        other = tmp_path / f"{len(verdicts)}.db"
        assert stored("import", export, "--store", other).returncode == 0
        match = look_up(open_run(run), other).matches[0]
        verdicts.append((match.verdict, "measured on another machine" in match.remarks))
    assert verdicts == [("similar", True), ("train", False)]


def search(place: Path, folder: Path, ended: bool = True) -> Path:
    """NAME.tune as a search leaves it: FLASH's checkpoint and plot files have settings of their own."""
    run = recorded(place, "flash_hdf5", 4, "-b 4 -f cp")
    (folder / "flash.tune" / "trials" / "1").mkdir(parents=True)
    (folder / "flash.tune" / "trials" / "1" / "run.fathom").symlink_to(run)
    plot = {"group": "flash_plt_cnt_*.h5"}
    space = Space(
        (
            Dimension("size", "romio.cb_buffer_size", (None, "1MiB", "4MiB")),
            Dimension("plot", "romio.romio_cb_write", (None, "enable", "disable"), plot),
            Dimension("locking", "hdf5.HDF5_USE_FILE_LOCKING", (None, "FALSE")),
        )
    )
    named = {"size": "4MiB", "plot": "disable", "locking": "FALSE"}
    ledger = Ledger(folder / "flash.tune" / "tune.db")
    ledger.keep("options", {"objective": "rate", "maximize": False, "scratch": str(folder)})
    ledger.keep("space", space.data())
    for point, score in (((0, 0, 0), 100.0), ((2, 2, 1), 300.0)) * 2:
        number = ledger.begin(Step("proof", 0, point), space.named(point))
        ledger.end(number, Outcome("done", 1.0, score))
    if ended:
        ledger.keep("result", {
            "objective": "rate", "unit": "MB/s", "verdict": "gain", "default": 100.0, "best": 300.0,
            "settings": named, "methods": [{"method": "winner", "settings": named}],
        })  # fmt: skip
    return folder / "flash.tune"


def test_a_search_is_added_with_settings_of_each_group(place: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "p.db"
    done = stored("add", search(place, tmp_path), "--store", mine)
    assert done.returncode == 0, done.stderr
    (entry,) = Base(mine).entries()
    assert (entry.gain, entry.default_runs, entry.best_runs) == (
        3.0,
        (100.0, 100.0),
        (300.0, 300.0),
    )
    names = [
        [setting.knob.rpartition(".")[2] for setting in group.settings] for group in entry.groups
    ]
    both = ["cb_buffer_size", "HDF5_USE_FILE_LOCKING"]
    assert names == [both, ["cb_buffer_size", "romio_cb_write", "HDF5_USE_FILE_LOCKING"]]
    again = recorded(place, "flash_hdf5", 4, "-b 4 -f cp")
    done = stored("look", again, "--store", mine, "-o", tmp_path / "best.toml")
    assert done.stdout.count(": exact") == 2 and done.stdout.count("; there 3x") == 2
    read = settings_file.read(tmp_path / "best.toml")
    assert [(rule.files[0], len(rule.settings)) for rule in read.rules] == [
        ("*/flash_chk_*.h5", 1), ("*/flash_plt_cnt_*.h5", 2),
    ]  # fmt: skip
    assert [one.knob.name for one in read.launch] == ["HDF5_USE_FILE_LOCKING"]


def seconds(mib: float, nodes: int) -> float:
    """More data want more aggregators."""
    return 1 + 4 * mib / nodes + 0.5 * nodes


def searched(place: Path, folder: Path, name: str, particles: int) -> Path:
    """NAME.tune of VPIC at this size."""
    run = recorded(place, "vpic_hdf5", 4, f"-p {particles}")
    (folder / f"{name}.tune" / "trials" / "1").mkdir(parents=True)
    (folder / f"{name}.tune" / "trials" / "1" / "run.fathom").symlink_to(run)
    space = Space((Dimension("nodes", "romio.cb_nodes", (None, 1, 2, 4)),))
    written = measure(open_run(run), None)
    mib = written["bytes_written"] / (1 << 20)
    ledger = Ledger(folder / f"{name}.tune" / "tune.db")
    program = ["mpiexec", "-n", "4", "vpic", str(particles)]
    plain = {"objective": "runtime", "maximize": False, "group": None, "scratch": str(folder)}
    ledger.keep("options", {**plain, "program": program})
    ledger.keep("space", space.data())
    ledger.keep("limits", {"ranks": 4})
    costs = {value: seconds(mib, value or 1) for value in space.dimensions[0].values}
    for number, cost in enumerate(costs.values()):
        trial = ledger.begin(Step("proof", 0, (number,)), space.named((number,)))
        ledger.end(trial, Outcome("done", cost, cost, written))
    best = min(costs, key=lambda value: costs[value])
    named = {} if best is None else {"nodes": best}
    ledger.keep("result", {
        "objective": "runtime", "unit": "s", "verdict": "gain" if named else "none", "default": costs[None],
        "best": costs[best], "settings": named, "methods": [{"method": "winner", "settings": named}],
    })  # fmt: skip
    return folder / f"{name}.tune"


@pytest.mark.full
def test_another_size_is_predicted_from_searches_of_several(place: Path, tmp_path: Path) -> None:
    """The default is best for the small one, 2 for the next; 4 won nowhere, and is best for a larger one."""
    sizes = {"small": 1000, "next": 8000, "more": 16000}
    folders = [searched(place, tmp_path, name, size) for name, size in sizes.items()]
    mine, few = tmp_path / "p.db", tmp_path / "few.db"
    alone = stored("add", folders[0], "--store", mine)
    assert alone.returncode == 0, alone.stderr
    assert [entry.model for entry in Base(mine).entries()] == [None]
    both = stored("add", *folders, "--store", mine)
    assert "2 searches added, 1 there already" in both.stdout, both.stderr
    assert all(entry.model for entry in Base(mine).entries())
    large = recorded(place, "vpic_hdf5", 4, "-p 40000")
    match = only(look_up(open_run(large), mine))
    assert match.verdict == "exact" and match.remarks == ("predicted by the model of 3 searches",)
    assert [setting.value for setting in match.settings] == [4]
    assert stored("add", *folders[:2], "--store", few).returncode == 0
    measured = only(look_up(open_run(large), few))
    assert [setting.value for setting in measured.settings] == [
        2
    ]  # eight trials tell the model of no setting
    assert measured.remarks[-1].startswith("measured at 4 ranks with")
    same = only(look_up(open_run(recorded(place, "vpic_hdf5", 4, "-p 8000")), mine))
    assert [setting.value for setting in same.settings] == [2]


def test_a_search_that_has_not_ended_is_refused(place: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="has not ended; type its command again"):
        entry_of(search(place, tmp_path, ended=False))
    with pytest.raises(FathomError, match=r"is no search; name a NAME\.tune"):
        entry_of(tmp_path)


@pytest.mark.full
def test_a_search_is_remembered_and_begins_another(tmp_path: Path) -> None:
    """The objective is a count: without settings 2, with them 1. A second search tries the first one's winner first."""
    needs.require(needs.of_mpi("mpich"))
    plain = '[[knob]]\nknob = "romio.cb_buffer_size"\nvalues = ["1MiB", "2MiB", "32MiB"]\n'
    (tmp_path / "plain.toml").write_text(plain)
    (tmp_path / "space.toml").write_text(f'{plain}[[seed]]\ncb_buffer_size = "2MiB"\n')
    objective = "grep -q 2MiB ${TUNE_RUN%/*}/settings.toml && echo 1 || echo 2"
    kernel = paths.BUILD / "kernels" / "synthetic_mpiio_mpich"
    launch = [*runner.LAUNCH["mpich"].split(), "-n", "2", kernel, "row", "32", "50", "{out}"]
    env = {"FATHOM_STORE": str(tmp_path / "mine" / "p.db")}

    def tune(name: str, space: str) -> Any:
        words = ["tune", "--space", tmp_path / space, "--objective", objective, "--trials", "2"]
        done = fathom(*words, "--finalists", "1", "-o", tmp_path / name, "--", *launch, env=env)
        assert done.returncode == 0, done.stderr
        return json.loads(fathom("tune", "show", tmp_path / name, "--json").stdout), done.stderr

    tune("first", "space.toml")
    assert fathom("tune", "store", "add", tmp_path / "first.tune", env=env).returncode == 0
    run = tmp_path / "first.tune" / "trials" / "1" / "run.fathom"
    done = fathom("tune", "store", "look", run, "-o", tmp_path / "best.toml", env=env)
    assert done.returncode == 0 and "synthetic.*.bin: exact" in done.stdout
    assert 'cb_buffer_size = "2MiB"' in (tmp_path / "best.toml").read_text()
    trials, messages = tune("second", "plain.toml")
    assert (
        "pattern store: synthetic.*.bin: exact, first, distance 0.000: cb_buffer_size=2MiB"
        in messages
    )
    asked = [trial for trial in trials if trial["asked"] == "store"]
    assert [one["settings"]["cb_buffer_size"] for one in asked] == ["2MiB"]


def test_a_broken_store_is_one_line_and_no_search_fails_of_it(place: Path, tmp_path: Path) -> None:
    (tmp_path / "p.db").write_text("no store\n" * 100)
    run = recorded(place, *KNOWN["gcrm"][:3])
    done = stored("look", run, "--store", tmp_path / "p.db")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].endswith("move it away, and import an export of it")
    done = stored("look", run, "--store", tmp_path / "none.db")
    assert done.returncode == 1 and "there is none, so nothing is known" in done.stderr
    assert not (tmp_path / "none.db").exists()
