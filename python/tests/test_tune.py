"""`fathom tune`: what is tried next, on known grids; real searches that are killed, whose trials fail or are wrong."""

import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import h5py
import pytest
from fathom.errors import UsageError
from fathom.tune.search import default_space
from fathom.tune.search.ledger import Ledger, Trial
from fathom.tune.search.limits import Limits
from fathom.tune.search.objective import Objective
from fathom.tune.search.options import Options
from fathom.tune.search.outputs import Reference
from fathom.tune.search.plan import Plan
from fathom.tune.search.sampler import Observation
from fathom.tune.search.samplers import SAMPLERS, Genetic
from fathom.tune.search.search import planned
from fathom.tune.search.space import Dimension, Point, Space, of_data, read
from fathom.tune.settings.settings import catalog
from fathom.tune.settings.values import of_knob
from fathom.tune.store.base import Base
from test_commands import fathom, refused

AGG = "ompio.io_ompio_num_aggregators"
GRID = Space(tuple(Dimension(name, AGG, (None, 1, 2, 4, 8, 16, 32, 64)) for name in "abcd"))
COST = Objective("cost", "", False, lambda of: of["cost"])
Grid = Callable[[Point], float]


def valley(point: Point) -> float:
    """Its least is at (5, 2, 6, 3); one knob matters only beside another, as aggregators and buffers do."""
    a, b, c, d = point
    return 10 + 3 * (a - 5) ** 2 + (b - 2) ** 2 + abs(c - 6) * (1 + (a > 3)) + 0.1 * (d - 3) ** 2


def options(**other: Any) -> Options:
    plain: dict[str, Any] = {
        "program": ("true",), "directory": "/", "objective": "cost", "maximize": False, "group": None,
        "space": None, "sampler": "ga", "compare": (), "seed": 1, "trials": 600, "seconds": None,
        "repeats": 5, "finalists": 3, "worth": 0.03, "screen": False, "verify": "none", "timeout": None, "scratch": "/",
    }  # fmt: skip
    return Options(**{**plain, **other})


def play(plan: Plan, cost: Callable[[str, int, Point], float]) -> list[Trial]:
    """A search whose trials are looked up instead of run."""
    trials: list[Trial] = []
    while step := plan.next(trials):
        measured = plan.measured(trials).get(step.point) if step.known else None
        score = cost(step.stage, step.round, step.point) if measured is None else measured
        state = "known" if step.known else "done" if score < float("inf") else "failed"
        trials.append(
            Trial(
                len(trials) + 1, step.stage, step.asked, step.round, step.point, {}, state, 1, 0.0,
                0.0 if step.known else 1.0, score, {"runtime": score}, None,
            )
        )  # fmt: skip
    return trials


def asked(name: str, seed: int, count: int, grid: Grid = valley) -> list[Observation]:
    observations: list[Observation] = []
    for _ in range(count):
        point = SAMPLERS[name](GRID, options(sampler=name, seed=seed)).ask(observations)
        if point is None:
            break
        observations.append(Observation(point, grid(point)))
    return observations


