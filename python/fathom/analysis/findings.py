"""What can be concluded of a run. Each finding is a file of SQL (catalog/findings/README.md says its form); here
they are read, asked, and ranked by the seconds of run time that mending would win, which the run's account bounds.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from fathom.analysis.account import Account, bar, prepare
from fathom.analysis.advice import (
    Program,
    advice,
    conditions,
    fitting,
    is_condition,
    lowest_versions,
)
from fathom.analysis.causes import CAUSES, Bar
from fathom.analysis.sentence import columns
from fathom.catalog import layers
from fathom.catalog.languages import is_nameless
from fathom.catalog.layers import catalog_files
from fathom.errors import DamagedTable, FathomError, UsageError, unknown
from fathom.files import is_folder, listed
from fathom.run import paths
from fathom.run.store import Run, plain

KEYS = ("title", "layer", "limit", "says", "lost", "sure", "fix", "seen")
OPTIONAL = ("knob", "ompio", "needs", "causes", "when")
NEEDS = frozenset(("calls", "counters", "ranks", "samples"))
MOST_CALLS = 8  # that a finding names as examples
# What loses less of the run time, or fewer seconds, is noise and not said.
LEAST_SHARE, LEAST_SECONDS = 0.01, 0.0005
# Estimates of what is won are right within this factor, where a rule says no interval.
WITHIN = 2.0
# Seconds that one call may take longer because its process lost the processor: the period of the kernel's shares of it.
STALL = 0.1
LIBRARIES = frozenset(layers.names("library"))
# Of these layers something may be said of each run.
EVERYWHERE = frozenset(("posix", "server", "node"))


@dataclass(frozen=True)
class Rule:
    """A finding's file: what its header says, and its SQL."""

    path: Path
    title: str
    layer: str
    limit: str  # the threshold and its reason
    says: str  # sentence with {column} of the SQL's rows
    lost: str  # how the seconds are estimated
    sure: float  # 0 to 1; a column `sure` goes before it
    fix: str
    seen: str  # who described it
    knob: str
    ompio: str  # the knob where MPI-IO is OMPIO's
    needs: frozenset[str]  # of calls, ranks, samples: the rule has nothing to say without
    causes: frozenset[str]  # whose cells of the account its mistake fills; none: not told apart
    when: str  # a condition in SQL without which it can find nothing; empty: there is none
    sql: str

    @property
    def name(self) -> str:
        """The file's, without suffix."""
        return self.path.stem

    @property
    def layers(self) -> frozenset[str]:
        """Where it is mended."""
        return frozenset(self.layer.replace(",", " ").split())


@dataclass(frozen=True)
class Finding:
    """One conclusion about one run."""

    rule: Rule
    values: dict[str, Any]  # all columns of its row
    lost: float | None  # seconds of run time; null: a danger, not a loss of time
    between: tuple[float, float] | None  # the least and the most that these seconds may be
    sure: float
    calls: list[int]  # `calls.id` of examples
    lines: list[str]  # `file:line function` of these, and of a helper who called it


@dataclass(frozen=True)
class Findings:
    """All that was found, the most seconds first, and what could not be asked."""

    conclusions: list[Finding]
    rules_asked: int
    without: dict[str, list[str]]  # what the run lacks -> names of the rules that need it
    broken: dict[str, str]  # path of a file -> what is wrong with it
    bar: Bar  # the run's time by cause


def _header(path: Path, text: str) -> tuple[dict[str, str], str]:
    """`-- key: value` lines at the top, a value going on in lines indented deeper; then the SQL."""
    fields: dict[str, str] = {}
    key = ""
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    for number, line in enumerate(lines[:end], 1):
        entry = re.fullmatch(r"-- (\w+):\s*(.*)", line)
        if entry:
            key = entry[1]
            if key not in KEYS + OPTIONAL:
                known = ", ".join(KEYS + OPTIONAL)
                raise UsageError(f"{path}:{number}: no key '{key}' in a finding; there are {known}")
            fields[key] = entry[2]
        elif key and re.match(r"--\s{2,}\S", line):
            fields[key] += " " + line.removeprefix("--").strip()
        else:
            raise UsageError(f"{path}:{number}: '-- key: value' is expected, then the SQL")
    return fields, "\n".join(lines[end:])


