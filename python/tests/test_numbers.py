"""How numbers are written."""

import tomllib
from typing import Any

import pytest
from fathom.catalog.layers import catalog_path
from fathom.text import numbers

CASES = tomllib.loads(catalog_path("units.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("table", CASES)
def test_numbers_are_written_as_the_catalog_says(table: str) -> None:
    write: Any = getattr(numbers, table)
    cases = [case for row in CASES[table] for case in row["cases"]]
    assert [write(value) for value, _ in cases] == [text for _, text in cases]


@pytest.mark.parametrize(("value", "written"), [
    (None, "-"), (0, "0 s"), (1.5, "1.5 s"), (0.9999, "1 s"), (0.0021, "2.1 ms"), (12.34e-6, "12.3 µs"),
    (3e-9, "3 ns"), (0.2e-9, "0.2 ns"), (4000, "4000 s"), (999.6e-9, "1 µs"), (-0.5, "-500 ms"),
])  # fmt: skip
def test_seconds(value: float | None, written: str) -> None:
    assert numbers.seconds(value) == written


@pytest.mark.parametrize(("value", "written"), [
    (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1048575, "1 MiB"),
    (5 * 2**40, "5 TiB"), (None, "-"),
])  # fmt: skip
def test_size(value: int | None, written: str) -> None:
    assert numbers.size(value) == written


def test_percent_rate_count() -> None:
    assert numbers.percent(0.1234) == "12.3 %"
    assert numbers.percent(1e-6) == "<0.01 %"
    assert numbers.percent(1) == "100 %"
    assert numbers.rate(0.001) == "<0.01"
    assert numbers.count(1234567) == "1,234,567"
    assert numbers.count(2.5) == "2.5"


def test_a_moment_that_nobody_measured_is_not_1970() -> None:
    assert numbers.moment(1_700_000_000 * 10**9) == "2023-11-14 22:13:20 UTC"
    assert numbers.moment(0) == ""
