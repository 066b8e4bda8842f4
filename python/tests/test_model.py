"""`fathom tune model` and `--sampler model`: known formulas are recovered, bad trials do no harm, few runs do."""

import itertools
import json
import math
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fathom.errors import FathomError
from fathom.tune.model import history, regression
from fathom.tune.model.design import draw
from fathom.tune.model.factors import SIZE, Basis, Row, Scale, Term, named
from fathom.tune.model.judge import choose, judge
from fathom.tune.model.model import KINDS, Model, fit, grid
from fathom.tune.search.ledger import Ledger
from fathom.tune.search.limits import Limits, limited, widened
from fathom.tune.search.sampler import Observation
from fathom.tune.search.samplers import SAMPLERS
from fathom.tune.search.space import Dimension, Point, Space
from recorded_searches import recorded
from test_commands import fathom, refused
from test_tune import options

SMALL = ("column_r1", "column_r2", "column_r2b")
MIB, BAD = 1 << 20, math.inf
UNKNOWN = Scale()
COUNTS = tuple(1 << n for n in range(8))
SPACE = Space(
    (
        Dimension("a", "romio.cb_nodes", (None, *COUNTS)),
        Dimension("c", "lustre.stripe_count", (None, *COUNTS)),
        Dimension("s", "romio.cb_buffer_size", (None, *(f"{n}MiB" for n in COUNTS))),
        Dimension("w", "romio.romio_cb_write", (None, "enable", "disable")),
    )
)


def at(*point: int) -> dict[str, Any]:
    return named(SPACE, point)


def x(name: str) -> Basis:
    return Basis(name, "x")


def over(name: str) -> Basis:
    return Basis(name, "1/x")


def sampled(count: int, seed: int, cost: Any, noise: float, scale: Scale = UNKNOWN) -> list[Row]:
    random = Random(seed)
    rows = []
    for _ in range(count):
        settings = named(SPACE, SPACE.draw(random))
        rows.append(Row(settings, cost(settings, scale) * (1 + random.gauss(0, noise)), scale))
    return rows


def paper(set_: dict[str, Any], scale: Scale) -> float:
    """Equation 1 of Behzad et al. 2019 without c/s, which takes away."""
    a, c, s = set_["a"] or 1, set_["c"] or 1, (set_["s"] or 16 * MIB) / MIB
    f = (scale.bytes or 0) / MIB
    return 10.59 + 68.99 / s + 59.83 / a + 2.26 * f / c + 0.18 * f / s + 0.01 * c * f / a


def terms_of(model: Model | None) -> set[Term]:
    assert model is not None and isinstance(model.fitted, regression.Regression)
    return {tuple(sorted(term, key=str)) for term in model.fitted.terms}


def test_the_papers_formula_is_recovered_from_noisy_trials_of_several_sizes() -> None:
    scales = [Scale(64, size * MIB) for size in (8, 64, 256, 1024)]
    rows = [row for n, at in enumerate(scales) for row in sampled(84, n, paper, 0.03, at)]
    set_rows = [row for row in rows if all(row.named[k] is not None for k in "acs")]
    model = fit(SPACE, set_rows)
    wanted: list[Term] = [
        (), (over("s"),), (over("a"),), (x(SIZE), over("c")), (x(SIZE), over("s")),
        (x("c"), x(SIZE), over("a")),
    ]  # fmt: skip
    assert terms_of(model) == {tuple(sorted(term, key=str)) for term in wanted}
    assert model is not None and isinstance(model.fitted, regression.Regression)
    true = {(): 10.59, ("1/s",): 68.99}
    assert model.fitted.coefficients[0] == pytest.approx(true[()], rel=0.25)
    text = model.formula("seconds")
    assert "· file size / c" in text and "/ a" in text
    # Fitted at up to 1 GiB, asked about 16: the best of the grid there.
    big = Scale(64, 16384 * MIB)
    every = [paper(named(SPACE, p), big) for p in grid(SPACE)]
    costs = [paper(named(SPACE, one.point), big) for one in model.best(big)]
    assert min(costs) == min(every)


