"""What `fathom tune` says of its winner: by fresh runs alone, against the noise, at what cost; on known grids."""

import itertools
import random
from statistics import median
from typing import Any

import pytest
from fathom.tune.search.constraint import parse
from fathom.tune.search.ledger import Trial
from fathom.tune.search.objective import Objective
from fathom.tune.search.options import AUTO
from fathom.tune.search.plan import EXPERT, SEED, Plan
from fathom.tune.search.space import Point, Space
from fathom.tune.search.statistics import cliffs_delta, holm, rank_test, ratio_interval
from fathom.tune.search.verdict import Result, result
from test_tune import COST, GRID, Grid, options, play

LUCKY, GOOD, RULE = (1, 1, 1, 1), (5, 2, 6, 3), (7, 0, 7, 0)


def by_ranks(ours: list[int], others: list[int]) -> float:
    """Mann and Whitney's p from its definition: all ways of choosing as many."""
    every = [*ours, *others]
    below = [
        sum(other < one for other in every) + sum(other == one for other in every) / 2
        for one in every
    ]
    middle = sum(below) * len(ours) / len(every)
    far = abs(sum(below[: len(ours)]) - middle)
    sums = [abs(sum(some) - middle) for some in itertools.combinations(below, len(ours))]
    return sum(one >= far - 1e-9 for one in sums) / len(sums)


def test_the_rank_test_is_that_of_all_ways_to_choose() -> None:
    draw = random.Random(4)
    for _ in range(200):
        ours, others = (
            [draw.randrange(6) for _ in range(draw.randint(1, 5))] for _ in range(2)
        )  # many ties
        assert rank_test(ours, others) == pytest.approx(by_ranks(ours, others))
    assert rank_test([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == pytest.approx(2 / 252)


def test_intervals_are_those_of_all_drawings() -> None:
    ours, others = [3.0, 4.0, 8.0], [10.0, 11.0, 19.0]
    every = sorted(
        median(above) / median(below)
        for above in itertools.product(others, repeat=3)
        for below in itertools.product(ours, repeat=3)
    )
    within = (every[int(0.025 * len(every))], every[int(0.975 * len(every))])
    assert ratio_interval(others, ours) == pytest.approx(within)
    assert ratio_interval([2.0] * 5, [1.0] * 5) == (2.0, 2.0)


def test_effects_and_several_tests_at_once() -> None:
    assert cliffs_delta([1, 2], [3, 4]) == 1 and cliffs_delta([3], [1, 3]) == -0.5
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06}
    )
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}


def plan(*first: tuple[str, Point], objective: Objective = COST, **other: Any) -> Plan:
    return Plan(options(trials=len(first), **other), objective, GRID, first)


def proved(one: Plan, cost: Any) -> tuple[Result, list[Trial]]:
    trials = play(one, cost)
    outcome = result(one, trials)
    assert outcome is not None
    return outcome, trials


def points(trials: list[Trial], stage: str) -> list[Point]:
    return [trial.point for trial in trials if trial.stage == stage]


def test_the_luckiest_run_of_the_search_does_not_win() -> None:
    def cost(stage: str, turn: int, point: Point) -> float:
        if point == LUCKY:
            return 1.0 if stage == "search" else 40.0 + turn
        return {GOOD: 10.0, RULE: 20.0}.get(point, 30.0) + turn % 5 / 10

    outcome, trials = proved(plan((SEED, LUCKY), (SEED, GOOD), (EXPERT, RULE)), cost)
    assert outcome.verdict == "gain" and outcome.best == 10.2 and outcome.default == 30.2
    race = points(trials, "race")
    assert (race.count(LUCKY), race.count(GOOD), race.count(RULE)) == (2, 2, 2)  # behind each time
    rounds = points(trials, "proof")
    assert len(rounds) == 15
    assert all({*rounds[n : n + 3]} == {GRID.default, RULE, GOOD} for n in range(0, 15, 3))
    assert len({tuple(rounds[n : n + 3]) for n in range(0, 15, 3)}) > 1  # each in its own order
    assert "an expert's rule is 1.50 times as good as the default" in outcome.sentence
    rows = {method.method: method for method in outcome.methods}
    assert rows["expert"].score == 20.2 and rows["winner"].settings == GRID.named(GOOD)
    assert rows["winner"].compared and rows["winner"].compared.delta == 1
    assert rows["winner"].compared.p == pytest.approx(4 / 252)  # of two tests


@pytest.mark.parametrize(
    ("factor", "noise", "verdict", "words"),
    [
        (0.5, 0.01, "gain", "a gain: 2.00 times as good"), (0.98, 0.0, "none", "no gain worth having (less than 3%)"),
        (0.9, 0.5, "uncertain", "no certain gain"), (1.2, 0.01, "none", "no gain worth having"),
    ],
)  # fmt: skip
def test_the_verdict_knows_noise(factor: float, noise: float, verdict: str, words: str) -> None:
    def cost(stage: str, turn: int, point: Point) -> float:
        mean = 30 * factor if point == GOOD else 30.0
        draw = random.Random(f"{stage} {turn}")  # what drifts meets all alike
        return 1.0 if stage == "search" else mean * (1 + draw.uniform(-noise, noise))

    outcome, trials = proved(plan((SEED, GOOD)), cost)
    assert outcome.verdict == verdict and words in outcome.sentence
    assert bool(outcome.settings) == bool(points(trials, "ablation")) == (verdict == "gain")


def ablated(grid: Grid, space: Space = GRID) -> tuple[Result, int]:
    one = Plan(options(trials=1), COST, space, [(SEED, GOOD)])
    outcome, trials = proved(one, lambda _stage, _turn, point: grid(point))
    return outcome, len(points(trials, "ablation"))


