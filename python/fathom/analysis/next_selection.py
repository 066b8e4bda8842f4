"""The next, closer run: what to look at, one level below what this run has. The steps of Chang, Jin, Bauer 2016, III.C:
totals of all ranks, then files on the ranks that dominate, then every call on the files, operations, ranks that do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fathom.analysis import Source
from fathom.analysis.answers import Ranks, ranks
from fathom.analysis.dominance import dominant
from fathom.analysis.own import everyone, own, shares

# Groups of files that take less of the time are left out, and what the others must take together.
LEAST_GROUP, MOST = 0.05, 0.9
# As many ranks are looked at when all are alike.
SAMPLE = 16


@dataclass(frozen=True)
class Step:
    """What the next run records in more detail than this one."""

    level: str  # `file`, `call`; `none`: this run has the calls already
    ranks: list[int] | None  # null: all
    operations: str | None  # read, write, both; null: all
    files: list[str] | None  # globs over whole paths; null: all
    share: float  # of the I/O time, of the ranks chosen (level `file`); of that on files, of those chosen (`call`)


def level(source: Source) -> str:
    """How fine this run's I/O calls are: `job`, `file`, `call`, or `none`: there are none."""
    table = own(source)
    if not table.num_rows:
        return "none"
    if any(table["recorded"].to_pylist()):
        return "call"
    known = source.sql(
        "select count(file) as n from counters where kind in ('read', 'write', 'close')"
    )
    return "file" if known["n"][0].as_py() else "job"


def _sample(everyone: Sequence[int]) -> list[int]:
    """Ranks in even steps, from the first."""
    step = max(1, -(-len(everyone) // SAMPLE))
    return list(everyone[::step])


def _ranks(who: Ranks, everybody: list[int]) -> list[int] | None:
    """Those that move the bytes, and those that take the time where these are not all."""
    if who.unit != "rank" or who.of <= 1:
        return None
    chosen = set() if who.kind == "all" else set(who.who)
    if who.calling != "all":
        chosen |= set(who.calling_who)
    if who.kind == who.calling == "all" and len(everybody) > SAMPLE:
        chosen = set(_sample(everybody))
    return sorted(chosen) if 0 < len(chosen) < len(everybody) else None


def _groups(rows: Sequence[dict[str, Any]]) -> tuple[list[str], float]:
    """Groups of files that take most of the time on files, and their share."""
    spent: dict[str, int] = {}
    for row in rows:
        if row["file_group"] is not None:
            spent[row["file_group"]] = spent.get(row["file_group"], 0) + row["time"]
    total = sum(spent.values()) or 1
    chosen: list[str] = []
    held = 0
    for name, value in sorted(spent.items(), key=lambda pair: (-pair[1], pair[0])):
        if held >= MOST * total or value < LEAST_GROUP * total:
            break
        chosen.append(name)
        held += value
    return chosen, held / total


def _operations(kinds: dict[str, int]) -> str | None:
    """The data operation that dominates; null where others do."""
    parts = dict(shares(list(kinds.items())))
    read, write = parts.get("read", 0.0), parts.get("write", 0.0)
    if read + write < MOST:
        return None
    return "read" if read >= MOST else "write" if write >= MOST else "both"


def step(source: Source) -> Step:
    """The next step after this run."""
    now = level(source)
    everybody = everyone(source)
    who = ranks(source)
    if now in ("call", "none"):
        return Step("none", None, None, None, 0.0)
    if now == "job":
        chosen = _ranks(who, everybody)
        return Step("file", chosen, None, None, _share_of(source, chosen))
    rows = source.sql("from time_by_group()").to_pylist()
    files, share = _groups(rows)
    kinds: dict[str, int] = {}
    on_ranks: dict[int, int] = {}
    for row in rows:
        if row["file_group"] in files:
            kinds[row["kind"]] = kinds.get(row["kind"], 0) + row["time"]
            if row["rank"] is not None:
                on_ranks[row["rank"]] = on_ranks.get(row["rank"], 0) + row["time"]
    guilty = dominant(dict.fromkeys(everybody, 0) | on_ranks)
    guilty_ranks = replace(who, calling=guilty.how, calling_who=list(guilty.ranks))
    globs = [f"*/{name}" for name in files] or None
    return Step("call", _ranks(guilty_ranks, everybody), _operations(kinds), globs, share)


def _share_of(source: Source, chosen: list[int] | None) -> float:
    if chosen is None:
        return 1.0 if any(own(source)["time"].to_pylist()) else 0.0
    of_these = "sum(time) filter (list_contains($ranks, rank)) / nullif(sum(time), 0)"
    row = source.sql(f"select {of_these} as share from own_processes()", ranks=chosen)
    return row["share"][0].as_py() or 0.0