def test_what_is_not_set_is_a_level_of_its_own() -> None:
    def cost(set_: dict[str, Any], _: Scale) -> float:
        return 10 + (40 / set_["a"] if set_["a"] else 90) + (25 if set_["w"] == "disable" else 0)

    model = fit(SPACE, sampled(60, 1, cost, 0.02))
    wanted = [(), (over("a"),), (Basis("a", "is", None),), (Basis("w", "is", "disable"),)]
    assert terms_of(model) == set(wanted)
    assert model is not None
    text = model.formula("runtime [s]")
    assert "[a not set]" in text and "[w = disable]" in text and "/ a" in text


def test_where_nothing_matters_the_formula_is_a_constant() -> None:
    for seed in range(10):
        model = fit(SPACE, sampled(60, seed, lambda *_: 5.0, 0.05))
        assert len(terms_of(model)) <= 2, seed  # the criterion lets chance in at most once


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([Row(at(1, 1, 1, 1), 3.0)], id="one trial"),
        pytest.param([Row(at(1, 1, 1, 1), 3.0)] * 30, id="the same again"),
        pytest.param([Row(at(n % 8, 0, 0, 0), 7.0) for n in range(30)], id="constant costs"),
        pytest.param([Row(at(n % 8, 0, 0, 0), 0.0) for n in range(30)], id="costs of 0"),
        pytest.param([Row(at(n % 8, n % 3, 0, 0), n - 9.5) for n in range(30)], id="both signs"),
        pytest.param([Row(at(n % 8, n % 3, 0, 0), -1.0 - n) for n in range(30)], id="rates"),
        pytest.param([Row(at(n % 8, 1, 0, 0), 9.0 if n % 2 else BAD) for n in range(30)], id="failed trials"),
        pytest.param([Row(at(n % 8, 1, 0, 0), 9e9 if n % 2 else 1e-300) for n in range(25)], id="far apart"),
        pytest.param([Row(at(n, n, n, n % 3), 2.0 + n) for n in range(9)], id="knobs that go together"),
    ],
)  # fmt: skip
def test_predictions_are_numbers_and_models_are_json(kind: str, rows: list[Row]) -> None:
    model = fit(SPACE, rows, kind)
    assert model is not None
    best = model.best()
    assert best and len({one.point for one in best}) == len(best) <= 20
    assert all(math.isfinite(one.cost) for one in best)
    again = Model.from_json(json.loads(json.dumps(model.to_json(), allow_nan=False)))
    assert again == model and again.best() == best
    assert all(map(math.isfinite, model.costs([Row(named(SPACE, p), 0.0) for p in grid(SPACE)])))


def test_of_failed_trials_alone_there_is_no_model() -> None:
    assert fit(SPACE, [Row(named(SPACE, SPACE.default), math.inf)]) is None


def test_values_that_always_failed_are_not_proposed() -> None:
    rows = [
        Row(named(SPACE, point), math.inf if point[3] == 2 else 50 - 5.0 * point[0])
        for point in itertools.product(range(1, 8), (1, 2), (1,), range(3))
    ]
    model = fit(SPACE, rows)
    assert model is not None and {one.named["w"] for one in model.best()} <= {None, "enable"}
    assert {one.named["a"] for one in model.best()} <= {64, 128}


@pytest.mark.parametrize("bad", [None, [], {}, {"format": 2}, {"format": 1, "kind": "magic"}])
def test_what_is_no_model_is_refused(bad: Any) -> None:
    model = fit(SPACE, sampled(30, 1, paper, 0.1, Scale(4, MIB)))
    assert model is not None
    for data in (bad, {**model.to_json(), "terms": [], "coefficients": []}):
        with pytest.raises(FathomError, match="no model of fathom tune"):
            Model.from_json(data)


def led(cost: Any, space: Space, **other: Any) -> list[Observation]:
    """What `--sampler model` asks for, and is told."""
    sampler, observations = SAMPLERS["model"](space, options(**{"sampler": "model", **other})), []
    while len(observations) < other["trials"] and (point := sampler.ask(observations)) is not None:
        observations.append(Observation(point, cost(point)))
    return observations