def test_the_genetic_search_finds_what_the_whole_grid_has() -> None:
    every = sorted(valley(point) for point in itertools.product(range(8), repeat=4))
    bests, by_chance = [], []
    for seed in range(10):
        observations = asked("ga", seed, 10_000)
        assert len(observations) == Genetic.POPULATION * Genetic.GENERATIONS == 600
        # what is known is not run again
        tries = len({observation.point for observation in observations})
        bests.append(min(observation.cost for observation in observations))
        by_chance.append(min(one.cost for one in asked("random", seed, tries)))
    assert statistics.median(bests) <= every[len(every) // 1000]
    assert statistics.median(bests) < statistics.median(by_chance)


def test_elites_stay_and_what_failed_has_no_children() -> None:
    observations = asked("ga", 3, 16)
    assert (
        observations[15].point
        == min(observations[:15], key=lambda observation: observation.cost).point
    )
    bad = [Observation((0, 0, 0, 0), float("inf"))] * 13
    good = [Observation((1, 1, 1, 1), 1.0), Observation((2, 2, 2, 2), 2.0)]
    children: list[Observation] = [*bad, *good]
    while len(children) < 30:
        point = Genetic(GRID, options(seed=7)).ask(children)
        assert point is not None
        children.append(Observation(point, 3.0))
    # behind the elites: of the two sound ones, but for one mutated knob
    for child in children[18:]:
        assert sum(value not in (1, 2) for value in child.point) <= 1


@pytest.mark.parametrize("name", sorted(SAMPLERS.keys() - {"grid"}))
def test_what_is_asked_follows_from_what_was_told(name: str) -> None:
    first, again, other = (asked(name, seed, 20) for seed in (5, 5, 6))
    assert first == again != other


def test_a_grid_is_every_point_once() -> None:
    space = Space(
        tuple(replace(dimension, values=dimension.values[:2]) for dimension in GRID.dimensions)
    )
    observations: list[Observation] = []
    while (point := SAMPLERS["grid"](space, options(sampler="grid")).ask(observations)) is not None:
        observations.append(Observation(point, 1.0))
    assert [observation.point for observation in observations] == list(
        itertools.product((0, 1), repeat=4)
    )


def test_optuna_learns() -> None:
    observations = asked("tpe", 2, 45)
    late, early = (
        statistics.median(one.cost for one in part)
        for part in (observations[30:], observations[:15])
    )
    assert late < early


def test_screening_leaves_knobs_alone_that_change_nothing() -> None:
    plan = Plan(options(screen=True, trials=80), COST, GRID, ())
    trials = play(plan, lambda _s, _r, point: float(abs(point[1] - 3) + 5 * abs(point[2] - 6)))
    assert plan.inert(trials) == {0, 3}
    searched = [trial.point for trial in trials if trial.stage == "search"][9:]
    assert searched and all(point[0] == point[3] == 0 for point in searched)


KNOB = '[[knob]]\nknob = "romio.cb_nodes"\nvalues = [1, 2, 4]\n'
SIZE = '[[knob]]\nknob = "romio.cb_buffer_size"\nvalues = ["1MiB", "4MiB"]\n'


def test_a_space_is_settings_within_constraints(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    head = 'constraints = ["cb_nodes * cb_buffer_size <= 8 * MiB", "not (cb_nodes == 1)"]\n'
    seed = "[[seed]]\ncb_nodes = 2\n"
    beside = KNOB + 'group = "plot.*"\nwith = { cb_config_list = "*:*" }\n'
    path.write_text(head + beside + SIZE + seed)
    space = read(path)
    allowed = [p for p in itertools.product(range(4), range(3)) if space.allowed(p)]
    assert (
        (3, 2) not in allowed and (1, 0) not in allowed and {(0, 0), (3, 1), (2, 2)} <= {*allowed}
    )
    assert space.seeds == ((2, 0),)
    text = space.settings((2, 1))
    assert text.count("[[file]]") == 2 and 'cb_config_list = "*:*"\ncb_nodes = 2\n' in text
    assert space.settings(space.default) == ""
    assert of_data(json.loads(json.dumps(space.data()))) == space


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[knob]\n", "space.toml: "), ("x = 1\n", "no key 'x'"), ("", "nothing to search"),
        ("[[knob]]\nvalues = [1]\n", 'write knob = "romio.cb_nodes"'),
        ('[[knob]]\nknob = "romio.cb_node"\nvalues = [1]\n', "no knob 'romio.cb_node'"),
        ('[[knob]]\nknob = "romio.cb_nodes"\n', "its values?"), (KNOB + KNOB, "two knobs are called 'cb_nodes'"),
        (KNOB + KNOB + 'name = "other"\n', "romio.cb_nodes is there twice for the same files"),
        (KNOB.replace("4", "-5"), "-5 is out of its range"), (KNOB.replace("4", "2"), "twice"),
        (KNOB + "wher = 1\n", "no key 'wher'"),
        (KNOB + "[[seed]]\ncb_nodes = 3\n", "[[seed]]"), (KNOB + "[[seed]]\ncb = 1\n", "[[seed]]"),
        ('constraints = ["cb_node < 2"]\n' + KNOB, "no knob 'cb_node'"),
        ('constraints = ["cb_nodes <"]\n' + KNOB, "is no condition"),
        ('constraints = ["open(cb_nodes)"]\n' + KNOB, "'open(cb_nodes)' is none of"),
        ('constraints = ["cb_nodes < \'a\'"]\n' + KNOB, "not supported"),
        ('constraints = ["cb_nodes < 4"]\n' + KNOB + "[[seed]]\ncb_nodes = 4\n", "breaks a constraint"),
    ],
)  # fmt: skip
def test_a_bad_space_is_one_line_before_any_run(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"space\.toml") as error:
        read(path)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_the_catalog_says_what_is_worth_a_search() -> None:
    choices = {
        key: default_space.values(knob, Limits(ranks=6, osds=3)) for key, knob in catalog().items()
    }
    assert choices["romio.cb_nodes"] == [1, 2, 4, 6]
    assert choices["romio.cb_config_list"] == ["*:1", "*:2", "*:4", "*:*"]
    assert choices["romio.cb_buffer_size"] == [1 << n for n in range(20, 29)]
    assert choices["romio.romio_cb_write"] == ["automatic", "enable", "disable"]
    assert choices["ceph.stripe_count"] == [1, 2, 3] and choices["forwarder.striping_factor"] == []
    assert choices["lustre.striping_factor"] == choices["hdf5.alignment"] == []
    chosen = ("romio.cb_nodes", "romio.cb_buffer_size", "romio.romio_cb_write")
    every = Space(tuple(Dimension(key, key, (None, *choices[key])) for key in chosen))
    expert = tuple(default_space.expert(dimension) for dimension in every.dimensions)
    assert list(every.named(expert).values()) == [6, 4 << 20, None]
    for dimension in every.dimensions:
        for value in dimension.values[1:]:
            assert of_knob(catalog()[dimension.knob], value)


