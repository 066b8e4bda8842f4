"""Numbers for people: times SI, sizes IEC, rates in MB/s, three digits; a dash for what is not known."""

from datetime import UTC, datetime

UNKNOWN = "-"
TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _digits(value: float) -> str:
    """Three significant digits, never an exponent, no zeros that say nothing."""
    size = abs(value)
    if size >= 100:
        return f"{value:.0f}"
    text = f"{value:.1f}" if size >= 10 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".")


def moment(ns: int) -> str:
    """ns since 1970 -> `2026-11-26 01:39:36 UTC`; nothing of 0, which nobody measured."""
    return f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC" if ns else ""


def seconds(value: float | None) -> str:
    """1.5 -> `1.5 s`, 0.0021 -> `2.1 ms`; minutes stay seconds."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0 s"
    # 0.9996 s would read `1000 ms`: the unit is chosen for the rounded number.
    scale, unit = next(
        (pair for pair in TIMES if float(_digits(abs(value) / pair[0])) >= 1), TIMES[-1]
    )
    return f"{_digits(value / scale)} {unit}"


def known_seconds(value: float | None) -> str:
    """Where a dash would read as nothing: `unknown`."""
    return "unknown" if value is None else seconds(value)


def size(value: float | None) -> str:
    """1048576 -> `1 MiB`."""
    if value is None:
        return UNKNOWN
    number, power = float(value), 0
    while abs(float(_digits(number))) >= 1024 and power < len(SIZES) - 1:
        number /= 1024
        power += 1
    # Of a mean: there is no part of a byte.
    return f"{_digits(number) if power else round(number)} {SIZES[power]}"


def rate(value: float | None) -> str:
    """MB/s."""
    if value is None:
        return UNKNOWN
    return "<0.01" if 0 < value < 0.005 else _digits(value)


def hours(value: float | None) -> str:
    """Node hours."""
    return f"{value:,.0f}" if value and abs(value) >= 1000 else rate(value)


def percent(value: float | None) -> str:
    """0.123 -> `12.3 %`."""
    if value is None:
        return UNKNOWN
    return "<0.01 %" if 0 < value < 0.00005 else f"{_digits(100 * value)} %"


def count(value: float | None) -> str:
    """Thousands apart."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def plural(one: str) -> str:
    """`ranks`, `processes`."""
    return f"{one}es" if one.endswith("s") else f"{one}s"


def things(value: int, one: str, many: str | None = None) -> str:
    """3, "rank" -> `3 ranks`."""
    return f"{value:,} {one if value == 1 else many or plural(one)}"


def times(value: float | None) -> str:
    """A speed-up: 4.2 -> `4.2x`."""
    return UNKNOWN if value is None else f"{_digits(value)}x"


def sampled(value: float | None, unit: str, is_level: bool) -> str:
    """A level as it is; a counter per second: bytes as MB/s, time as its share of a second."""
    if value is None:
        return UNKNOWN
    if is_level:
        return size(value) if unit == "bytes" else count(round(value, 1))
    if unit == "bytes":
        return f"{rate(value / 1e6)} MB/s"
    return percent(value / 1e9) if unit == "ns" else f"{_digits(value)} /s"
