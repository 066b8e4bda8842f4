"""`fathom anonymise`: nobody's name is in the copy, and it says what the run says."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import duckdb
import fathom
import pyarrow.parquet as pq
import pytest
from fathom.__main__ import main
from fathom.analysis import account
from fathom.catalog import columns
from fathom.run import macros
from fathom.run.anonymise.names import Names
from harness import exports, paths

#: Words that are in no catalog: of a project, a user, a file, a data set, a setting.
PROJECT, USER, FILE, SETTING = "Zeolithsynthese", "qmustermann", "Kraftwerksdaten", "Geheimwort"
SUMS = "select layer, op, kind, sum(calls), sum(errors), sum(bytes), sum(time) from counters group by all order by all"
GROUPS = "select file_group(path), file_suffix(path), count(*) from files group by all"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many files one after another in one folder, with numbers in their names, by Python."""
    place = tmp_path_factory.mktemp("anonymise") / f"{PROJECT}-2031" / USER
    place.mkdir(parents=True)
    program = place / f"{FILE}_schreiben.py"
    program.write_text(
        "import os, sys\n"
        "for step in range(40):\n"
        f"    with open(f'{FILE}.{{step:05}}.dat', 'wb', buffering=0) as file:\n"
        "        for _ in range(50):\n"
        "            file.write(bytes(100))\n"
        "        os.fsync(file.fileno())\n"
    )
    os.environ["MPICH_GEHEIM"] = SETTING
    try:
        return exports.record(place, "--", paths.PYTHON, program, f"--{SETTING}={place}/x", SETTING)
    finally:
        del os.environ["MPICH_GEHEIM"]


def anonymise(run: Path, *words: object, status: int = 0) -> tuple[str, str]:
    """What the command says on stdout and stderr, in the run's folder."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(run.parent),
    ):
        assert main(["anonymise", str(run), *map(str, words)]) == status, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def copy(run: Path) -> Path:
    _, said = anonymise(run, "-o", "copy")
    assert "not copied:" in said and "streams" in said
    return run.parent / "copy.fathom"


def conclusions(run: Path) -> tuple[list[tuple[Any, ...]], dict[str, float]]:
    """Findings with what they lose, and the slowest process's time by cause."""
    opened = fathom.open(run)
    rows = opened.findings().to_pylist()
    found = sorted(
        (row["finding"], round(row["lost_seconds"] or 0, 6), row["sure"]) for row in rows
    )
    slowest = account.bar(opened).slowest
    assert slowest is not None
    return found, {cause: round(seconds, 6) for cause, seconds in slowest.causes.items()}


def test_it_concludes_what_the_run_says(run: Path, copy: Path) -> None:
    found, causes = conclusions(run)
    assert conclusions(copy) == (found, causes) and found and causes
    assert sums(copy, SUMS) == sums(run, SUMS)


def test_of_libraries_and_ranks_too(tmp_path: Path) -> None:
    run = exports.kernel(tmp_path, "s3d_hdf5")
    anonymise(run, "-o", "copy")
    copy = tmp_path / "copy.fathom"
    assert conclusions(copy) == conclusions(run)
    assert sums(copy, SUMS) == sums(run, SUMS)
    assert "pressure" in as_text(run) and "pressure" not in as_text(copy)


def sums(run: Path, sql: str) -> list[tuple[Any, ...]]:
    opened = fathom.open(run, with_runtime=True)
    return [tuple(row.values()) for row in opened.sql(sql).to_pylist()]


def as_text(run: Path) -> str:
    """All values of all tables as DuckDB writes them, and the bytes of all files."""
    texts = [path.read_bytes().decode("latin-1") for path in run.rglob("*") if path.is_file()]
    for path in run.rglob("*.parquet"):
        rows = duckdb.connect().execute(
            f"select to_json(t)::varchar from read_parquet('{path}') as t"
        )
        texts += [one for (one,) in rows.fetchall()]
    return "\n".join(texts)


def test_no_name_is_in_it(run: Path, copy: Path) -> None:
    before, after = as_text(run), as_text(copy)
    host = os.uname().nodename
    names = [PROJECT, USER, FILE, SETTING, "schreiben", str(run.parent.parent.name)]
    for name in names:
        assert name in before and name not in after, name
    manifest = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    assert manifest["nodes"][0]["host"] != host and "library" not in manifest["configuration"]
    assert not (copy / "streams").exists()