def read(path: Path) -> Rule:
    """One file. Errors: UsageError with file and line."""
    try:
        return _rule(path, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error


@lru_cache(1024)
def _rule(path: Path, text: str) -> Rule:
    fields, sql = _header(path, text)
    missing = [key for key in KEYS if not fields.get(key)]
    if missing or not sql.strip():
        raise UsageError(f"{path}: a finding needs {', '.join(missing) or 'its SQL'}")
    try:
        sure = float(fields["sure"])
    except ValueError:
        sure = -1.0
    if not 0 <= sure <= 1:
        raise UsageError(f"{path}: sure is a number from 0 to 1, not '{fields['sure']}'")
    needs = _words(path, "needs", fields.get("needs", "calls"), NEEDS)
    causes = _words(path, "causes", fields.get("causes", ""), frozenset(CAUSES))
    words = {key: fields.get(key, "") for key in (*KEYS, "knob", "ompio", "when") if key != "sure"}
    asked = conditions(words["fix"] + words["knob"] + words["ompio"])
    if wrong := [word for word in asked if not is_condition(word)]:
        raise UsageError(f"{path}: [{min(wrong)}: …] is about no layer and no language")
    return Rule(path=path, sure=sure, needs=needs - {"counters"}, causes=causes, sql=sql, **words)


def _words(path: Path, key: str, text: str, known: frozenset[str]) -> frozenset[str]:
    """A list of a header, of words that are known."""
    words = frozenset(re.split(r"[,\s]+", text.strip())) - {""}
    if unknown := words - known:
        raise UsageError(f"{path}: {key} is of {', '.join(sorted(known))}; not '{min(unknown)}'")
    return words


def catalog() -> list[Path]:
    """Files of the findings that Fathom brings."""
    return catalog_files("findings", "*.sql")


def _files(word: str, own: Sequence[Path]) -> list[Path]:
    """What a user means by the name of a finding, a file, or a folder."""
    path = Path(word)
    if is_folder(path):
        return listed(path, "*.sql")
    if path.suffix == ".sql":
        return [path]
    named = [file for file in (*catalog(), *own) if file.stem == word]
    if not named:
        names = [file.stem for file in (*catalog(), *own)]
        raise UsageError(unknown("no finding", word, names, "docs/findings.md lists them"))
    return named


def rules(words: Iterable[str] = ()) -> list[Path]:
    """The files to ask: those `words` name, or all; those of the user's own folder take part."""
    own = paths.own_findings()
    if own and not is_folder(own):
        raise UsageError(f"{own} is no folder of findings")
    users_rules = listed(own, "*.sql") if own else []
    chosen = [path for word in words for path in _files(word, users_rules)]
    return list(dict.fromkeys(chosen or [*catalog(), *users_rules]))


def _limit_to_spent(row: dict[str, Any]) -> None:
    """Nobody wins more than the seconds that the sentence says were spent."""
    spent = row.get("seconds")
    if spent is not None:
        row |= {name: min(row[name], spent) for name in ("lost", "low", "high") if row.get(name)}


def _check(row: dict[str, Any]) -> None:
    for name in ("lost", "low", "high", "seconds"):
        if not isinstance(row.get(name), int | float | None):
            raise UsageError(f"'{name}' is a number of seconds or null, not '{row[name]}'")
    calls = row.get("calls")
    if calls is not None and not (
        isinstance(calls, list) and all(isinstance(call, int | None) for call in calls)
    ):
        raise UsageError("'calls' is a list of calls.id")


class Questions:
    """A run that findings are asked of: what several of them stand on is worked out once."""

    def __init__(self, run: Run) -> None:
        """Nothing is asked yet."""
        self.run = run

    @cached_property
    def seconds(self) -> float:
        """How long the run lasted."""
        return float(self.run.sql("select duration / 1e9 as s from runs")["s"][0].as_py())

    @cached_property
    def has(self) -> frozenset[str]:
        """What the run recorded, of calls and samples."""
        present = self.run.sql(
            "select exists (select 1 from calls where layer <> 'fathom') as calls,"
            " exists (select 1 from samples) as samples"
        ).to_pylist()[0]
        return frozenset(name for name, is_there in present.items() if is_there)

    @cached_property
    def is_ompio(self) -> bool:
        """Is MPI-IO OMPIO's?"""
        return bool(self.run.sql("from ompio_users() limit 1").num_rows)

    @cached_property
    def language(self) -> str:
        """The program's."""
        return str(self.run.sql("select language() as l")["l"][0].as_py())

    @cached_property
    def used(self) -> Program:
        """What advice may be about: layers that the program calls itself, `LAYER below` of all, ranks, language, and
        versions of libraries."""
        called = self.run.sql(
            "select layer, bool_or(is_outermost(enclosing_layer, enclosing)) as own from counters group by layer"
        ).to_pylist()
        ranks = self.run.sql("select count(rank) as n from processes")["n"][0].as_py()
        libraries = self.run.sql("from versions_of_libraries()")["name"].to_pylist()
        words = frozenset(
            (
                *(row["layer"] for row in called if row["own"]),
                *(f"{row['layer']} below" for row in called),
                *(["ranks"] if ranks > 1 else []),
                self.language,
            )
        )
        return Program(words, lowest_versions(name for name in libraries if name))

    def fitted(self, rule: Rule) -> Rule:
        """The rule with the layers that this run has, the knob of its MPI-IO, and advice about what the program uses,
        in its language."""
        knob = rule.ompio if rule.ompio and self.is_ompio else rule.knob
        named = [name for name in rule.layer.split(", ") if f"{name} below" in self.used]
        return replace(
            rule,
            layer=", ".join(named) or rule.layer,
            knob=fitting(knob, self.used),
            fix=advice(rule.fix, self.used, self.language),
        )

    def advised(self, rule: Rule, row: dict[str, Any]) -> dict[str, Any]:
        """A row, with advice about what the program uses, in its language."""
        texts = {name: row[name] for name in columns(rule.fix) if isinstance(row.get(name), str)}
        return row | {name: advice(text, self.used, self.language) for name, text in texts.items()}

    @cached_property
    def account(self) -> Account:
        """The run's seconds by cause, of which each is said once."""
        return Account(self.run)

    @cached_property
    def in_part(self) -> dict[str, Any]:
        """Are there ranks of whose `calls`, or `files`, less is known than of others'?"""
        row: dict[str, Any] = self.run.sql("from ranks_in_part()").to_pylist()[0]
        return row

    @cached_property
    def _layers(self) -> frozenset[str]:
        """Where something may be to mend: a program that uses one library could use all."""
        found = self.run.sql("select distinct layer from counters")["layer"].to_pylist()
        called = frozenset(found) | EVERYWHERE
        return called | LIBRARIES if called & LIBRARIES else called

    @cached_property
    def _processes(self) -> int:
        return int(self.run.sql("select count(*) as n from processes")["n"][0].as_py())

    def is_about(self, rule: Rule) -> bool:
        """Could the rule find something worth saying? It needs a layer to be about, ranks to compare, and seconds in
        its cells of the account."""
        if not rule.layers & self._layers:
            return False
        if "ranks" in rule.needs and self._processes < 2:
            return False
        return not rule.causes or self.much(self.account.at_most(rule.causes))

    def possible(self, rules: Iterable[Rule], broken: dict[str, str]) -> frozenset[str]:
        """Of the rules' conditions those that hold. A rule whose condition cannot be asked is in `broken`."""
        conditional = [rule for rule in rules if rule.when]
        try:
            return self._hold([rule.when for rule in conditional])
        except FathomError:
            return frozenset[str]().union(*(self._holds(rule, broken) for rule in conditional))

    def _holds(self, rule: Rule, broken: dict[str, str]) -> frozenset[str]:
        """One rule's condition by itself."""
        try:
            return self._hold([rule.when])
        except DamagedTable:
            raise
        except FathomError as error:
            broken[str(rule.path)] = str(error)
            return frozenset()

    def _hold(self, texts: list[str]) -> frozenset[str]:
        """Of these conditions those that hold, asked in one statement."""
        conditions = list(dict.fromkeys(texts))
        if not conditions:
            return frozenset()
        columns_ = ", ".join(f'({one}) as "{at}"' for at, one in enumerate(conditions))
        row = self.run.sql(f"select {columns_}").to_pylist()[0]
        return frozenset(one for at, one in enumerate(conditions) if row[str(at)])

    def lacks(self, rule: Rule) -> str | None:
        """What the run has not, and the rule needs."""
        compared = "calls" if "calls" in rule.needs else "files"
        has = self.has if self.in_part[compared] else self.has | {"ranks"}
        return min(rule.needs - has, default=None)

    def rows(self, rule: Rule) -> list[dict[str, Any]]:
        """The rows of a rule's SQL, but for those that lose too little to be said."""
        prepare(self.run, rule.sql)
        table: pa.Table = self.run.sql(rule.sql)
        if "lost" not in table.column_names:
            raise UsageError("its SQL gives no column 'lost' (seconds)")
        rows = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
        for row in rows:
            _check(row)
            if row["lost"] is not None:
                _limit_to_spent(row)
                self._of_all_in_turn(rule, row)
                # Sums over a process's threads, or estimates of a log of sums, can be more than there is to win.
                row["lost"] = min(row["lost"], self.seconds)
        return [row for row in rows if self.much(row["lost"])]

    def _of_all_in_turn(self, rule: Rule, row: dict[str, Any]) -> None:
        """A rule says what one process loses: of those that ran one after another all do."""
        if rule.causes and not row.get("in_turn"):
            times = self.account.in_turn(rule.causes, row)
            row |= {name: times * row[name] for name in ("lost", "low", "high") if row.get(name)}

    def much(self, lost: float | None) -> bool:
        """Is it worth saying? A danger always is."""
        return lost is None or lost > max(LEAST_SHARE * self.seconds, LEAST_SECONDS)


def _place(row: dict[str, Any]) -> str:
    where = f"{row['source']}:{row['line']}" if row["source"] else row["module"] or "unknown module"
    return where if is_nameless(row["function"]) else f"{where} {row['function']}"


def _caller(row: dict[str, Any]) -> str:
    """Of a helper's line who called it, else nothing."""
    if row["caller_line"] is None:
        return ""
    of_it = {name: row[f"caller_{name}"] for name in ("function", "source", "line")}
    return f", called from {_place(of_it)}"


def _helpers(run: Run) -> frozenset[tuple[str, str]]:
    """Functions of the program's, with their sources, that three or more of its lines call to do I/O."""
    rows = run.sql(
        "select function, source from sites"
        " where caller_line is not null and function is not null and source is not null"
        " group by all having count(distinct (caller_source, caller_line)) >= 3"
    )
    return frozenset((row["function"], row["source"]) for row in rows.to_pylist())


Around = dict[int, dict[str, Any]]


def _around(run: Run, calls: set[int]) -> Around:
    """Parent, site and seconds of these calls and of all around them. One step of the tree at a time, since of a list
    of ids the database reads only the stretches of the table that can hold one."""
    around: Around = {}
    known: set[int] = set()
    while new := calls - known:
        listed = ", ".join(map(str, new))
        rows = run.sql(
            f"select id, parent, site, duration / 1e9 as seconds from calls where id in ({listed})"
        ).to_pylist()
        around |= {row["id"]: row for row in rows}
        known |= new
        calls = {row["parent"] for row in rows if row["parent"] is not None}
    return around


def _examples(findings: Sequence[Finding]) -> set[int]:
    return {call for finding in findings for call in finding.calls}


def _lines(run: Run, examples: set[int], around: Around) -> dict[int, str]:
    """Call to the line that it, or the nearest call around it of which that is known, was made from."""
    known = run.sql(
        "from sites where list_contains($known, site)",
        known=[row["site"] for row in around.values()],
    )
    sites = {row["site"]: row for row in known.to_pylist()}
    helpers = _helpers(run) if examples else frozenset()
    lines: dict[int, str] = {}
    for example in examples:
        at = around.get(example)
        while at and at["site"] not in sites:
            at = around.get(at["parent"])
        if at:
            site = sites[at["site"]]
            is_helper = (site["function"], site["source"]) in helpers
            lines[example] = _place(site) + (_caller(site) if is_helper else "")
    return lines


def _finding(rule: Rule, row: dict[str, Any]) -> Finding:
    sure = row.get("sure")
    calls = [call for call in row.get("calls") or [] if call is not None][:MOST_CALLS]
    return Finding(
        rule, row, row["lost"], None, rule.sure if sure is None else float(sure), calls, []
    )


def _habits(asked: Questions, findings: Sequence[Finding], around: Around) -> list[Finding]:
    """Those that lose much also without their longest example's stall: one call is no habit."""

    def stalled(finding: Finding) -> float:
        # What a library computes has none: its waiting for a processor is a cause of its own.
        if finding.rule.causes == {"library"}:
            return 0.0
        took = (around[call]["seconds"] for call in finding.calls if call in around)
        return min(STALL, max(took, default=0.0))

    return [one for one in findings if one.lost is None or asked.much(one.lost - stalled(one))]


def _bounded(finding: Finding, account: Account) -> Finding:
    """With an interval, and no more seconds than the account has for it."""
    lost, rule, row = finding.lost, finding.rule, finding.values
    if lost is None:
        return finding
    if not rule.causes:
        lost = min(lost, account.most)
        return replace(
            finding, lost=lost, between=(lost / WITHIN, min(lost * WITHIN, account.most))
        )
    low, high = row.get("low"), row.get("high")
    highest = account.most if high is None else min(high, account.most)
    won, most, least = account.won(rule.causes, row, [lost, highest, max(0.0, low or 0.0)])
    most = most if high is None else max(won, most)
    least = won / WITHIN if low is None else min(won, least)
    return replace(finding, lost=won, between=(least, most))


def _apart(asked: Questions, findings: Sequence[Finding]) -> list[Finding]:
    """The one with the most seconds takes its cells of the account; what follows from the same ones is not said again.

    A lack of processors comes first: ranks that wait for one look like much else.
    """
    account = asked.account
    left = [_bounded(one, account) for one in findings]
    apart: list[Finding] = []
    while left:
        left.sort(
            key=lambda one: ("processor" not in one.rule.causes, -(one.lost or 0.0) * one.sure)
        )
        first = left.pop(0)
        if not asked.much(first.lost):
            continue
        apart.append(first)
        if first.lost is not None and first.rule.causes:
            account.take(first.rule.causes, first.values, first.lost)
            again = [one.rule.causes & first.rule.causes for one in left]
            left = [
                _bounded(one, account) if joined else one
                for one, joined in zip(left, again, strict=True)
            ]
    return apart


def _located(finding: Finding, lines: dict[int, str]) -> Finding:
    places_ = dict.fromkeys(lines[call] for call in finding.calls if call in lines)
    return replace(finding, lines=list(places_))


def find(run: Run, rule_files: Sequence[Path]) -> Findings:
    """Asks every rule. A file that is no finding, or whose SQL fails, is said and the others are asked."""
    questions, ours = Questions(run), frozenset(catalog())
    rules: list[Rule] = []
    conclusions: list[Finding] = []
    without: dict[str, list[str]] = {}
    broken: dict[str, str] = {}
    for path in rule_files:
        try:
            rule = read(path)
            lacking = questions.lacks(rule)
            if lacking:
                without.setdefault(lacking, []).append(rule.name)
            # Of the user's own rules a mistake in the SQL is to be heard.
            elif path not in ours or questions.is_about(rule):
                rules.append(rule)
        except DamagedTable:  # no fault of the rule: all others read it too
            raise
        except FathomError as error:
            broken[str(path)] = str(error)
    possible = questions.possible([rule for rule in rules if rule.path in ours], broken)
    for rule in rules:
        if rule.path in ours and rule.when and rule.when not in possible:
            continue
        try:
            rows = [questions.advised(rule, row) for row in questions.rows(rule)]
            conclusions += [_finding(questions.fitted(rule), row) for row in rows]
        except DamagedTable:
            raise
        except FathomError as error:
            broken[str(rule.path)] = str(error)
    around = _around(run, _examples(conclusions))
    conclusions = _apart(questions, _habits(questions, conclusions, around))
    lines = _lines(run, _examples(conclusions), around)
    # Dangers, which lose no time, come after all that does.
    ranked = sorted(
        conclusions, key=lambda finding: (-(finding.lost or 0.0), -finding.sure, finding.rule.name)
    )
    return Findings(
        [_located(finding, lines) for finding in ranked],
        len(rule_files),
        without,
        broken,
        bar(run),
    )
