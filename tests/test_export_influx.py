"""`fathom export --to influx`: a parser of the line protocol reads what OpenMetrics says, whatever names are in it."""

from __future__ import annotations

from pathlib import Path

import fathom
import pytest
from harness import exports
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families

HOSTILE = 'a, b=c "d" \\ e\nf ü\\'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small writes that are only counted, by a program with a hostile name."""
    return exports.counted(tmp_path_factory.mktemp("influx"), HOSTILE, 500)


def test_lines_say_what_openmetrics_says(run: Path) -> None:
    for name in ("influx", "openmetrics"):
        exports.export(run, "--to", name)
    lines = (run.parent / "run.influx").read_text(encoding="utf-8").splitlines()
    points = [parse_line(line) for line in lines]
    families = text_string_to_metric_families((run.parent / "run.prom").read_text(encoding="utf-8"))
    expected = [one for family in families for one in family.samples]
    assert len(points) == len(expected) > 10
    ends = fathom.open(run).sql("select (started + duration)::bigint as at from runs")["at"]
    for point, sample in zip(points, expected, strict=True):
        assert point["measurement"] == sample.name
        assert point["fields"] == {"value": sample.value}
        assert point["time"] == ends[0].as_py()
        assert point["tags"].pop("program") == 'a, b=c "d" / e f ü/'
        assert point["tags"] == {k: v for k, v in sample.labels.items() if k != "program"}
