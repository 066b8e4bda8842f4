"""What a search found, proved by fresh runs: the winner, what it gains, what it cost, and the methods side by side.

The table of methods is that of Behzad et al. 2019 (Table 5): what each cost before, and how fast the program is then.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from fathom.errors import FathomError
from fathom.tune.search.compared import Compared
from fathom.tune.search.finals import Standing
from fathom.tune.search.ledger import Trial
from fathom.tune.search.plan import DEFAULT, Plan
from fathom.tune.search.prediction import Prediction
from fathom.tune.search.space import Point
from fathom.tune.search.statistics import holm

GAIN, UNCERTAIN, NONE = "gain", "uncertain", "none"
WINNER = "winner"


@dataclass(frozen=True)
class Method:
    """A row: what a way to settings cost, and what fresh runs with its best say."""

    method: str
    trials: int
    seconds: float  # before the fresh runs
    settings: dict[str, Any]
    runs: int  # fresh ones
    failed: int
    score: float | None  # median
    runtime: float | None
    compared: Compared | None  # with the default; p by Holm, for all rows together


@dataclass(frozen=True)
class Knob:
    """One that the winner sets: how much better the winner is than without it."""

    knob: str
    value: Any
    kept: bool
    compared: Compared | None  # None: conditions let it not be set back alone

    @property
    def became(self) -> str:
        """In words."""
        if not self.kept:
            return "dropped: it does nothing"
        return "kept" if self.compared is None or self.compared.gain(0) else "kept in doubt"


@dataclass(frozen=True)
class Cost:
    """Of all that was run."""

    trials: int
    failed: int  # hung and wrong ones too
    search: float  # s: what finding the winner took
    comparing: float  # s: of samplers that were to be compared with
    proof: float  # s: fresh runs


@dataclass(frozen=True)
class Result:
    """All of it. Scores are medians of fresh runs."""

    objective: str
    unit: str
    verdict: str  # gain, uncertain, none
    default: float
    best: float | None
    compared: Compared | None
    settings: dict[
        str, Any
    ]  # of the winner, without what does nothing; empty: none is worth having
    text: str  # as a settings file
    methods: list[Method]
    knobs: list[Knob]
    cost: Cost
    saved: float | None  # s of run time, by each run with these settings
    repaid: int | None  # runs until tuning is paid back; None: never
    sentence: str
    prediction: Prediction | None  # of the finding whose remedy this is

    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def named(plan: Plan, point: Point) -> dict[str, Any]:
    """What a point sets."""
    return {name: value for name, value in plan.space.named(point).items() if value is not None}


def result(plan: Plan, trials: Sequence[Trial]) -> Result | None:
    """None: runs are missing."""
    standing = plan.finals(trials).standing(trials)
    if standing is None:
        return None
    default = standing.proof.get(plan.space.default, [])
    if any(math.isinf(plan.cost(one)) for one in default):
        line = "tune: the program as it is failed in the end; fathom tune show says how"
        raise FathomError(line)
    if standing.winner is None:
        default = [trial for trial in trials if trial.stage == "default"]
    methods, cost = _methods(plan, trials, standing), _cost(plan, trials)
    best = next((method.score for method in methods if method.method == WINNER), None)
    judged = Result(
        plan.objective.name, plan.objective.unit, NONE, _score(default) or 0.0,
        best, None, {}, "", methods, _knobs(plan, standing), cost, None, None, "",
        plan.prediction,
    )  # fmt: skip
    return _judged(plan, standing, judged)


def _judged(plan: Plan, standing: Standing, judged: Result) -> Result:
    if standing.winner is None or standing.settings is None:
        return replace(judged, sentence="no gain: all that was tried failed, hung or was wrong")
    runs, default = standing.proof[standing.winner], standing.proof[plan.space.default]
    compared = plan.finals(()).compare(runs, default)
    worth = plan.options.worth
    verdict = GAIN if compared.gain(worth) else UNCERTAIN if compared.ahead(worth) else NONE
    saved = median(map(_runtime, default)) - median(map(_runtime, runs))
    prediction = plan.prediction and plan.prediction.beside(saved)
    judged = replace(judged, verdict=verdict, compared=compared, prediction=prediction)
    if verdict == GAIN:
        judged = replace(
            judged, settings=named(plan, standing.settings),
            text=plan.space.settings(standing.settings), saved=saved,
            repaid=math.ceil(judged.cost.search / saved) if saved > 0 else None,
        )  # fmt: skip
    return replace(
        judged, sentence=_sentence(judged, compared, len(runs), worth, _expert(plan, standing))
    )


def _score(runs: Sequence[Trial]) -> float | None:
    sound = [run.score for run in runs if run.score is not None and run.state == "done"]
    return median(sound) if sound else None


def _runtime(trial: Trial) -> float:
    return (trial.measures or {})["runtime"]


def _methods(plan: Plan, trials: Sequence[Trial], standing: Standing) -> list[Method]:
    contenders = dict(plan.finals(trials).contenders)
    if standing.winner is not None:
        contenders[WINNER] = standing.winner
    default = standing.proof.get(plan.space.default, [])
    rows = [_method(plan, trials, standing, name, point) for name, point in contenders.items()]
    if not default:
        return rows
    finals = plan.finals(trials)
    compared = {
        row.method: finals.compare(standing.proof[contenders[row.method]], default)
        for row in rows
        if row.method != DEFAULT
    }
    likely = holm({name: one.p for name, one in compared.items()})
    return [
        replace(row, compared=replace(compared[row.method], p=likely[row.method]))
        if row.method in compared
        else row
        for row in rows
    ]


def _method(
    plan: Plan, trials: Sequence[Trial], standing: Standing, name: str, point: Point
) -> Method:
    runs = standing.proof.get(point, [])
    sound = [run for run in runs if run.state == "done"]
    number, seconds = 0, 0.0
    if name == WINNER:
        number, seconds = plan.price(trials, plan.options.sampler)
        seconds += _spent(trials, "race")
    elif name in (plan.options.sampler, *plan.options.compare):
        number, seconds = plan.price(trials, name)
    return Method(
        name, number, seconds, named(plan, point), len(runs), len(runs) - len(sound),
        _score(runs), median(map(_runtime, sound)) if sound else None, None,
    )  # fmt: skip


def _knobs(plan: Plan, standing: Standing) -> list[Knob]:
    if standing.settings is None or standing.winner is None:
        return []
    return [
        Knob(
            plan.space.dimensions[number].name,
            plan.space.dimensions[number].values[standing.winner[number]],
            standing.settings[number] != 0,
            one,
        )
        for number, one in sorted(standing.without.items())
    ]


def _spent(trials: Sequence[Trial], *stages: str) -> float:
    return sum(trial.seconds or 0.0 for trial in trials if trial.stage in stages)


def _cost(plan: Plan, trials: Sequence[Trial]) -> Cost:
    ran = [trial for trial in trials if trial.state != "known"]
    comparing = sum(one.seconds or 0.0 for one in ran if one.asked in plan.options.compare)
    proof = _spent(trials, "proof", "ablation")
    return Cost(
        len(ran), sum(one.state in ("failed", "hung", "wrong") for one in ran),
        sum(one.seconds or 0.0 for one in ran) - comparing - proof, comparing, proof,
    )  # fmt: skip


def _expert(plan: Plan, standing: Standing) -> str:
    """What an expert's rule does beside the winner, in words."""
    if plan.expert is None or standing.winner is None or plan.expert not in standing.proof:
        return ""
    finals = plan.finals(())
    runs, rule = standing.proof[standing.winner], standing.proof[plan.expert]
    if any(math.isinf(plan.cost(one)) for one in rule):
        return "; an expert's rule fails"
    if not finals.compare(runs, rule).gain(plan.options.worth):
        return "; an expert's rule is as good"
    over = finals.compare(rule, standing.proof[plan.space.default]).ratio
    return (
        "" if over is None else f"; an expert's rule is {times(over)} times as good as the default"
    )


