"""NAME.tune/tune.db: what is searched, and every trial. A trial is a row before it starts and is finished in one
transaction, so a search that is killed at any moment knows each trial once."""

import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.errors import FathomError

TABLES = """
create table if not exists search (key text primary key, value text not null) strict;
create table if not exists trials (
	trial integer primary key,
	stage text not null,     -- look, default, search, final
	round integer not null,  -- of default and final; in search its number
	point text not null,     -- the number of each knob's value in the space
	settings text not null,  -- names and values, as JSON
	state text not null,     -- running, done, failed, hung, wrong, known (measured before)
	tries integer not null,  -- times that it was started
	began real not null,     -- s since 1970
	seconds real,            -- what it cost (the last start)
	score real,              -- by the objective
	measures text,           -- figures of its run, as JSON
	why text                 -- of a trial that does not count
) strict;
"""


@dataclass(frozen=True)
class Trial:
    """One row."""

    trial: int
    stage: str
    round: int
    point: tuple[int, ...]
    settings: dict[str, Any]
    state: str
    tries: int
    began: float
    seconds: float | None
    score: float | None
    measures: dict[str, float] | None
    why: str | None


@dataclass(frozen=True)
class Outcome:
    """What became of a trial."""

    state: str
    seconds: float
    score: float | None = None
    measures: Mapping[str, float] | None = None
    why: str | None = None


def _parsed(row: Mapping[str, Any]) -> dict[str, Any]:
    measures = row["measures"]
    return {
        "point": tuple(json.loads(row["point"])),
        "settings": json.loads(row["settings"]),
        "measures": None if measures is None else json.loads(measures),
    }


class Ledger:
    """The open file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.base = sqlite3.connect(path)
            self.base.row_factory = sqlite3.Row
            self.base.isolation_level = None  # each statement is a transaction
            self.base.executescript(TABLES)
        except sqlite3.Error as error:
            raise FathomError(f"{path}: {error}; it is no search of fathom tune") from error

    def kept(self, key: str) -> Any:
        """What was kept under this key, or None."""
        row = self.base.execute("select value from search where key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def keep(self, key: str, value: Any) -> None:
        """Keeps it."""
        text = json.dumps(value, ensure_ascii=False)
        self.base.execute("insert or replace into search values (?, ?)", (key, text))

    def trials(self) -> list[Trial]:
        """All, in order."""
        rows = map(dict, self.base.execute("select * from trials order by trial"))
        return [Trial(**{**row, **_parsed(row)}) for row in rows]

    def begin(self, stage: str, turn: int, point: tuple[int, ...], named: Mapping[str, Any]) -> int:
        """A row of a trial that starts now; its number."""
        return self._add(stage, turn, point, named, "running", 1, None, None)

    def known(
        self,
        stage: str,
        turn: int,
        point: tuple[int, ...],
        named: Mapping[str, Any],
        score: float | None,
    ) -> None:
        """A trial that is not run, since its point was measured before."""
        self._add(stage, turn, point, named, "known", 0, 0.0, score)

    def _add(
        self, stage: str, turn: int, point: tuple[int, ...], named: Mapping[str, Any], state: str,
        tries: int, seconds: float | None, score: float | None,
    ) -> int:  # fmt: skip
        words = (stage, turn, json.dumps(point), json.dumps(named, ensure_ascii=False), state)
        made = self.base.execute(
            "insert into trials (stage, round, point, settings, state, tries, began, seconds, score)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*words, tries, time.time(), seconds, score),
        )
        assert made.lastrowid is not None
        return made.lastrowid

    def again(self, trial: int) -> None:
        """A trial that was cut off starts once more."""
        self.base.execute("update trials set tries = tries + 1 where trial = ?", (trial,))

    def end(self, trial: int, outcome: Outcome) -> None:
        """What became of it."""
        self.base.execute(
            "update trials set state = ?, seconds = ?, score = ?, measures = ?, why = ? where trial = ?",
            (
                outcome.state, outcome.seconds, outcome.score,
                None if outcome.measures is None else json.dumps(outcome.measures), outcome.why, trial,
            ),
        )  # fmt: skip
