"""What to try next. Each answer follows from the space, the seed and what was told, and from nothing else, so a search
that was killed goes on as if it had not been."""

import math
from collections.abc import Callable, Sequence
from itertools import product
from random import Random

from fathom.errors import needed
from fathom.tune.model.model_sampler import Modelled
from fathom.tune.search.options import Options
from fathom.tune.search.sampler import Observation, Sampler
from fathom.tune.search.space import Point, Space


class Uniform:
    """Every point at most once, in any order: what other samplers are to be compared with."""

    def __init__(self, space: Space, options: Options) -> None:
        self.space, self.seed = space, options.seed

    def ask(self, observations: Sequence[Observation]) -> Point | None:
        random = Random(f"{self.seed} {len(observations)}")
        tried = {observation.point for observation in observations}
        for _ in range(20 * self.space.size if self.space.size < 1000 else 1000):
            point = self.space.draw(random)
            if point not in tried:
                return point
        return None


class Grid:
    """Every point, in order: the last knob changes fastest."""

    def __init__(self, space: Space, _options: Options) -> None:
        self.space = space

    def ask(self, observations: Sequence[Observation]) -> Point | None:
        tried = {observation.point for observation in observations}
        points = product(*(range(len(dimension.values)) for dimension in self.space.dimensions))
        allowed = (point for point in points if self.space.allowed(point))
        return next((point for point in allowed if point not in tried), None)


class Genetic:
    """The genetic search of H5Evolve (Behzad et al. 2019): 15 points, 40 generations, 3 elites, 15 % mutated."""

    POPULATION, GENERATIONS, ELITES, MUTATION = 15, 40, 3, 0.15

    def __init__(self, space: Space, options: Options) -> None:
        self.space, self.seed = space, options.seed

    def ask(self, observations: Sequence[Observation]) -> Point | None:
        generation, member = divmod(len(observations), self.POPULATION)
        if generation >= self.GENERATIONS:
            return None
        random = Random(f"{self.seed} {len(observations)}")
        if generation == 0:
            return self.space.draw(random)
        before = observations[(generation - 1) * self.POPULATION : generation * self.POPULATION]
        ranked = sorted(before, key=lambda one: one.cost)
        if member < self.ELITES:
            return _distinct(ranked)[member % len(_distinct(ranked))]
        return self._child(ranked, random)

    def _child(self, ranked: Sequence[Observation], random: Random) -> Point:
        """Of two parents, the better the likelier. By rank, not by cost: one fast run must not become all parents."""
        weights = [
            0 if math.isinf(one.cost) else len(ranked) - place for place, one in enumerate(ranked)
        ]
        if not any(weights):
            return self.space.draw(random)
        points = [one.point for one in ranked]
        for _ in range(100):
            mother, father = random.choices(points, weights, k=2)
            child = [random.choice(pair) for pair in zip(mother, father, strict=True)]
            if random.random() < self.MUTATION:
                place = random.randrange(len(child))
                child[place] = random.randrange(len(self.space.dimensions[place].values))
            settled = self.space.settled(tuple(child))
            if self.space.allowed(settled):
                return settled
        return self.space.draw(random)


def _distinct(ranked: Sequence[Observation]) -> list[Point]:
    return list(dict.fromkeys(one.point for one in ranked))


class Parzen:
    """Optuna's tree-structured Parzen estimator, told the whole history at each question."""

    def __init__(self, space: Space, options: Options) -> None:
        with needed("tune: --sampler tpe", "tune"):
            import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna, self.space, self.seed = optuna, space, options.seed
        self.values: dict[str, optuna.distributions.BaseDistribution] = {
            str(number): optuna.distributions.CategoricalDistribution(range(len(dimension.values)))
            for number, dimension in enumerate(space.dimensions)
        }

    def ask(self, observations: Sequence[Observation]) -> Point | None:
        # A number of its own for each question: the same numbers would give the same start again.
        sampler = self.optuna.samplers.TPESampler(
            multivariate=True,
            seed=self.seed * 1_000_003 + len(observations),
        )
        study = self.optuna.create_study(sampler=sampler)
        known = [
            observation.cost for observation in observations if math.isfinite(observation.cost)
        ]
        worst = max(known, default=1.0)
        failed = worst + max(worst - min(known, default=0.0), abs(worst), 1e-9)
        for observation in observations:
            cost = observation.cost if math.isfinite(observation.cost) else failed
            study.add_trial(
                self.optuna.trial.create_trial(
                    params={str(n): value for n, value in enumerate(observation.point)},
                    distributions=self.values,
                    value=cost,
                )
            )
        for _ in range(100):
            trial = study.ask(self.values)
            drawn = tuple(int(trial.params[str(n)]) for n in range(len(self.values)))
            point = self.space.settled(drawn)
            if self.space.allowed(point):
                return point
            study.tell(trial, failed)
        return self.space.draw(Random(f"{self.seed} {len(observations)}"))


SAMPLERS: dict[str, Callable[[Space, Options], Sampler]] = {
    "ga": Genetic,
    "grid": Grid,
    "model": Modelled,
    "random": Uniform,
    "tpe": Parzen,
}