def _sentence(judged: Result, compared: Compared, runs: int, worth: float, expert: str) -> str:
    """The verdict in one."""
    verdict = {
        GAIN: "a gain",
        UNCERTAIN: "no certain gain",
        NONE: f"no gain worth having (less than {worth:.0%})",
    }[judged.verdict]
    likely = f"Cliff's delta {compared.delta:.2g}, p = {compared.p:.2g}"
    if compared.ratio is not None:
        low, high = times(compared.low), times(compared.high)
        likely = f"{times(compared.ratio)} times as good (95 % sure: {low} to {high}; {likely})"
    pair = f"{judged.objective} {judged.best:.4g} {judged.unit}".rstrip()
    pair += f" instead of {judged.default:.4g}, medians of {runs} fresh runs of each"
    cost = f"tuning took {judged.cost.search:.0f} s"
    if judged.verdict == GAIN:
        never = "never repaid: a run takes as long as before"
        cost += f", {never}" if judged.repaid is None else f", repaid after {judged.repaid:,} runs"
        pair += expert
    return f"{verdict}: {likely}, {pair}; {cost}"


def times(ratio: float | None) -> str:
    """With three digits, 1.00 among them."""
    return "" if ratio is None else f"{ratio:.3g}" if ratio >= 10 else f"{ratio:.2f}"
