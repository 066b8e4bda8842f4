"""What a search was asked for; kept with it, so that a search goes on as it began."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: Without --seconds `auto` searches as long as so many runs of the program as it is take.
AUTO = 50


@dataclass(frozen=True)
class Options:
    """All that decides what is tried, and how it is judged."""

    program: tuple[str, ...]
    directory: str  # where it starts
    objective: str  # of OBJECTIVES, or a command
    maximize: bool
    group: str | None
    space: dict[str, Any] | None  # of a file; None: what is alive here
    sampler: str
    compare: tuple[str, ...]  # further samplers, for comparison only
    seed: int
    trials: int
    seconds: float | None
    repeats: int
    finalists: int
    worth: float  # the least gain worth having, as a fraction
    screen: bool
    verify: str
    timeout: float | None
    scratch: str
    design: str = "powers"  # values that a model is trained on
    auto: bool = False  # knobs are proved where they were not; the budget is a number of plain runs
    forward_storage: str | None = None  # of a trial's forwarding servers: they stripe
    finding: str | None = None  # its remedy alone is tried

    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # lists, no tuples
        return data


def of_data(data: Mapping[str, Any]) -> Options:
    """Those that were kept."""
    lists = {key: tuple(data[key]) for key in ("program", "compare")}
    return Options(**{**data, **lists})
