"""What a run's requests would take on another store of the catalog, as intervals (analysis/sql/on_store.sql).

What libraries do in memory, and communication, are left as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.analysis import findings
from fathom.analysis.account import in_order, prepare
from fathom.analysis.causes import Share
from fathom.analysis.sentence import columns
from fathom.catalog.layers import catalog_path
from fathom.catalog.stores import Store, stores
from fathom.errors import UsageError, unknown
from fathom.run.store import Run

#: What wins less of the seconds there is little; what wins less than the second is not said.
LEAST_SHARE = 0.01
LEAST_SHOWN = 0.0001
#: Rule -> requests as they are when its mistake is mended, and conflicts of locks that are left.
MENDED: Mapping[str, tuple[str, str]] = {
    "small-accesses": ("from on_joined($store, 'on_requests_now')", "from on_conflicts_now"),
    "sync-churn": ("from on_synced_once('on_requests_now')", "from on_conflicts_now"),
    "many-files": ("from on_one_file('on_requests_now')", "from on_conflicts_now"),
    "independent-small": (
        "from on_gathered('on_requests_now')",
        "from on_conflicts_now semi join (select process, file, n from on_requests_now"
        " where what = 'write' intersect select process, file, n from on_gathered('on_requests_now'))"
        " as same using (process, file)",
    ),
    "random-order": ("from on_sorted('on_requests_now')", "from on_conflicts_now"),
    "shared-blocks": ("from on_requests_now", "from on_conflicts_now where false"),
}


@dataclass(frozen=True)
class Seconds:
    """An interval, and one value."""

    low: float
    best: float
    high: float


@dataclass(frozen=True)
class There:
    """The process that takes longest at the storage there, or the chain of some that ran one after another."""

    process: int
    rank: int | None
    in_turn: int
    seconds: Seconds
    causes: dict[str, Seconds]  # in the order of CAUSES


@dataclass(frozen=True)
class Reason:
    """Requests of one kind to the files of a place, of all processes, and what they take of their seconds."""

    cause: str
    what: str
    share: float
    n: float
    waits: float  # of them: for a server
    bytes: float


@dataclass(frozen=True)
class Place:
    """Files whose names differ by numbers, and the process that they take longest."""

    place: str
    files: int
    processes: int
    seconds: Seconds
    here: float  # seconds that they took in this run
    reasons: list[Reason]  # the most seconds first


@dataclass(frozen=True)
class Advice:
    """A mistake, mended: seconds of the process that takes longest."""

    rule: findings.Rule
    place: str  # where it wins most
    values: dict[str, Any]  # for the rule's words
    before: Seconds
    after: Seconds

    @property
    def won(self) -> float:
        """Seconds, by the best values."""
        return self.before.best - self.after.best

    @property
    def is_much(self) -> bool:
        """Is it worth doing there?"""
        return self.won >= LEAST_SHARE * self.before.best


@dataclass(frozen=True)
class Prediction:
    """What a run would take on a store."""

    store: Store
    here: Share | None  # None: no time at the storage was measured
    there: There | None  # None: nothing reached the storage
    left: float  # seconds of own I/O calls that are none at the storage: they are left as they were
    places: list[Place]  # the most seconds first
    advice: list[Advice]  # what wins most first
    guessed: bool  # conflicts of locks are estimated from counters


def named(name: str) -> Store:
    """A store, by its name or by a type that it has. Raises UsageError with those that there are."""
    known = stores()
    by_type = {word: store for store in known.values() for word in store.types}
    store = known.get(name.lower()) or by_type.get(name.lower())
    if store is None:
        others = f"there are {', '.join(known)}, and their types (docs/stores.md)"
        raise UsageError(unknown("no store", name, (*known, *by_type), others))
    return store


def _seconds(row: Mapping[str, Any]) -> Seconds:
    return Seconds(row["low"], row["best"], row["high"])


def _slowest(run: Run, cells: str) -> There | None:
    rows = run.sql(f"from on_slowest('{cells}')").to_pylist()
    by_cause = {row["cause"]: _seconds(row) for row in rows}
    if not rows:
        return None
    causes = in_order(by_cause)
    total = Seconds(
        sum(one.low for one in causes.values()),
        sum(one.best for one in causes.values()),
        sum(one.high for one in causes.values()),
    )
    return There(rows[0]["process"], rows[0]["rank"], rows[0]["in_turn"], total, causes)


def _here(run: Run) -> Share | None:
    """The process or chain that took longest at the storage in this run."""
    run.keep(
        "on_measured_cells",
        "select process, place, cause, seconds as low, seconds as best, seconds as high from on_measured",
    )
    took = _slowest(run, "on_measured_cells")
    if took is None:
        return None
    causes = {cause: seconds.best for cause, seconds in took.causes.items()}
    return Share(took.process, took.rank, took.seconds.best, causes, in_turn=took.in_turn)


def _left(run: Run) -> float:
    row = run.sql(
        "with own as (select process, sum(time) / 1e9 as seconds from account() group by process),"
        " store as (select process, sum(seconds) as seconds from on_measured group by process),"
        " each as (select process, own.seconds - coalesce(store.seconds, 0) as seconds"
        " from own left join store using (process))"
        " select max(together) as seconds"
        " from (select sum(seconds) as together from each join chains() using (process) group by chain)"
    )
    return max(0.0, row["seconds"][0].as_py() or 0.0)


def _reasons(causes: Sequence[Mapping[str, Any]]) -> list[Reason]:
    whole = sum(one["best"] for one in causes) or 1.0
    return [
        Reason(one["cause"], one["what"], one["best"] / whole, one["n"], one["waits"], one["bytes"])
        for one in causes
    ]


def _places(run: Run) -> list[Place]:
    rows = run.sql(
        "with process as"
        " (select place, chain, sum(seconds) as seconds"
        " from on_measured join chains() using (process) group by place, chain),"
        " here as (select place, max(seconds) as seconds from process group by place)"
        " select p.*, coalesce(h.seconds, 0) as here"
        " from on_places('on_cells_now') as p left join here as h using (place)"
        " order by best desc, place"
    ).to_pylist()
    return [
        Place(
            row["place"],
            row["files"],
            row["processes"],
            _seconds(row),
            row["here"],
            _reasons(row["causes"]),
        )
        for row in rows
    ]


def _price(run: Run, store: str, requests: str, conflicts: str, name: str) -> None:
    """Keeps on_requests_NAME, on_conflicts_NAME, on_cells_NAME."""
    run.keep(f"on_requests_{name}", requests.replace("$store", f"'{store}'"))
    run.keep(f"on_conflicts_{name}", conflicts)
    run.keep(
        f"on_cells_{name}",
        f"from on_cells('{store}', 'on_requests_{name}', 'on_conflicts_{name}')",
    )


def _advice(run: Run, store: Store, before: There) -> list[Advice]:
    found = []
    folder, questions = catalog_path("findings"), findings.Questions(run)
    for number, (name, (requests, conflicts)) in enumerate(MENDED.items()):
        _price(run, store.name, requests, conflicts, str(number))
        after = _slowest(run, f"on_cells_{number}")
        best = after.seconds.best if after else 0.0
        if after is None or before.seconds.best - best <= LEAST_SHOWN * before.seconds.best:
            continue
        most = run.sql(
            "with each as (select place, what, best from on_cells_now union all"
            f" select place, what, -best from on_cells_{number})"
            " select place, what from each group by place, what order by sum(best) desc limit 1"
        ).to_pylist()[0]
        piece = max(1 << 20, min(16 << 20, store.default("stripe_bytes") or 0))
        unit = store.default("stripe_bytes") or store.default("lock_unit") or 4096
        rule = questions.fitted(findings.read(folder / f"{name}.sql"))
        # Of what else the rule knows of a run nothing is said.
        values = dict.fromkeys(columns(rule.fix)) | {
            "what": "read" if most["what"] == "read" else "write",
            "piece": piece,
            "stripes": "",
            "block": unit,
        }
        found.append(Advice(rule, most["place"], values, before.seconds, after.seconds))
    return sorted(found, key=lambda one: one.after.best)


def predict(run: Run, store: Store) -> Prediction:
    """What the run's requests would take there. Asked once of an opened run."""
    prepare(run, "account() account_storage() chains()")
    run.keep("on_measured", "from on_here()")
    run.keep_macro("on_requests")
    _price(run, store.name, "from on_requests()", f"from on_conflicts('{store.name}')", "now")
    there = _slowest(run, "on_cells_now")
    guessed = run.sql("select count(*) as n from on_conflicts_now where not known")["n"][0].as_py()
    return Prediction(
        store=store,
        here=_here(run),
        there=there,
        left=_left(run),
        places=_places(run),
        advice=_advice(run, store, there) if there else [],
        guessed=bool(guessed),
    )