def conditional() -> Space:
    """ROMIO's switches, what needs them and what brings another knob along; all alive."""
    names = ("cb_nodes", "cb_config_list", "romio_cb_write", "romio_ds_write", "ind_wr_buffer_size")
    knobs = [catalog()[f"romio.{name}"] for name in names]
    return Space(
        default_space._with_conditions(
            [
                Dimension(
                    knob.key,
                    knob.key,
                    (None, *default_space.values(knob, Limits(ranks=4))),
                    {},
                    dict(knob.beside),
                )
                for knob in knobs
            ]
        )
    )


def test_switches_are_searched_and_what_needs_them_is_set_with_them_alone() -> None:
    space = conditional()
    assert [one.knob for one in space.dimensions] == [
        f"romio.{name}"
        for name in ("cb_nodes", "romio_cb_write", "romio_ds_write", "ind_wr_buffer_size")
    ]
    assert space.dimensions[0].beside == {"cb_config_list": "*:*"}
    random = Random(1)
    for point in [space.draw(random) for _ in range(300)]:
        named = {key.rpartition(".")[2]: value for key, value in space.named(point).items()}
        if named["romio_ds_write"] is not None:
            assert named["romio_cb_write"] == "disable"
        if named["ind_wr_buffer_size"] is not None:
            assert named["romio_ds_write"] == "enable"
    # A sieving buffer alone brings both, and an expert's sizes turn no two-phase I/O off.
    last = space.completed((0, 0, 0, 1))
    text = space.settings(last)
    assert 'romio_cb_write = "disable"' in text and 'romio_ds_write = "enable"' in text
    expert = space.settled(tuple(default_space.expert(one) for one in space.dimensions))
    assert "romio" not in space.settings(expert).replace("[file.romio]", "")


def test_nothing_is_searched_that_writes_nothing() -> None:
    force = catalog()["romio.ROMIO_FSTYPE_FORCE"]
    assert default_space.values(force, Limits()) == ["ufs:", "nfs:"]
    assert default_space.values(catalog()["hdf5.coll_metadata_write"], Limits()) == [True, False]


def test_seconds_are_those_of_search_and_proof() -> None:
    given = options(seconds=100.0, finalists=3, repeats=5)
    plan = Plan(given, COST, GRID, ())
    trials = play(plan, lambda _stage, _turn, point: valley(point))
    # Trials last 1 s: at most 9 in the race, 15 as proof; the rest is the search's.
    before_proof = [one for one in trials if one.stage in ("look", "default", "search")]
    assert len([one for one in before_proof if one.state != "known"]) <= 100 - 9 - 15 + 1
    words = plan.in_words(trials)
    assert "to 600 trials or 76 s" in words[0] and "9 runs in a race, 15 against" in words[1]
    tight = Plan(options(seconds=20.0), COST, GRID, ())
    assert "takes longer" in tight.in_words(trials)[-1]