def writing(point: Point) -> float:
    """Aggregators help until they are many, buffers until they are large, and are nothing without each other."""
    set_ = at(*point)
    a, c, s = set_["a"] or 1, set_["c"] or 1, (set_["s"] or 16 * MIB) / MIB
    return 5 + 60 / a + 0.4 * a + 40 / c + 0.1 * c + 20 / s + (25 if set_["w"] == "disable" else 0)


def test_a_model_leads_to_the_best_in_few_trials() -> None:
    every = sorted(map(writing, grid(SPACE)))
    for seed in range(3):
        random = Random(seed)

        def noisy(point: Point, random: Random = random) -> float:
            return writing(point) * (1 + random.gauss(0, 0.03))

        observations = led(noisy, SPACE, trials=100, seed=seed)
        points = [observation.point for observation in observations]
        assert len(set(points)) == len(points) <= 100 < len(every) / 20  # and it stops
        assert min(map(writing, points)) <= 1.03 * every[0]
        by_chance = [SPACE.draw(random) for _ in points]
        assert min(map(writing, points)) < min(map(writing, by_chance))


def test_a_model_that_was_begun_again_asks_the_same() -> None:
    observations = led(writing, SPACE, trials=64, seed=3)
    for count in (0, 39, 40, len(observations) - 1):
        again = SAMPLERS["model"](SPACE, options(sampler="model", trials=64, seed=3))
        assert again.ask(observations[:count]) == observations[count].point


def test_failed_trials_and_conditions_are_kept_to() -> None:
    space = limited(SPACE, Limits(ranks=16))  # of the catalog's, cb_nodes ends at the ranks

    def cost(point: Point) -> float:
        return math.inf if at(*point)["w"] == "enable" else writing(point)

    observations = led(cost, space, trials=80, seed=1)
    assert {at(*observation.point)["a"] for observation in observations} == {None, 1, 2, 4, 8, 16}
    assert all(at(*observation.point)["w"] != "enable" for observation in observations[60:])


def test_training_designs_are_of_the_values_that_they_say() -> None:
    space = Space((Dimension("a", "romio.cb_nodes", (None, *range(1, 13))), SPACE.dimensions[3]))
    numbers = {
        name: {at_[0] for at_ in draw(space, name, 30, 0)} for name in ("powers", "halves", "all")
    }
    assert numbers == {"powers": {0, 1, 2, 4, 8}, "halves": {0, 1, 3, 6, 12}, "all": {*range(13)}}
    pairs = Counter((one[0], one[3]) for one in draw(SPACE, "all", 54, 0))
    assert len(pairs) == 27 and max(pairs.values()) <= 3  # balanced: 54 trials, 27 pairs
    few = Space((Dimension("w", "romio.romio_cb_write", (None, "enable")),))
    assert sorted(draw(few, "powers", 9, 0)) == [(0,), (1,)]


def test_limits_of_another_run_open_and_close_the_space() -> None:
    counts = Dimension("cb_nodes", "romio.cb_nodes", (None, 1, 2, 4))
    small = Space((counts,))
    assert {p[0] for p in grid(limited(small, Limits(ranks=2)))} == {0, 1, 2}
    assert limited(small, Limits()) == small and widened(small, Limits(ranks=4)) == small
    (wide,) = widened(small, Limits(ranks=24)).dimensions
    assert wide.values == (None, 1, 2, 4, 8, 16, 24)


SCRIPT = """
a=${OMPI_MCA_io_ompio_num_aggregators:-1}
b=$((${OMPI_MCA_io_ompio_bytes_per_agg:-33554432} / 65536))
g=${OMPI_MCA_fcoll:-vulcan}
echo data > "$1/data"
echo $((2000 + 6400 / a + 90 * a + 12800 / b + 10 * b + 900 * (${#g} > 8)))
"""
SEARCHED = """
[[knob]]
knob = "ompio.io_ompio_num_aggregators"
values = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32]
[[knob]]
knob = "ompio.io_ompio_bytes_per_agg"
values = ["64KiB", "128KiB", "256KiB", "512KiB", "1MiB", "2MiB", "4MiB", "8MiB", "16MiB", "32MiB"]
[[knob]]
knob = "ompio.fcoll"
values = ["vulcan", "dynamic", "individual"]
"""


