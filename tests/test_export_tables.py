"""`fathom export` to Parquet, Arrow, CSV, DuckDB: the rows of the tables, whatever is in them; and what goes wrong."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import fathom
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from fathom.interop.exports import pieces
from fathom.interop.exports.formats import FORMATS
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Part, Selected
from harness import exports, paths, tables

NAMED = """
select c.*, c.duration - c.nested as exclusive, f.path, o.name as object_name, n.host, s.function, s.source, s.line
from calls c left join files f using (file) left join objects o using (object) left join sites s using (site)
join processes p on p.process = c.process join nodes n using (node) where {where} order by c.id"""


@pytest.fixture(scope="module")
def s3d(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exports.kernel(tmp_path_factory.mktemp("tables"), "s3d_hdf5")


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose names have quotes, commas, tabs, ends of lines, bytes that are no UTF-8."""
    place = tmp_path_factory.mktemp("names")
    (place / "d").mkdir()
    return exports.record(place, "--", paths.PROGRAMS / "programs" / "names", place / "d")


def written(run: Path, form: str, table: str = "calls", part: Part | None = None) -> Path:
    """What the format's writer makes of a table."""
    out = run.parent / f"{table}.{form}"
    out.unlink(missing_ok=True)
    selected = Selected(fathom.open(run, with_runtime=True), part or Part(), table)
    assert FORMATS[form].writer(form)(selected, out, Progress(form, 0)) == []
    return out


def read(path: Path, form: str, table: str = "calls") -> pa.Table:
    if form == "parquet":
        return pq.read_table(path)
    if form == "arrow":
        return pyarrow.feather.read_table(path)
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(f'from "{table}"').to_arrow_table()


def wanted(run: Path, sql: str) -> pa.Table:
    return tables.connect(run).execute(sql).to_arrow_table()


def as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


@pytest.mark.parametrize("form", ["parquet", "arrow", "duckdb"])
def test_calls_come_back_as_they_are_with_names(
    s3d: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "QUESTION", 700)  # streams together, and one in parts
    exported = read(written(s3d, form), form)
    expected = wanted(s3d, NAMED.format(where="true"))
    assert (
        len(exported) > 1000
        and exported.column_names == expected.select(exported.column_names).column_names
    )
    assert exported.equals(expected.select(exported.column_names).cast(exported.schema))
    assert {one for one in exported["host"].to_pylist() if one} and "/pressure" in exported[
        "object_name"
    ].to_pylist()
    stored = (
        fathom.open(s3d, with_runtime=True).sql("from calls left join files using (file)").schema
    )
    for name in ("id", "start", "bytes", "rank", "topmost", "path"):
        assert exported.schema.field(name).type == stored.field(name).type


def test_every_table_comes_back(s3d: Path) -> None:
    run = fathom.open(s3d, with_runtime=True)
    for table in run.tables:
        if table == "calls":
            continue
        expected = run.sql(f'from "{table}"')
        assert read(written(s3d, "parquet", table), "parquet").equals(expected), table
        with written(s3d, "csv", table).open(encoding="utf-8", newline="") as file:
            head, *rows = list(csv.reader(file))
        assert head == expected.column_names
        lines = [[as_text(value) for value in row.values()] for row in expected.to_pylist()]
        assert rows == lines, table


def test_a_part_of_a_table_is_what_the_calls_refer_to(s3d: Path) -> None:
    part = Part(ranks=((1, 2, 1),), layers=("mpiio",))
    where = "c.rank between 1 and 2 and c.layer = 'mpiio'"
    exported = read(written(s3d, "parquet", part=part), "parquet")
    assert exported["id"].to_pylist() == wanted(s3d, NAMED.format(where=where))["id"].to_pylist()
    links = read(written(s3d, "parquet", "links", part), "parquet")
    chosen = f"(select id from calls c where {where})"
    sql = f"from links where from_call in {chosen} or to_call in {chosen}"
    assert len(links) == len(wanted(s3d, sql))
    streams = read(written(s3d, "parquet", "streams", part), "parquet")
    assert 0 < len(streams) < len(fathom.open(s3d, with_runtime=True).table("streams"))


def test_hostile_names_survive(names: Path) -> None:
    paths_ = [
        row["path"]
        for row in fathom.open(names, with_runtime=True).sql("select path from files").to_pylist()
    ]
    ends = {path.rpartition("/")[2] for path in paths_}
    assert {
        "a \"quoted\" [name] {here}, 'too' \\",
        "tab\tline\nend",
        "not utf-8 \ufffd\ufffd",
    } <= ends
    with written(names, "csv", "files").open(encoding="utf-8", newline="") as file:
        assert [row["path"] for row in csv.DictReader(file)] == paths_
    with written(names, "csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    expected = wanted(names, NAMED.format(where="true"))
    assert [row["path"] or None for row in lines] == expected["path"].to_pylist()


@pytest.mark.parametrize(
    "form",
    [
        "ctf",
        "duckdb",
        *(
            pytest.param(one, marks=pytest.mark.full)
            for one in ("perfetto", "parquet", "arrow", "csv")
        ),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_nothing(s3d: Path, form: str, tmp_path: Path) -> None:
    words = [paths.FATHOM, "export", s3d, "--to", form, "-o", tmp_path / "x"]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "-", *map(str, words)],
        capture_output=True, text=True, timeout=300, check=False,
        env={"FATHOM_PYTHON": paths.PYTHON, "PYTHONPATH": str(paths.ROOT / "python"), "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert len(done.stderr.splitlines()) == 1 and str(tmp_path / "x") in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "form",
    [
        "duckdb",
        "ctf",
        *(
            pytest.param(one, marks=pytest.mark.full)
            for one in ("perfetto", "parquet", "arrow", "csv")
        ),
    ],
)
def test_a_hostile_name_is_a_name(s3d: Path, form: str, tmp_path: Path) -> None:
    out = tmp_path / "a\nb \"c\" 'd' {e} %s \x1b[31m ü"
    exports.export(s3d, "--to", form, "--layers", "mpiio", "--output", out)
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--to", "csv", "--output", os.fsdecode(b"\xff")], "the name is no UTF-8"),
        (["--to", "csv", "--table", ""], "no table ''; there are args, calls"),
        (
            ["--to", "csv", "--output", "no\nwhere/x"],
            "no\\nwhere/x: there is no directory no\\nwhere",
        ),
        (["--to", "csv", "--table", "nix"], "no table 'nix'; there are args, calls"),
        (["--to", "ctf", "--table", "files"], "--table goes with parquet, arrow, csv, duckdb"),
        (
            ["--to", "csv", "--table", "counters", "--ranks", "0"],
            "a row of table counters is of no one call",
        ),
    ],
)
def test_wrong_words_are_one_line(s3d: Path, words: list[str], says: str) -> None:
    _, message = exports.export(s3d, *words, status=2)
    assert says in message and len(message.splitlines()) == 1
