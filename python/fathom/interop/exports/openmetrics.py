"""OpenMetrics: a run's sums as gauges, in one text file. Prometheus's older text format takes it too, so that
node_exporter's textfile collector does: units and the end are comments there, and `info` would be an error.
(OpenMetrics 1.0, github.com/OpenObservability/OpenMetrics)"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.analysis import findings
from fathom.cache import conclusions
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected
from fathom.run.store import Run

Labels = Mapping[str, str]
Sample = tuple[Labels, int | float]

RUN = (
    "select started / 1e9 as started, duration / 1e9 as seconds, processes, nodes, ranks from runs"
)
SUMS = """
select layer, kind, sum(calls)::bigint as calls, sum(errors)::bigint as errors, sum(bytes)::bigint as bytes,
	sum(time) / 1e9 as seconds
from counters group by all order by all"""


@dataclass(frozen=True)
class Family:
    """A metric and its values."""

    name: str
    help: str
    samples: Sequence[Sample]
    unit: str = ""  # the name ends so


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    del progress
    run = of_program(selected)
    common = labels_of(run)
    with out.open("x", encoding="utf-8", newline="\n") as file:
        for family in families(run):
            file.writelines(f"{line}\n" for line in _lines(family, common))
        file.write("# EOF\n")
    return []


def of_program(selected: Selected) -> Run:
    """The program's part, as pages have it."""
    run = Run(selected.run.path)
    run.name = selected.run.name
    return run


def labels_of(run: Run) -> Labels:
    """Of every value; those that are known."""
    hosts = run.table("nodes")["host"].to_pylist()
    known = {
        "run": run.name,
        "program": run.manifest.get("program"),
        "user": run.manifest.get("user"),
        "host": hosts[0] if len(hosts) == 1 else None,
        "job": run.manifest.get("job"),
    }
    return {name: str(value) for name, value in known.items() if value not in (None, "")}


def families(run: Run) -> Iterator[Family]:
    """All that is said of a run."""
    (row,) = run.sql(RUN).to_pylist()

    def one(name: str, value: Any, says: str, unit: str = "") -> Family:
        return Family(f"fathom_run_{name}", says, [] if value is None else [({}, value)], unit)

    yield one("start_timestamp_seconds", row["started"], "When it began, since 1970.", "seconds")
    yield one("duration_seconds", row["seconds"], "From its first to its last event.", "seconds")
    yield one("processes", row["processes"], "Processes that were recorded.")
    yield one("nodes", row["nodes"], "Nodes that they ran on.")
    yield one("ranks", row["ranks"], "Ranks of the MPI job.")
    yield from _sums(run.sql(SUMS).to_pylist())
    ranked = conclusions.find(run, findings.rules(()))
    yield Family(
        "fathom_cause_seconds",
        "I/O time of the slowest process, by what took it.",
        list(_causes(ranked)),
        "seconds",
    )
    yield Family(
        "fathom_finding_lost_seconds",
        "Run time that could be had back, by finding.",
        list(_lost(ranked)),
        "seconds",
    )


def _sums(rows: list[dict[str, Any]]) -> Iterator[Family]:
    """Of each layer and kind of call, over all processes."""
    for name, says, unit in (
        ("calls", "Calls, recorded or only counted.", ""),
        ("errors", "Calls that failed.", ""),
        ("bytes", "Bytes that moved.", "bytes"),
        ("seconds", "Time in calls, with the calls inside them; summed over threads.", "seconds"),
    ):
        samples: list[Sample] = [
            ({"layer": row["layer"], "kind": row["kind"]}, row[name]) for row in rows
        ]
        yield Family(f"fathom_io_{name}", says, samples, unit)


def _causes(ranked: findings.Findings) -> Iterator[Sample]:
    slowest = ranked.bar.slowest
    for cause, seconds in slowest.causes.items() if slowest else ():
        yield {"cause": cause}, seconds


def _lost(ranked: findings.Findings) -> Iterator[Sample]:
    """Of a rule that found several things their sum, once."""
    lost: dict[str, float] = {}
    for one in ranked.conclusions:
        if one.lost is not None:
            lost[one.rule.name] = lost.get(one.rule.name, 0) + one.lost
    for name, seconds in lost.items():
        yield {"finding": name}, seconds


def _lines(family: Family, common: Labels) -> Iterator[str]:
    if not family.samples:
        return
    yield f"# TYPE {family.name} gauge"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {family.help}"
    for labels, value in family.samples:
        yield f"{family.name}{{{_text({**common, **labels}.items())}}} {value!r}"


def _text(labels: Iterable[tuple[str, str]]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)


def _escaped(value: str) -> str:
    whole = value.encode(errors="replace").decode()  # half a letter is none
    return whole.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