def test_a_bad_command_line_runs_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad.toml"
    bad.write_text(KNOB.replace("4", "-5"))
    for words, message in (
        ([], "which program"), (["--space", bad, "--", "true"], "out of its range"),
        (["--trials", "0", "--", "true"], "--trials"), (["--verify", "checksum", "--", "true"], "{out}"),
        (["--maximize", "--", "true"], "--maximize"), (["--seconds", "nan", "--", "true"], "--seconds"),
        (["--repeats", "4", "--", "true"], "from 5 on"), (["--worth", "-1", "--", "true"], "--worth"),
        (["--compare", "ga", "--", "true"], "another sampler"),
        (["--try", "sieve", "--", "true"], "--try: no finding 'sieve'; docs/findings.md lists them"),
        (["--try", "sieving", "--space", bad, "--", "true"], "--try searches nothing: leave --space out"),
        (["auto", "--try", "--", "true"], "fathom tune --try [FINDING] … -- PROGRAM"),
    ):  # fmt: skip
        assert message in refused(capfd, 2, "tune", *words)
    assert "no such search" in refused(capfd, 3, "tune", "show", "nothing")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


PROGRAM = """
agg=${OMPI_MCA_io_ompio_num_aggregators:-0}
dd if=/dev/zero of="$1/data" bs=4096 count=4 2>&-
case $agg in
1) echo nonsense > "$1/data"; echo 1; exit ;;
2) echo 2; exit 3 ;;
32) sleep 1000 ;;
esac
echo $((100 + (agg - 8) * (agg - 8)))
"""
#: Ends the command that waits for it, once at each of these trials.
KILL = """
n=$(basename "$(dirname "$TUNE_RUN")")
case $n in {at}) mkdir killed.$n 2>/dev/null && kill -9 $PPID ;; esac
tail -n 1 "$TUNE_PRINTED"
"""


def start(
    folder: Path, name: str, kills: str, values: str, *more: str
) -> subprocess.CompletedProcess[str]:
    (folder / "p.sh").write_text(PROGRAM)
    (folder / "space.toml").write_text(
        f'[[knob]]\nknob = "{AGG}"\nname = "agg"\nvalues = {values}\n'
    )
    words = ["tune", "-o", name, "--space", "space.toml", "--objective", KILL.format(at=kills)]
    words += ["--finalists", "1", *more, "--", "sh", "p.sh", "{out}"]
    return subprocess.run(
        [sys.executable, "-m", "fathom", *words], cwd=folder, env=dict(os.environ), text=True,
        capture_output=True, timeout=500, check=False,
    )  # fmt: skip


def killed_and_resumed(folder: Path, at: Collection[int], values: str, *more: str) -> None:
    """Killed once at each of these trials, where that is a run."""
    kills = "|".join(map(str, at))
    done, times = start(folder, "cut", kills, values, *more), 0
    while done.returncode == -9:
        times += 1
        done = start(folder, "cut", kills, values, *more)
    assert done.returncode == 0, done.stderr
    assert "a gain: 1.64 times as good (95 % sure: 1.64 to 1.64;" in done.stdout
    assert "= 8\n" in (folder / "cut.tune" / "settings.toml").read_text()
    ledger = Ledger(folder / "cut.tune" / "tune.db")
    trials = ledger.trials()
    ran = [trial for trial in trials if trial.tries]
    states = {one.settings.get("agg"): one.state for one in ran}
    assert (states[1], states[2], states[8]) == ("wrong", "failed", "done")
    assert "2 of them failed, hung or wrong" in done.stdout
    assert not list((folder / "cut.tune").glob("out.*"))
    assert ledger.value("limits")["osds"] is None  # looked for
    hit = [one for one in ran if one.trial in at and one.score is not None]  # its command ran
    assert {"look", "search", "proof"} <= {one.stage for one in hit}
    assert times == len(list(folder.glob("killed.*"))) == len(hit)
    assert [one.tries for one in ran] == [2 if one in hit else 1 for one in ran]
    as_planned(ledger)


def as_planned(ledger: Ledger) -> None:
    """Each trial is the one that follows from those before it, and after the last there is none."""
    plan, trials = planned(ledger), ledger.trials()
    assert plan and [trial.trial for trial in trials] == list(range(1, len(trials) + 1))
    for number, trial in enumerate(trials[1:], start=1):
        step = plan.next(trials[:number])
        assert step and (step.stage, step.round, step.point) == (
            trial.stage,
            trial.round,
            trial.point,
        )
    assert plan.next(trials) is None


