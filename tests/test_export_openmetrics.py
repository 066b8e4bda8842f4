"""`fathom export --to openmetrics`: Prometheus's own parsers read what the tables say, whatever names are in it."""

from __future__ import annotations

from pathlib import Path

import fathom
import pytest
from harness import exports
from prometheus_client.openmetrics.parser import text_string_to_metric_families as of_openmetrics
from prometheus_client.parser import text_string_to_metric_families as of_text

HOSTILE = 'a "quoted" \\ name\nof two lines, {x="1"} ü'
SUMS = "select layer, kind, sum(calls)::bigint, sum(errors)::bigint, sum(bytes)::bigint, sum(time) / 1e9 from counters"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small writes that are only counted, by a program with a hostile name."""
    return exports.counted(tmp_path_factory.mktemp("openmetrics"), HOSTILE, 5000)


@pytest.fixture(scope="module")
def text(run: Path) -> str:
    assert exports.export(run, "--to", "openmetrics")[0] == "run.prom\n"
    return (run.parent / "run.prom").read_text(encoding="utf-8")


def test_values_are_sums_of_the_tables(run: Path, text: str) -> None:
    families = {family.name: family for family in of_openmetrics(text)}
    opened = fathom.open(run)
    rows = [tuple(row.values()) for row in opened.sql(f"{SUMS} group by all").to_pylist()]
    assert rows
    for at, name in enumerate(("calls", "errors", "bytes", "seconds"), 2):
        samples = families[f"fathom_io_{name}"].samples
        values = {(one.labels["layer"], one.labels["kind"]): one.value for one in samples}
        assert values == pytest.approx({row[:2]: row[at] for row in rows})
    assert families["fathom_io_bytes"].unit == "bytes"
    (duration,) = families["fathom_run_duration_seconds"].samples
    assert duration.value == opened.sql("select duration / 1e9 as s from runs")["s"][0].as_py()
    found = opened.findings().to_pylist()
    lost = {row["finding"] for row in found if row["lost_seconds"] is not None}
    named = families.get("fathom_finding_lost_seconds")
    assert {one.labels["finding"] for one in named.samples if named} == lost if named else not lost
    assert families["fathom_cause_seconds"].samples


def test_both_parsers_read_hostile_names(run: Path, text: str) -> None:
    nodes = fathom.open(run).table("nodes")["host"].to_pylist()
    for parser in (of_openmetrics, of_text):
        samples = [one for family in parser(text) for one in family.samples]
        assert len(samples) > 10
        for one in samples:
            assert one.labels["program"] == HOSTILE and one.labels["run"] == "run"
            assert one.labels["host"] == nodes[0]


def test_it_is_of_the_whole_run(run: Path) -> None:
    _, said = exports.export(run, "--to", "openmetrics", "--layers", "posix", status=2)
    assert "is of the whole run; leave --layers out" in said