def test_files_stay_in_their_groups(run: Path, copy: Path) -> None:
    def shape(of: Path) -> list[tuple[Any, ...]]:
        return sorted((suffix or "", files) for _, suffix, files in sums(of, GROUPS))

    assert shape(copy) == shape(run)
    assert ("*.dat", 40) in shape(copy)
    depth = "select length(path) - length(replace(path, '/', '')) as depth from files order by file"
    assert sums(copy, depth) == sums(run, depth)


NAMES = (
    *("ck-12345678e-05", "ck-3fa9c1e", "tmpAb3xYz", "tmpq2W9er"),
    *("out.00012.h5", "out.00013.h5", "out.h5", "a1.5e+05.nc", "a1.5e-02.nc", "a.nc", ".hidden", "x.tar.gz"),
    *("libq.so.1.2", "libq.so", "rank-0-of-4", "rank-1-of-4", "1", "2", "a b.txt", "ü.dat", "e5", "1e5", "e.5"),
)  # fmt: skip


def test_two_names_are_of_a_group_as_they_were() -> None:
    connection = duckdb.connect()
    names = Names(b"k" * 32)

    def groups(paths_: list[str]) -> list[tuple[Any, ...]]:
        values = ", ".join(f"('{path}')" for path in paths_)
        sql = f"select file_group(p), file_suffix(p) from (values {values}) as t(p)"
        return macros.execute(connection, sql).fetchall()

    given = [f"/d/{name}" for name in NAMES]
    before, after = groups(given), groups([names.path(path) for path in given])
    for first in range(len(given)):
        for second in range(len(given)):
            assert (before[first][0] == before[second][0]) == (after[first][0] == after[second][0])
    assert [suffix for _, suffix in after] == [suffix for _, suffix in before]


def test_a_key_keeps_two_runs_comparable(run: Path) -> None:
    _, said = anonymise(run, "-o", "one", "--key", "key")
    assert "made the key key" in said
    key = run.parent / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    anonymise(run, "-o", "two", "--key", "key")
    anonymise(run, "-o", "three")
    paths_ = "select path from files order by file"
    one, two, three = (sums(run.parent / f"{n}.fathom", paths_) for n in ("one", "two", "three"))
    assert one == two != three
    key.chmod(0o640)
    assert "others can read it" in anonymise(run, "-o", "four", "--key", "key", status=2)[1]


def test_a_prefix_stays_readable(run: Path) -> None:
    prefix = run.parent.parent
    anonymise(run, "-o", "kept", "--keep", prefix)
    stayed = sums(
        run.parent / "kept.fathom", f"select path from files where path like '{prefix}/%'"
    )
    assert len(stayed) >= 40
    assert "give a folder's path" in anonymise(run, "-o", "x", "--keep", "usr", status=2)[1]


def test_a_name_that_is_still_there_stops_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {table: dict(of) for table, of in columns.private().items()}
    wrong["objects"]["name"] = "public"
    monkeypatch.setattr(columns, "private", lambda: wrong)
    _, said = anonymise(run, "-o", "leaks", status=3)
    assert "is still in tables/objects.parquet, column name" in said
    assert len(said.splitlines()) == 1 and not (run.parent / "leaks.fathom").exists()


@pytest.mark.usefixtures("copy")
def test_a_copy_replaces_nothing(run: Path) -> None:
    assert "is there already" in anonymise(run, "-o", "copy", status=2)[1]
    assert "add -o NAME" in anonymise(run, status=2)[1]


def test_a_lake(run: Path, copy: Path) -> None:
    """Its screens have the same figures, and no name; what is collected from the copy of a run has others."""
    folder = run.parent
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main(["collect", "--into", str(folder / "lake"), str(run), str(copy)]) == 0
    said, _ = anonymise(folder / "lake", "-o", "given")
    assert said.startswith("given: ") and "none is in it" in said
    written = " ".join(
        str(pq.read_table(file).to_pylist()) for file in (folder / "given").rglob("*.parquet")
    )
    shown = [landscape(folder / name) for name in ("lake", "given")]
    assert figures(shown[0]) == figures(shown[1])
    assert PROJECT in json.dumps(shown[0])
    for word in (PROJECT, USER, FILE, SETTING):
        assert word not in json.dumps(shown[1]) and word not in written


def landscape(lake: Path) -> Any:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["landscape", str(lake), "--json"]) == 0
    return json.loads(out.getvalue())


def figures(shown: Any) -> Any:
    """The numbers in it, in order."""
    if isinstance(shown, dict):
        return [figures(value) for value in shown.values()]
    if isinstance(shown, list):
        return sorted(map(figures, shown), key=str)
    return None if isinstance(shown, str) else shown
