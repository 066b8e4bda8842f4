"""NAME.tune/tune.db: what is searched, and every trial. A trial is a row before it starts and is finished in one
transaction, so a search that is killed at any moment knows each trial once."""

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.errors import FathomError
from fathom.files import is_file

FORMAT = 2
TABLES = """
create table if not exists search (key text primary key, value text not null) strict;
create table if not exists trials (
	trial integer primary key,
	stage text not null,     -- look, default, search, race, proof, ablation; past: of an end that was not the last
	asked text not null,     -- in search, by whom: seed, store, expert, finding, screen, or a sampler; else empty
	round integer not null,  -- in search its number
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
class Step:
    """A trial to run; `known`: its point was measured before, and its result stands."""

    stage: str
    round: int
    point: tuple[int, ...]
    asked: str = ""
    known: bool = False


@dataclass(frozen=True)
class Trial:
    """One row."""

    trial: int
    stage: str
    asked: str
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


#: The directory of a search, and the file in it.
SUFFIX, FILE = ".tune", "tune.db"


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
        if self.value("format") not in (None, FORMAT):
            raise FathomError(f"{path}: written by another version of Fathom; name another with -o")

    def value(self, key: str) -> Any:
        """The value stored under this key, or None."""
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

    def begin(self, step: Step, named: Mapping[str, Any]) -> int:
        """A row of a trial that starts now; its number."""
        return self._add(step, named, "running", 1, None, None)

    def known(self, step: Step, named: Mapping[str, Any], score: float | None) -> None:
        """A trial that is not run, since its point was measured before."""
        self._add(step, named, "known", 0, 0.0, score)

    def _add(
        self, step: Step, named: Mapping[str, Any], state: str, tries: int, seconds: float | None,
        score: float | None,
    ) -> int:  # fmt: skip
        texts = (json.dumps(step.point), json.dumps(named, ensure_ascii=False))
        cursor = self.base.execute(
            "insert into trials"
            " (stage, asked, round, point, settings, state, tries, began, seconds, score)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (step.stage, step.asked, step.round, *texts, state, tries, time.time(), seconds, score),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def pass_over(self, stages: Sequence[str]) -> None:
        """Trials of these stages cost what they cost, and decide nothing any more."""
        marks = ", ".join("?" * len(stages))
        self.base.execute(f"update trials set stage = 'past' where stage in ({marks})", stages)

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


def folder_of(name: str) -> Path:
    """That of a search, which may be named without its suffix."""
    return Path(name.removesuffix("/").removesuffix(SUFFIX) + SUFFIX)


def open_ledger(folder: Path) -> Ledger:
    """Of a search that was begun."""
    path = folder / FILE
    if not is_file(path):
        raise FathomError(f"tune: {path}: there is no such search")
    return Ledger(path)
