"""Many runs: found below a directory, their rows kept, ranked."""

import csv
import json
import os
import pwd
import shutil
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.pages import landscapes
from fathom.run.directory import is_settled
from schema import counters_of, write_run

WANTED = landscapes.Wanted()


def spool(place: Path, opens: dict[str, int]) -> None:
    """Runs that are over, by name, each with so many opens at its start."""
    for name, number in opens.items():
        calls: list[dict[str, Any]] = [
            {"id": n, "process": 0, "stream": 0, "start": n, "duration": 1, "layer": "posix", "op": "openat",
             "kind": "open", "bytes": 0, "depth": 0, "file": 0} for n in range(number)
        ]  # fmt: skip
        run = place / f"{name}.fathom"
        write_run(
            run,
            calls=calls,
            counters=counters_of(calls),
            files=[{"file": 0, "path": "/a", "kind": "regular"}],
            processes=[{"process": 0, "exe": f"/bin/{name}", "ended": "exit"}],
            runs=[{"duration": 1000, "coverage": 1.0}],
        )
        (run / "tables" / "packed").write_text("files=0\nbytes=0\nnewest=0\nalive=0\n")


def test_a_run_that_failed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spool(tmp_path, {"good": 1, "bad": 1})
    for name, status in (("good", 0), ("bad", 3)):
        place = tmp_path / f"{name}.fathom" / "run.json"
        content = json.loads(place.read_text()) | {"exit": {"status": status}}
        place.write_text(json.dumps(content))
    rows = {row["run"]: row["notes"] for row in ranked(capsys, tmp_path)}
    assert "exit status 3" in rows["bad"] and "exit status 3" not in rows["good"]
    assert main(["diff", str(tmp_path / "good"), str(tmp_path / "bad")]) == 0
    assert "  bad: exit status 3\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("level", "says"),
    [
        ("job", "level job: no file groups; "),
        ("call", "files of most calls are not known: no file groups; "),
    ],
)
def test_why_files_are_not_told_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], level: str, says: str
) -> None:
    """At level call too: where a selection counts most ranks without their files."""
    run = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 1000}], processes=[{"process": 0, "ended": "clean"}],
        counters=[{"process": 0, "layer": "posix", "op": "pwrite", "kind": "write", "calls": 5, "time": 100}],
    )  # fmt: skip
    (run / "tables" / "packed").write_text("files=0\nbytes=0\nnewest=0\nalive=0\n")
    place = run / "run.json"
    content = json.loads(place.read_text()) | {"configuration": {"level": level}}
    place.write_text(json.dumps(content))
    (row,) = ranked(capsys, tmp_path)
    assert sum(note.startswith(says) for note in row["notes"]) == 1


def ranked(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    assert main(["landscape", *map(str, words), "--json"]) == 0
    ranking: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return ranking


def test_runs_below_a_directory_are_ranked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool(tmp_path / "2026" / "11", {"few": 2, "many": 7})
    spool(tmp_path, {"some": 5})
    rows = ranked(capsys, tmp_path, "--by", "opens")
    assert [(row["program"], row["peak_opens_per_second"]) for row in rows] == [
        ("many", 7),
        ("some", 5),
        ("few", 2),
    ]
    assert [row["run"] for row in ranked(capsys, tmp_path, "--by", "opens", "--top", 1)] == ["many"]
    assert main(["landscape", str(tmp_path), "--by", "opens", "--top", "2"]) == 0
    output = capsys.readouterr().out
    assert "2 of 3 runs, by opens" in output and "some" in output and "few" not in output
    assert main(["landscape", str(tmp_path), "--top", "2"]) == 2
    assert "--top goes with --by" in capsys.readouterr().err


def test_rows_are_kept_until_tables_change(tmp_path: Path) -> None:
    spool(tmp_path, {"a": 3})
    run = tmp_path / "a.fathom"
    assert is_settled(run)
    (first,) = (work() for work in landscapes.each([str(run)], WANTED))
    (file,) = (run / "tables" / "answers").iterdir()
    kept, moved = file.stat().st_ino, tmp_path / "b.fathom"
    run.rename(moved)
    (again,) = (work() for work in landscapes.each([str(moved)], WANTED))
    assert again == {**first, "run": "b", "path": str(moved)}
    (file,) = (moved / "tables" / "answers").iterdir()
    assert file.stat().st_ino == kept
    (moved / "run.json").write_text((moved / "run.json").read_text() + "\n")
    (anew,) = (work() for work in landscapes.each([str(moved)], WANTED))
    assert anew == again and file.stat().st_ino != kept


def test_many_are_made_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of their paths, as one after the other would; one that is no run is said, the others shown."""
    spool(tmp_path, {f"r{n:02}": n + 1 for n in range(landscapes.MANY)})
    paths = landscapes.below([str(tmp_path), str(tmp_path / "none")])
    assert main(["landscape", *paths, "--csv"]) == 3
    captured = capsys.readouterr()
    rows = captured.out.splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [f"r{n:02}" for n in range(landscapes.MANY)]
    assert "none: there is no such run directory" in captured.err


def test_a_job_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each run; what is in it is what the tables and run.json have."""
    run = write_run(
        tmp_path / "r.fathom",
        runs=[{"started": 1_700_000_000 * 10**9, "duration": 5 * 10**9, "nodes": 1}],
        processes=[{"process": 0, "stop": 5 * 10**9, "ended": "clean"}],
        counters=[
            {"process": 0, "layer": "posix", "op": op, "kind": kind, "calls": n, "bytes": n, "time": 10**8}
            for op, kind, n in (("open", "open", 3), ("close", "close", 2), ("read", "read", 7), ("write", "write", 9))
        ],
    )  # fmt: skip
    place = run / "run.json"
    place.write_text(
        json.dumps(json.loads(place.read_text()) | {"job": 'a,"b"', "user": os.getuid()})
    )
    assert main(["landscape", str(run), "--jobs"]) == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert row["job_id"] == 'a,"b"' and row["user"] == pwd.getpwuid(os.getuid()).pw_name
    assert (row["start_time"], row["end_time"]) == ("1700000000", "1700000005")
    counts = ("read_bytes", "write_bytes", "open_count", "close_count")
    assert [row[name] for name in counts] == ["7", "9", "3", "2"]
    assert float(row["io_share"]) == pytest.approx(float(row["io_seconds"]) / 5)
    assert main(["landscape", str(run), "--jobs", "--csv"]) == 2


def test_a_run_that_goes_on_is_not_settled(tmp_path: Path) -> None:
    spool(tmp_path, {"a": 1})
    run = tmp_path / "a.fathom"
    assert is_settled(run)
    (run / "streams" / "node").mkdir(parents=True)
    (run / "streams" / "node" / "1.f.fts").write_bytes(b"new")
    assert not is_settled(run)
    shutil.rmtree(run / "tables")
    assert not is_settled(run)