def test_what_does_nothing_is_dropped() -> None:
    def first_alone(point: Point) -> float:
        return 30.0 - 2 * point[0]

    outcome, runs = ablated(first_alone)
    assert outcome.settings == {"a": 16}
    assert [(knob.knob, knob.kept) for knob in outcome.knobs] == [
        ("a", True), ("b", False), ("c", False), ("d", False),
    ]  # fmt: skip
    assert runs == 5 * (1 + 4) + 5 * 2  # each knob set back, and all three together
    assert outcome.best == 20.0 and outcome.text.count("=") == 1


def test_of_two_that_do_the_same_one_is_kept() -> None:
    def either(point: Point) -> float:
        return 30.0 - 10.0 * (point[0] == 5 or point[1] == 2)

    outcome, _ = ablated(either)
    assert list(outcome.settings) in (["a"], ["b"])


def test_what_cannot_be_set_back_alone_stays() -> None:
    space = Space(GRID.dimensions, (parse("c != 32 or a == 16", "abcd"),))
    outcome, _ = ablated(lambda point: 30.0 - 2 * point[0] - (point[2] > 0), space)
    assert set(outcome.settings) == {"a", "c"}


def test_what_fails_once_in_the_end_does_not_win() -> None:
    def cost(stage: str, turn: int, point: Point) -> float:
        if point == LUCKY:
            return float("inf") if (stage, turn) == ("proof", 3) else 1.0
        return 10.0 if point == GOOD else 30.0

    outcome, trials = proved(plan((SEED, LUCKY), (SEED, GOOD)), cost)
    assert outcome.best == 10.0 and outcome.cost.failed == 1
    assert points(trials, "proof").count(GOOD) == 5
    every, _ = proved(plan((SEED, GOOD)), lambda _s, _t, p: float("inf") if p == GOOD else 30.0)
    assert every.verdict == "none" and "all that was tried failed" in every.sentence


def test_more_is_better_where_it_is() -> None:
    rate = Objective("rate", "MB/s", True, lambda of: of["cost"])
    one = plan((SEED, GOOD), (SEED, LUCKY), objective=rate)
    speeds = {GOOD: 200.0, LUCKY: 50.0}
    outcome, _ = proved(one, lambda _stage, turn, point: speeds.get(point, 100.0) + turn % 5)
    assert outcome.verdict == "gain" and outcome.best == 202 and outcome.default == 102
    assert outcome.compared and outcome.compared.ratio == pytest.approx(202 / 102)


def test_scores_below_nought_have_ranks_and_no_ratio() -> None:
    outcome, _ = proved(plan((SEED, GOOD)), lambda _s, turn, p: turn - 9.0 - 50 * (p == GOOD))
    assert outcome.verdict == "gain" and outcome.compared and outcome.compared.ratio is not None
    outcome, _ = proved(plan((SEED, GOOD)), lambda _s, turn, p: turn - 2.0 - 50 * (p == GOOD))
    assert outcome.verdict == "gain" and outcome.compared and outcome.compared.ratio is None


def test_the_cost_of_tuning_is_all_of_it() -> None:
    def cost(_stage: str, _turn: int, point: Point) -> float:
        return float("inf") if point == LUCKY else 10.0 if point == GOOD else 30.0

    outcome, trials = proved(plan((SEED, LUCKY), (SEED, GOOD)), cost)
    ran = sum(trial.state != "known" for trial in trials)  # a second each
    fresh = len(points(trials, "proof")) + len(points(trials, "ablation"))
    assert outcome.cost.trials == ran and outcome.cost.failed == 1
    assert outcome.cost.search == ran - fresh and outcome.cost.proof == fresh
    assert outcome.saved == 20.0 and outcome.repaid == 1


def test_another_sampler_has_as_many_trials_and_no_seeds() -> None:
    one = Plan(options(trials=20, compare=("random",)), COST, GRID, [(SEED, GOOD), (EXPERT, RULE)])
    outcome, trials = proved(one, lambda _s, _t, p: 30.0 + sum(p) - 20 * (p == GOOD))
    rows = {row.method: row for row in outcome.methods}
    assert rows["random"].trials == rows["winner"].trials == 20
    alone = [row.point for row in trials if row.asked == "random"]
    assert GOOD not in alone and len(set(alone)) == 20
    assert outcome.cost.comparing == len({*alone}) - len(
        {*alone} & {*points(trials[:26], "search")}
    )
    assert {*points(trials, "proof")} >= {RULE, GOOD, GRID.default}


def test_auto_searches_as_long_as_so_many_plain_runs_take() -> None:
    trials = play(Plan(options(auto=True), COST, GRID, ()), lambda _s, _t, p: 30.0 + sum(p))
    searched = {trial.point for trial in trials if trial.stage == "search"} - {GRID.default}
    assert len(searched) + 1 == AUTO  # each run a second, that of the default too
    timed = play(Plan(options(seconds=9.0, auto=True), COST, GRID, ()), lambda _s, _t, _p: 1.0)
    searched = {one.point for one in timed if one.stage == "search"} - {GRID.default}
    assert len(searched) + 1 == 5  # half the time at least: the proof has the rest


def test_killed_anywhere_the_next_step_is_the_same() -> None:
    one = plan((SEED, GOOD), (EXPERT, RULE))
    trials = play(one, lambda _s, _t, p: 30.0 - 2 * p[0])
    for number in range(len(trials)):
        step = one.next(trials[:number])
        row = trials[number]
        assert step and (step.stage, step.round, step.point) == (row.stage, row.round, row.point)
    assert one.next(trials) is None
