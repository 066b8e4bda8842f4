"""The sampler `model` (Behzad et al. 2019, section 8): trials to train on, then the settings that a model of them
predicts to be best; then, while a model that knows these too promises better than was measured, what it promises."""

import math
from collections.abc import Sequence

from fathom.tune.model import design
from fathom.tune.model.factors import Row, named
from fathom.tune.model.model import TOP, fit
from fathom.tune.search.options import AUTO, Options
from fathom.tune.search.sampler import Observation
from fathom.tune.search.space import Point, Space


class Modelled:
    """Of one search; a round is worked out once, since it is asked for with each of its trials."""

    def __init__(self, space: Space, options: Options) -> None:
        self.space = space
        free = sum(len(dimension.values) > 1 for dimension in space.dimensions)
        timed = options.auto and options.seconds is None
        trials = min(options.trials, AUTO) if timed else options.trials
        most = max(trials - TOP, trials // 2)
        self.training = min(design.EACH * max(free, 1), most)
        self.design = design.draw(space, options.design, self.training, options.seed)
        self.rounds: dict[tuple[Observation, ...], list[Point]] = {}

    def ask(self, observations: Sequence[Observation]) -> Point | None:
        """Of the training, else of a model's best."""
        done = self._trained(observations)
        if done is None:
            tried = {observation.point for observation in observations}
            return next(point for point in self.design if point not in tried)
        ahead = self._predicted(tuple(observations[:done]), math.inf)
        while len(after := observations[done : done + len(ahead)]) == len(ahead) > 0:
            done += len(after)
            ahead = self._predicted(
                tuple(observations[:done]),
                min(observation.cost for observation in observations[:done]),
            )
        return ahead[len(after)] if ahead else None

    def _trained(self, observations: Sequence[Observation]) -> int | None:
        """How many were told when the training ended. Seeds count too."""
        tried: set[Point] = set()
        for number in range(len(observations) + 1):
            if len(tried) >= self.training or tried.issuperset(self.design):
                return number
            tried.update(observation.point for observation in observations[number : number + 1])
        return None

    def _predicted(self, observations: tuple[Observation, ...], below: float) -> list[Point]:
        """Those of the predicted best that were not tried and are to cost less than this."""
        if observations not in self.rounds:
            model = fit(
                self.space,
                [
                    Row(named(self.space, observation.point), observation.cost)
                    for observation in observations
                ],
            )
            tried = {observation.point for observation in observations}
            best = model.best() if model else []
            self.rounds[observations] = [
                one.point for one in best if one.point not in tried and one.cost < below
            ]
        return self.rounds[observations]
