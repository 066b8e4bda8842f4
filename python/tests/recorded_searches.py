"""Searches that were recorded: four ranks and fewer wrote a matrix by columns or blocks to a store of 8 MB/s for each
process, 20 ms for each call and 20 ms for a block that another wrote last (tests/tools/slow_store.c), MPICH 4.0."""

import json
from pathlib import Path

from fathom.tune.search.ledger import FORMAT, Ledger, Outcome, Step
from fathom.tune.search.space import of_data
from test_tune import options

HERE = Path(__file__).parent / "recorded"


def recorded(folder: Path, name: str) -> Path:
    """One of them as `fathom tune` leaves it: NAME.tune."""
    data = json.loads((HERE / f"{name}.json").read_text())
    place = folder / f"{name}.tune"
    place.mkdir()
    ledger, space = Ledger(place / "tune.db"), of_data(data["space"])
    ledger.base.execute("pragma synchronous = off")  # no disk is waited for with each row
    asked = options(program=tuple(data["program"]), objective=data["objective"])
    values = {"format": FORMAT, "options": asked.data(), "space": space.data(), "first": []}
    for key, value in {**values, "limits": data["limits"]}.items():
        ledger.keep(key, value)
    measures = {"bytes_written": data["bytes_written"], "bytes_read": 0}
    for number, (stage, point, state, seconds, score) in enumerate(data["trials"]):
        trial = ledger.begin(Step(stage, number, tuple(point)), space.named(tuple(point)))
        ledger.end(trial, Outcome(state, seconds, score, measures))
    return place
