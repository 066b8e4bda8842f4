"""The store as a file: SQLite, one row per search, one per group of its files."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fathom.errors import FathomError, UsageError, system_error
from fathom.files import is_file, is_there
from fathom.tune.store.entry import Entry, of_data

#: Says in the file's header whose it is, and which form its tables have.
APPLICATION, FORMAT = 0x46545053, 1
WAIT = 60.0  # s for others that write
SHAPE = ("key", "ranks", "arrays", "bytes", "rank_bytes", "run_bytes", "share")
TABLES = """
create table searches (
	id text primary key,       -- of its content
	name text not null,
	added real not null,       -- s since 1970
	objective text not null,
	unit text not null,
	more integer not null,     -- of the score, more is better
	default_score real not null,
	best_score real not null,
	runs text not null,        -- scores of every fresh run: {"default": [...], "best": [...]}
	verdict text not null,     -- gain, uncertain, none
	ranks integer not null,
	stack text not null,       -- JSON
	machine text not null,     -- JSON
	model text                 -- JSON: of searches of several sizes
) strict;
create table patterns (
	search text not null references searches,
	place integer not null,    -- 0: the group of most bytes
	files text not null,
	file_system text not null,
	key text not null,         -- as `fathom patterns` prints it
	ranks integer not null,
	arrays integer not null,
	bytes integer not null,
	rank_bytes real not null,
	run_bytes integer not null,
	share real not null,
	settings text not null,    -- JSON
	primary key (search, place)
) strict;
create index by_key on patterns (key);
"""


def default_place() -> Path:
    """FATHOM_STORE, else in the user's data directory (XDG)."""
    named = os.environ.get("FATHOM_STORE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home, "fathom", "patterns.db")


class Base:
    """The open store."""

    def __init__(self, path: Path, write: bool = False) -> None:
        """Opens it, and makes it where it is to be written to. Raises FathomError."""
        self.path, self.unread = path, list[str]()
        if is_there(path) and not is_file(path):
            raise FathomError(f"{path}: is no file; name another with --store")
        with self._explained():
            if write:
                path.parent.mkdir(parents=True, exist_ok=True)
                self.base = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
                self._make()
            else:
                uri = f"{path.absolute().as_uri()}?mode=ro"
                self.base = sqlite3.connect(uri, timeout=WAIT, isolation_level=None, uri=True)
            self.base.row_factory = sqlite3.Row
            self._check()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise FathomError(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            what = f"{error}; move it away, and import an export of it"
            raise FathomError(f"{self.path}: {what}") from error
        except OSError as error:
            raise FathomError(system_error(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, alone: what others add at once comes before or after it."""
        with self._explained():
            self.base.execute("begin immediate")
            try:
                yield
            except BaseException:
                self.base.execute("rollback")
                raise
            self.base.execute("commit")

    def _pragma(self, name: str) -> Any:
        return self.base.execute(f"pragma {name}").fetchone()[0]

    def _make(self) -> None:
        """Tables of a new file, by one of those that make it at once."""
        if self._pragma("application_id"):
            return
        with self._writing():
            tables = self.base.execute("select count(*) from sqlite_schema").fetchone()[0]
            if tables or self._pragma("application_id") or self._pragma("user_version"):
                return
            for statement in TABLES.split(";"):
                self.base.execute(statement)
            self.base.execute(f"pragma application_id = {APPLICATION}")
            self.base.execute(f"pragma user_version = {FORMAT}")

    def _check(self) -> None:
        if self._pragma("application_id") != APPLICATION:
            raise FathomError(f"{self.path}: is no pattern store; name another with --store")
        version = self._pragma("user_version")
        if version != FORMAT:
            line = f"{self.path}: has format {version}, this Fathom reads {FORMAT}"
            raise FathomError(f"{line}; export it with the Fathom that made it, and import that")
        damage = self._pragma("quick_check")
        if damage != "ok":
            raise sqlite3.DatabaseError(str(damage).splitlines()[-1])

    def add(self, entries: Iterable[Entry]) -> int:
        """Adds those that are not there, all or none; how many those are."""
        with self._writing():
            return sum(self._add(entry) for entry in entries)

    def _add(self, entry: Entry) -> bool:
        runs = {"default": entry.default_runs, "best": entry.best_runs}
        row = (
            entry.id, entry.name, entry.added, entry.objective, entry.unit, entry.more, entry.default,
            entry.best, json.dumps(runs), entry.verdict, entry.ranks, json.dumps(vars(entry.stack)),
            json.dumps(vars(entry.machine)), None if entry.model is None else json.dumps(entry.model),
        )  # fmt: skip
        marks = ", ".join("?" * len(row))
        inserted = self.base.execute(f"insert or ignore into searches values ({marks})", row)
        if not inserted.rowcount:
            if row[-1]:
                known = (row[-1], entry.id)
                self.base.execute("update searches set model = ? where id = ?", known)
            return False
        for place, group in enumerate(entry.groups):
            settings = json.dumps([vars(given) for given in group.settings])
            own = (
                entry.id,
                place,
                group.files,
                group.file_system,
                *(getattr(group.shape, name) for name in SHAPE),
                settings,
            )
            self.base.execute(f"insert into patterns values ({', '.join('?' * len(own))})", own)
        return True

    def remove(self, id: str) -> Entry:
        """Takes the entry out whose id begins like this; there must be one."""
        with self._writing():
            matches = [entry for entry in self.entries() if entry.id.startswith(id)]
            if len(matches) != 1:
                count = "no search" if not matches else f"{len(matches)} searches"
                raise FathomError(f"{self.path}: {count} whose id begins with '{id}'")
            self.base.execute("delete from patterns where search = ?", (matches[0].id,))
            self.base.execute("delete from searches where id = ?", (matches[0].id,))
            return matches[0]

    def entries(self) -> list[Entry]:
        """All that this Fathom can read, the oldest first; `unread` says why others are not."""
        with self._explained():
            patterns: dict[str, list[dict[str, Any]]] = {}
            for row in self.base.execute("select * from patterns order by search, place"):
                patterns.setdefault(row["search"], []).append(dict(row))
            rows = self.base.execute("select * from searches order by added, id").fetchall()
        entries, self.unread = [], []
        for row in rows:
            try:
                entries.append(of_data(row["id"], _data(dict(row), patterns.get(row["id"], []))))
            except (UsageError, ValueError, KeyError) as error:
                self.unread.append(f"{self.path}: {error}")
        return entries


def _data(row: dict[str, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """As an export has it."""
    runs = json.loads(row["runs"])
    plain = {key: row[key] for key in ("name", "added", "objective", "unit", "verdict", "ranks")}
    return plain | {
        "more": bool(row["more"]),
        "default": row["default_score"], "best": row["best_score"],
        "default_runs": runs["default"], "best_runs": runs["best"],
        "model": None if row["model"] is None else json.loads(row["model"]),
        "stack": json.loads(row["stack"]), "machine": json.loads(row["machine"]),
        "groups": [
            {
                "files": group["files"], "file_system": group["file_system"],
                "shape": {name: group[name] for name in SHAPE},
                "settings": json.loads(group["settings"]),
            }
            for group in groups
        ],
    }  # fmt: skip
