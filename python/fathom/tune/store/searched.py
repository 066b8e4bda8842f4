"""An entry of a search that has ended: NAME.tune."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from fathom.errors import FathomError, RunError
from fathom.files import is_file
from fathom.run.store import open_run
from fathom.tune.search.execute import OUT
from fathom.tune.search.ledger import Ledger, Trial
from fathom.tune.search.objective import objective_of
from fathom.tune.search.space import Dimension, Point, Space, of_data
from fathom.tune.search.verdict import UNCERTAIN, WINNER
from fathom.tune.store.entry import Entry, Given, Tuned, covers, given_of
from fathom.tune.store.fingerprint import machine_of, ranks_of, stack_of
from fathom.tune.store.shape import groups

LOOK = Path("trials", "1")  # the program as it is, recorded closely


def entry_of(folder: Path) -> Entry:
    """Of NAME.tune; raises FathomError where it has not ended, or is none."""
    if not is_file(folder / "tune.db"):
        raise FathomError(f"{folder}: is no search; name a NAME.tune of fathom tune")
    ledger = Ledger(folder / "tune.db")
    result, options = ledger.value("result"), ledger.value("options")
    if result is None:
        raise FathomError(f"{folder}: the search has not ended; type its command again")
    if result["verdict"] == UNCERTAIN:
        raise FathomError(f"{folder}: no certain gain, so there is nothing to hand on")
    space, trials = of_data(ledger.value("space")), ledger.trials()
    run = open_run(folder / LOOK / "run.fathom")
    groups_of_run = groups(run)
    if not groups_of_run:
        raise RunError(f"{folder}: its program reads and writes nothing whose place is known")
    objective = objective_of(options["objective"], options["maximize"])
    ran: dict[str, Any] = next(
        (one["settings"] for one in result["methods"] if one["method"] == WINNER), {}
    )
    best = space.point(result["settings"])
    every = [path for group in groups_of_run for path in group.paths]
    out = str(Path(options["scratch"], "out.1"))
    tuned = (
        Tuned(one.files, one.file_system, one.shape, _settings(space, best, one.paths, out))
        for one in groups_of_run
    )
    score = result["default"] if result["best"] is None else result["best"]
    return Entry(
        folder.name.removesuffix(".tune"), time.time(), result["objective"], result["unit"],
        objective.more, float(result["default"]), float(score if any(best) else result["default"]),
        _scores(trials, space.default), _scores(trials, space.point(ran)) if any(best) else (),
        result["verdict"], ranks_of(run), stack_of(run), machine_of(run, every), tuple(tuned),
    )  # fmt: skip


def _scores(trials: Sequence[Trial], point: Point) -> tuple[float, ...]:
    """Of its fresh runs."""
    return tuple(
        float(trial.score)
        for trial in trials
        if trial.stage == "proof" and trial.point == point and trial.score is not None
    )


def _settings(space: Space, best: Point, paths: Sequence[str], out: str) -> tuple[Given, ...]:
    """Those of the winner that hold for these files."""
    pairs = zip(space.dimensions, best, strict=True)
    return tuple(
        given_of(one, one.values[number])
        for one, number in pairs
        if number and _holds(one, paths, out)
    )


def _holds(dimension: Dimension, paths: Sequence[str], out: str) -> bool:
    where = _resolved(dimension.where, out)
    if "directory" in where:
        return any(PurePosixPath(path).is_relative_to(where["directory"]) for path in paths)
    return covers(where, paths)


def _resolved(where: Mapping[str, Any], out: str) -> dict[str, Any]:
    """`{out}` stands for the directory of that trial."""
    return {
        key: [str(one).replace(OUT, out) for one in given]
        if isinstance(given, list)
        else str(given).replace(OUT, out)
        for key, given in where.items()
    }