def test_killed_and_resumed_no_trial_is_lost_or_doubled(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ("auto", "--sampler", "ga", "--trials", "60", "--seconds", "1e6", "--store", "p.db")
    killed_and_resumed(tmp_path, (1, 5, 28), "[1, 2, 8]", *more)
    (entry,) = Base(tmp_path / "p.db").entries()  # `auto` remembers what it found
    assert (entry.name, entry.default, entry.best) == ("cut", 164, 100)
    monkeypatch.chdir(tmp_path)
    status, out, _ = fathom(capfd, "tune", "show", "cut")
    assert status == 0 and "agg=1" in out and "data: differs from the default's" in out
    status, out, _ = fathom(capfd, "tune", "show", "cut", "--proof", "--json")
    assert status == 0 and json.loads(out)["settings"] == {"agg": 8}
    other = start(tmp_path, "cut", "none", "[1, 2, 8]", *more, "--seed", "9")
    assert other.returncode == 2 and "begun otherwise (objective, seed)" in other.stderr


@pytest.mark.full
def test_killed_at_every_trial(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, range(1, 300), "[1, 2, 4, 8, 16]")


@pytest.mark.full
def test_a_trial_that_hangs_is_ended_and_costs(tmp_path: Path) -> None:
    done = start(tmp_path, "hung", "none", "[8, 32]", "--timeout", "20")
    assert done.returncode == 0, done.stderr
    trials = Ledger(tmp_path / "hung.tune" / "tune.db").trials()
    hung = [trial for trial in trials if trial.state == "hung"]
    # An expert's rule names it too, and what hangs in the proof has lost by that.
    assert [one.stage for one in hung] == ["search", "proof"]
    assert all(one.settings == {"agg": 32} and (one.seconds or 0) >= 20 for one in hung)
    assert "an expert's rule fails" in " ".join(done.stdout.split())


def test_output_is_compared_by_checksum_h5diff_or_a_command(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("right", "same", "other")]
    for folder, value, userblock in zip(folders, (1, 1, 2), (0, 512, 0), strict=True):
        folder.mkdir()
        with h5py.File(folder / "f.h5", "w", userblock_size=userblock) as file:
            file["x"] = [value] * 100
        (folder / "log").write_text("done")
    right, same, other = folders
    extra = shutil.copytree(right, tmp_path / "extra")
    (extra / "more").touch()
    for way, wrong in (
        ("checksum", (False, True, True, True)),
        ("h5diff", (False, False, True, True)),
        ('cmp "$TUNE_REFERENCE/log" "$TUNE_OUT/log"', (False, False, False, False)),
        ('test -e "$TUNE_OUT/more"', (True, True, True, False)),
    ):
        if way == "h5diff" and not shutil.which("h5diff"):
            continue
        reference = Reference(way, right, 60)
        assert tuple(bool(reference.wrong(out)) for out in (right, same, other, extra)) == wrong


def test_output_that_differs_from_run_to_run_cannot_be_verified(tmp_path: Path) -> None:
    (tmp_path / "p.sh").write_text('echo $$ > "$1/data"; echo 1')
    (tmp_path / "space.toml").write_text(KNOB)
    words = ["tune", "--space", "space.toml", "--", "sh", "p.sh", "{out}"]
    done = subprocess.run(
        [sys.executable, "-m", "fathom", *words], cwd=tmp_path, text=True, capture_output=True, check=False
    )  # fmt: skip
    assert done.returncode == 3 and "differs from run to run: --verify" in done.stderr


@pytest.mark.parametrize(
    ("knob", "words", "is_named"),
    [
        ("hdf5.dxpl_mpio", "H5Pset_dxpl_mpio", True), ("romio.cb_nodes", "cb_nodes and cb_config_list", True),
        ("hdf5.dxpl_mpio", "H5Pset_dxpl_mpio_chunk_opt", False), ("romio.cb_nodes", "", False),
    ],
)  # fmt: skip
def test_findings_name_knobs_by_their_functions_too(knob: str, words: str, is_named: bool) -> None:
    assert default_space.is_named(Dimension("a", knob, (None, 1)), words) == is_named


def test_where_files_are_on_cephfs_its_searched_layoutsare_searched() -> None:
    limits = Limits(osds=4, pools=("data", "quick"))
    searched_layouts = {
        layout.knob: layout for layout in default_space.layouts(["p", "{out}/f"], limits)
    }
    assert searched_layouts["ceph.pool"].values == (None, "data", "quick")
    assert searched_layouts["ceph.stripe_count"].values == (None, 1, 2, 3, 4)
    text = Space(tuple(searched_layouts.values())).settings((1, 4, 2))
    assert 'directory = "{out}"' in text and 'stripe_count = 4\npool = "quick"' in text
    one_pool = default_space.layouts(["p", "{out}"], Limits(osds=4, pools=("data",)))
    assert "ceph.pool" not in {one.knob for one in one_pool}
    assert not default_space.layouts(["p", "out"], limits) and not default_space.layouts(
        ["p", "{out}"], Limits()
    )