@pytest.mark.full
def test_a_real_search_finds_the_exact_best_of_a_grid_at_a_tenth_of_its_cost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.sh").write_text(SCRIPT)
    (tmp_path / "space.toml").write_text(SEARCHED)
    monkeypatch.chdir(tmp_path)
    words = ["-o", "s", "--space", "space.toml", "--objective", 'tail -n 1 "$TUNE_PRINTED"']
    words += ["--sampler", "model", "--json", "--", "sh", "p.sh", "{out}"]
    status, out, errors = fathom(capfd, "tune", *words)
    assert status == 0, errors
    result = json.loads(out)
    best = 2000 + 6400 // 8 + 90 * 8 + 12800 // 32 + 10 * 32  # 8 aggregators, 2 MiB
    assert result["settings"]["io_ompio_num_aggregators"] == 8
    assert result["settings"]["io_ompio_bytes_per_agg"] == "2MiB"
    trials = [
        trial
        for trial in Ledger(tmp_path / "s.tune" / "tune.db").trials()
        if trial.stage == "search"
    ]
    assert min(trial.score for trial in trials if trial.score) == best
    assert len(trials) <= 14 * 11 * 4 / 10
    status, out, _ = fathom(capfd, "tune", "model", "s")
    assert status == 0
    assert "/ io_ompio_num_aggregators" in out and "[fcoll = individual]" in out


def test_trials_that_were_recorded_are_learnt_and_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("column_r1", "column_r2"):
        recorded(tmp_path, name)
    status, out, _ = fathom(capfd, "tune", "model", "column_r1", "column_r2")
    assert status == 0 and "regression" in out and "trees" in out
    lines = out.splitlines()
    assert lines[1].startswith("column_r2: ") and lines[1].endswith("0 failed; 2 ranks, 2.0 MiB")
    assert "1 / rate [1/(MB/s)] = " in out and "rank count" in out and "cb_nodes" in out
    best = next(n for n, line in enumerate(lines) if line.startswith("predicted  measured")) + 1
    assert "cb_nodes=2" in lines[best]  # each process has a rate of its own
    status, out, _ = fathom(capfd, "tune", "model", "column_r2", "--json")
    data = json.loads(out)
    assert status == 0 and data["kind"] == "regression" and len(data["best"]) == 20
    assert {one["kind"] for one in data["held_out"]} == {"regression", "trees"}
    assert all(one["error"] < 0.3 and one["order"] > 0.5 for one in data["held_out"])
    model = Model.from_json(data["model"])
    best_settings = model.best(Scale(2, 2 * MIB))
    assert [-setting.cost for setting in best_settings] == [
        one["predicted"] for one in data["best"]
    ]


def test_what_cannot_be_learnt_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded(tmp_path, "column_r1")
    other = recorded(tmp_path, "column_r2")
    assert "no such search" in refused(capfd, 3, "tune", "model", "nothing")
    assert "fathom tune model NAME…" in refused(capfd, 2, "tune", "model")
    assert "run directory" in refused(capfd, 3, "tune", "model", "column_r1", "--for", "nothing")
    record = ["run", "--no-show", "-o", "r.fathom", "--", "sh", "-c", "echo 1 > f"]
    subprocess.run([sys.executable, "-m", "fathom", *record], check=True, capture_output=True)
    status, out, _ = fathom(capfd, "tune", "model", "column_r2", "--for", "r.fathom")
    assert status == 0 and "predicted to be best, unknown number of ranks" in out
    message = refused(capfd, 3, "tune", "model", "column_r1", "column_r2", "--for", "r.fathom")
    assert "no rank of MPI, which the model is about" in message
    ledger = Ledger(other / "tune.db")
    ledger.keep("options", {**ledger.value("options"), "objective": "runtime"})
    message = refused(capfd, 2, "tune", "model", "column_r1", "column_r2")
    assert "searches of one objective" in message
    ledger.keep("space", None)
    assert "nothing to learn from" in refused(capfd, 3, "tune", "model", "column_r2")


