"""Influx's line protocol: the metrics of `openmetrics`, a line each at the run's end, with one field, `value`.
(docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol)"""

from pathlib import Path

from fathom.interop.exports.openmetrics import families, labels_of, of_program
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected

#: What separates tags; a backslash goes before it.
SEPARATORS = str.maketrans({one: f"\\{one}" for one in ", ="})


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    del progress
    run = of_program(selected)
    common = labels_of(run)
    ended = run.sql("select (started + duration)::bigint as at from runs")["at"][0].as_py()
    with out.open("x", encoding="utf-8", newline="\n") as file:
        for family in families(run):
            for labels, value in family.samples:
                tags = "".join(f",{name}={_tag(one)}" for name, one in {**common, **labels}.items())
                file.write(f"{family.name}{tags} value={float(value)!r} {ended}\n")
    return []


def _tag(value: str) -> str:
    """In one line; a backslash would be taken for that of the separator behind it."""
    whole = value.encode(errors="replace").decode()  # half a letter is none
    return " ".join(whole.splitlines()).replace("\\", "/").translate(SEPARATORS)
