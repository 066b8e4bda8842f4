"""A test file (tests/see/*.toml) as typed data. README.md says what each key means."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any


class CaseError(Exception):
    """A mistake in a test file: one line that names file and key."""


@dataclass(frozen=True)
class Check:
    """A question to the tables and the only right answer."""

    sql: str
    rows: list[list[Any]]
    sees: str = ""


@dataclass(frozen=True)
class Case:
    path: Path
    variant: str
    run: str
    program: str = ""
    mpi: str = ""  # "", mpich, ompio, romio321
    ranks: int = 4
    oracle: str = ""  # "" or strace
    same: bool = False  # output and status equal to those without Fathom
    exit: int | list[int] = 0  # status, or those it may be; -9 is: killed by signal 9
    level: str = "call"  # below it, the invariants of a full trace are not asked
    unfinished: bool = False  # calls may be open at the end
    partial: bool = False  # ranks may be missing, the run may be cut
    recorded: bool = True  # False: nothing must be recorded at all
    prints: str = ""  # regular expression that stdout must contain
    complains: str = ""  # the same for stderr
    env: dict[str, str] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)  # commands
    after: list[str] = field(default_factory=list)
    equal: list[list[str]] = field(default_factory=list)  # pairs of files or directories
    account: list[str] = field(default_factory=list)  # layers from the program's call to the file
    needs: list[str] = field(default_factory=list)
    timeout: int = 120
    full: bool = False
    checks: list[Check] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)  # the variant's own {words}

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.mpi, self.variant) if part) or "one"


KNOWN = {f.name for f in fields(Case)} - {"path", "variant", "checks", "words"}
CHECK_KEYS = {"sees", "sql", "rows"}


def load(path: Path) -> list[Case]:
    """All variants of a file: one per MPI named (changed by [on.MPI]), times one per [variant.NAME]."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CaseError(f"{path}: {error}") from error
    variants = table.pop("variant", {"": {}})
    stacks = table.pop("mpi", [""])
    on = table.pop("on", {})
    checks = _checks(path, table)
    unknown = set(table) - KNOWN
    if unknown:
        raise CaseError(f"{path}: unknown key {sorted(unknown)[0]}")
    if "run" not in table:
        raise CaseError(f"{path}: run: missing")
    if not (checks or any(table.get(key) for key in ("oracle", "same", "complains", "account"))):
        raise CaseError(f"{path}: it checks nothing: give sql, oracle, same, complains or account")
    out = []
    for stack in [stacks] if isinstance(stacks, str) else stacks:
        case = Case(path=path, variant="", mpi=stack, checks=checks, **table)
        for name, changes in variants.items():
            changes = {**on.get(stack, {}), **changes}
            own = {key: value for key, value in changes.items() if key in KNOWN}
            words = {key: str(value) for key, value in changes.items() if key not in KNOWN}
            out.append(replace(case, variant=name, words=words, **own))
    return out


def _checks(path: Path, table: dict[str, Any]) -> list[Check]:
    sees = table.pop("sees", "")
    out = []
    if "sql" in table:
        text = " ".join(sees) if isinstance(sees, list) else sees
        out.append(Check(table.pop("sql"), table.pop("rows", []), text))
    for entry in table.pop("check", []):
        wrong = set(entry) - CHECK_KEYS
        if wrong or "sql" not in entry:
            raise CaseError(f"{path}: check: {sorted(wrong)[0] if wrong else 'sql missing'}")
        out.append(Check(entry["sql"], entry.get("rows", []), entry.get("sees", "")))
    return out