def costs_of(rows: Sequence[Row]) -> dict[str, float]:
    """Of each setting its median cost."""
    costs_by_setting: dict[str, list[float]] = {}
    for row in rows:
        costs_by_setting.setdefault(json.dumps(row.named), []).append(row.cost)
    return {key: statistics.median(costs) for key, costs in costs_by_setting.items()}


def regret(model: Model | None, costs: dict[str, float], scale: Scale) -> float:
    """How much worse the best of its 20 was than the best that was recorded: rates, so costs are negative."""
    assert model is not None
    costs_of_best = [
        costs.get(json.dumps(named(model.space, p.point)), 0.0) for p in model.best(scale)
    ]
    return min(costs.values()) / min(costs_of_best) - 1


def test_regret_on_recorded_trials_falls_with_training(tmp_path: Path) -> None:
    whole = history.read(recorded(tmp_path, "column"))
    costs = costs_of(whole.rows)
    assert len(costs) == whole.space.size == 105  # exhaustive
    keys, best, random = sorted(costs), min(costs.values()), Random(0)
    # 20 trials to train on and its 20 best, against 40 trials by chance.
    tries = [min(costs[key] for key in random.sample(keys, 40)) for _ in range(200)]
    by_chance = statistics.mean(best / lowestts - 1 for lowestts in tries)
    for kind in KINDS:
        means = []
        for count in (10, 20, 60):
            samples = [Random(seed).sample(keys, count) for seed in range(3)]
            rows = [[Row(json.loads(key), costs[key]) for key in some] for some in samples]
            lowestts = [regret(fit(whole.space, some, kind), costs, whole.scale) for some in rows]
            means.append(statistics.mean(lowestts))
        assert means == sorted(means, reverse=True) and means[-1] == 0.0
        assert means[1] < by_chance


def test_what_was_fitted_at_few_ranks_and_small_files_is_good_at_more_and_larger(
    tmp_path: Path,
) -> None:
    small = [history.read(recorded(tmp_path, name)) for name in SMALL]
    large = history.read(recorded(tmp_path, "column"))
    assert {one.scale.ranks for one in small} == {1, 2} and large.scale == Scale(4, 8 * MIB)
    rows = [row for one in small for row in one.rows]
    costs = costs_of(large.rows)
    model = fit(large.space, rows, spaces=[one.space for one in small])
    assert model is not None and regret(model, costs, large.scale) <= 0.1
    default = costs[json.dumps(named(large.space, large.space.default))]
    assert costs[json.dumps(named(large.space, model.best(large.scale)[0].point))] < 2 * default


def test_the_kind_is_chosen_by_regret_on_applications_that_were_left_out() -> None:
    random, space = Random(1), Space(SPACE.dimensions[:2])
    pairs = {point: random.uniform(10, 100) for point in grid(space)}

    def smooth(point: Point) -> float:
        return writing((*point, 1, 0))

    for cost, kind in ((pairs.__getitem__, "trees"), (smooth, "regression")):
        rows = [
            Row(named(space, point), speed * cost(point), application=name)
            for name, speed in (("one", 1.0), ("two", 1.3), ("three", 0.8))
            for point in random.sample(grid(space), 60)
        ]
        chosen, judged = choose([space], rows)
        assert chosen == kind
        assert [one.held for one in judged if one.kind == kind] == ["one", "two", "three"]
        assert choose([space], rows[:60])[0] == "regression"  # of one application: what can be read


def test_of_an_application_that_was_left_out_20_settings_have_the_best(tmp_path: Path) -> None:
    both = [history.read(recorded(tmp_path, name)) for name in ("column", "block")]
    spaces, rows = [one.space for one in both], [row for one in both for row in one.rows]
    for kind in KINDS:
        judged = judge(spaces, rows, kind)
        assert [(one.settings, one.top) for one in judged] == [(105, 20), (105, 20)]
        assert all(one.regret <= 0.1 and one.order > 0.5 for one in judged)
    assert choose(spaces, rows)[0] == "regression"  # both find it: the one that can be read
