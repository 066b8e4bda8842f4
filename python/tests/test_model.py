"""`fathom tune model` and `--sampler model`: known formulas are recovered, bad trials do no harm, few runs do."""

import itertools
import json
import math
from collections import Counter
from random import Random
from typing import Any

import pytest
from fathom.errors import FathomError
from fathom.search.limits import Limits, limited, widened
from fathom.search.model import regression
from fathom.search.model.design import draw
from fathom.search.model.factors import SIZE, Basis, Row, Scale, Term, named
from fathom.search.model.model import KINDS, Model, fit, grid
from fathom.search.samplers import SAMPLERS
from fathom.search.space import Dimension, Point, Space
from fathom.search.told import Told
from test_tune import options

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


def led(cost: Any, space: Space, **other: Any) -> list[Told]:
    """What `--sampler model` asks for, and is told."""
    sampler, told = SAMPLERS["model"](space, options(**{"sampler": "model", **other})), []
    while len(told) < other["trials"] and (point := sampler.ask(told)) is not None:
        told.append(Told(point, cost(point)))
    return told


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

        told = led(noisy, SPACE, trials=100, seed=seed)
        points = [one.point for one in told]
        assert len(set(points)) == len(points) <= 100 < len(every) / 20  # and it stops
        assert min(map(writing, points)) <= 1.03 * every[0]
        by_chance = [SPACE.draw(random) for _ in points]
        assert min(map(writing, points)) < min(map(writing, by_chance))


def test_a_model_that_was_begun_again_asks_the_same() -> None:
    told = led(writing, SPACE, trials=64, seed=3)
    for count in (0, 39, 40, len(told) - 1):
        again = SAMPLERS["model"](SPACE, options(sampler="model", trials=64, seed=3))
        assert again.ask(told[:count]) == told[count].point


def test_failed_trials_and_conditions_are_kept_to() -> None:
    space = limited(SPACE, Limits(ranks=16))  # of the catalogue's, cb_nodes ends at the ranks

    def cost(point: Point) -> float:
        return math.inf if at(*point)["w"] == "enable" else writing(point)

    told = led(cost, space, trials=80, seed=1)
    assert {at(*one.point)["a"] for one in told} == {None, 1, 2, 4, 8, 16}
    assert all(at(*one.point)["w"] != "enable" for one in told[60:])


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
