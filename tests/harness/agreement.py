"""No two answers on a run disagree: what each analysis says of it is said by another in other words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import fathom
from fathom.analysis import Source, accesses, answers, landscape, own, summary
from fathom.analysis.breakdown import breakdown

Rows = list[dict[str, Any]]
#: Figures of one run that must be equal, by what says them.
Values = Mapping[str, Any]
COUNTS = ("calls", "errors", "bytes")


def _sum(rows: Iterable[Mapping[str, Any]], *columns: str) -> tuple[int, ...]:
    listed = list(rows)
    return tuple(sum(row[column] for row in listed) for column in columns)


def _by(rows: Rows, key: str, *columns: str) -> dict[Any, tuple[int, ...]]:
    groups: dict[Any, Rows] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return {key: _sum(group, *columns) for key, group in sorted(groups.items())}


def a_layer_has_the_calls_of_its_functions(run: Source) -> Values:
    layers = [r for r in summary.layers(run).to_pylist() if r["layer"] != "mpi"]
    functions = [r for r in summary.functions(run).to_pylist() if r["kind"] != "comm"]
    of = ("layer", "calls", "errors")
    return {"layers": _by(layers, *of), "functions": _by(functions, *of)}


def the_programs_calls_are_one_number(run: Source) -> Values:
    numbers: dict[str, Any] = {
        f"by {key}": _sum(breakdown(run, [key]).to_pylist(), *COUNTS)
        for key in ("rank", "operation")
    }
    ranks, mine = summary.ranks(run).to_pylist(), own.own(run).to_pylist()
    numbers["ranks"] = (*_sum(ranks, "calls"), numbers["by rank"][1], *_sum(ranks, "bytes"))
    numbers["own"] = (*_sum(mine, "calls"), numbers["by rank"][1], *_sum(mine, "bytes"))
    return numbers


def counters_tell_what_calls_tell(run: Source) -> Values:
    if not own.is_complete(run):
        return {}
    counted = breakdown(run, ["operation"]).to_pylist()
    each = breakdown(run, ["operation", "time"]).to_pylist()
    return {
        "counters": _by(counted, "operation", *COUNTS),
        "calls": _by(each, "operation", *COUNTS),
    }


def lines_have_the_programs_calls(run: Source) -> Values:
    if not own.is_complete(run):
        return {}
    mine = breakdown(run, ["operation"]).to_pylist()
    return {"own": _sum(mine, *COUNTS), "lines": _sum(own.lines(run).to_pylist(), *COUNTS)}


def the_use_of_files_is_that_of_the_files(run: Source) -> Values:
    talk = run.sql("select file from files where not is_file(kind, path, file_system)")["file"]
    aside = set(talk.to_pylist())
    files = [r for r in summary.files(run).to_pylist() if r["file"] not in aside]
    data = [r for r in files if r["kind"] in ("regular", "unknown")]
    used = accesses.file_counts(run).to_pylist()
    return {
        "files": sum(_sum(data, "bytes_read", "bytes_written")),
        "use of files": sum(_sum(used, "bytes")),
    }


def shares_are_shares(run: Source) -> Values:
    of = answers.time(run)
    parts = [of.mean_share, of.busiest_share, of.least, of.most]
    parts += [row["share"] for row in summary.layers(run).to_pylist() if row["share"] is not None]
    fits = (
        all(0 <= part <= 1.0000001 for part in parts) and of.mean_share <= of.busiest_share + 1e-9
    )
    return {"wanted": True, str(parts): fits}


def the_landscape_has_the_answers_of_the_page(run: Source) -> Values:
    row, of = landscape.row(run), answers.answers(run)
    return {
        "landscape": (row["when"], row["run_seconds"]),
        "page": (of.when.pattern, of.time.run_seconds),
    }


def the_account_adds_up(run: Source) -> Values:
    """Within a microsecond a call."""
    rows = run.sql("""
        with cells as (select process, sum(time) as time from account() group by process),
        counted as (select process, sum(calls) as calls from own_counters() group by process)
        select process, o.time as io, coalesce(cells.time, 0) as account, counted.calls
        from own_processes() as o left join cells using (process) left join counted using (process)
    """).to_pylist()
    wrong = [row for row in rows if abs(row["account"] - row["io"]) > 1000 * row["calls"]]
    return {"wanted": [], "differ": wrong}


SENTENCES: tuple[Callable[[Source], Values], ...] = (
    a_layer_has_the_calls_of_its_functions,
    the_programs_calls_are_one_number,
    counters_tell_what_calls_tell,
    lines_have_the_programs_calls,
    the_use_of_files_is_that_of_the_files,
    shares_are_shares,
    the_landscape_has_the_answers_of_the_page,
    the_account_adds_up,
)


def broken(path: Path) -> list[str]:
    """One line per sentence in which two answers on this run differ."""
    run = fathom.open(path)
    out = []
    for sentence in SENTENCES:
        compared = sentence(run)
        if len({repr(value) for value in compared.values()}) > 1:
            what = sentence.__name__.replace("_", " ")
            out.append(f"not so: {what}: " + ", ".join(f"{k} {v!r}" for k, v in compared.items()))
    return out
