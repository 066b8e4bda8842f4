"""`fathom annotate`: at each line of a source what the program itself did there, and the findings that name it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fathom.webapi import answers
from fathom.webapi.answers.session import Runs
from harness import paths
from test_check import COLUMNS, SUMS, UNMENDED_LINE, columns, fathom, record

#: Columns of a row.
CALLS, NUMBER = slice(19, 28), slice(30, 34)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    (folder / "save.py").write_text(SUMS)
    return record(folder, "run", sys.executable, "save.py")


def test_each_line_has_its_calls_and_bytes_beside_its_text(saved: Path) -> None:
    before = (saved.parent / "save.py").read_bytes()
    out = fathom(saved.parent, "annotate", saved, "--file", "save.py").stdout.splitlines()
    text = SUMS.splitlines()
    at = {int(row[NUMBER]): row for row in out if row[NUMBER].strip().isdigit()}
    assert all(at[number].endswith(line) for number, line in enumerate(text, 1))
    calls = {"os.open(f": 3, "os.pwrite": 33, "os.fsync": 3, "os.write(log": 1}
    for call, times in calls.items():
        number = next(number for number, line in enumerate(text, 1) if call in line)
        assert at[number][CALLS].strip() == str(times), at[number]
    assert "3.22 KiB" in next(row for row in out if "os.pwrite" in row)
    assert (saved.parent / "save.py").read_bytes() == before


def test_the_page_has_the_same_beside_the_source_of_a_call(saved: Path) -> None:
    runs = Runs([saved.with_suffix(".fathom")])
    (call,) = runs.all["run"].run.sql("select min(id) as id from calls where op = 'pwrite'")["id"]
    source = answers.ask(runs, "call", {"run": "run", "call": str(call)})["source"]
    beside = {words.strip(): amounts for _, words, amounts in source["text"]}
    assert {words for words, amounts in beside.items() if amounts} == {
        line.strip() for line in SUMS.splitlines() if "os." in line or "import" in line
    }
    (_, size, calls) = next(amounts for words, amounts in beside.items() if "os.pwrite" in words)
    assert (size, calls) == (3300, 33)


def test_a_finding_is_at_its_line(tmp_path: Path) -> None:
    # Where accesses wait for the store, no other program on the machine is the cause.
    tool = paths.PROGRAMS / "tools" / "slow_store.so"
    slow = [
        f"LD_PRELOAD={tool}:{paths.LIBRARY}",
        f"SLOW_STORE_UNDER={tmp_path}",
        "SLOW_STORE_LATENCY_US=20",
    ]
    run = record(tmp_path, "run", "env", *slow, *columns(tmp_path, "unmended"))
    out = fathom(tmp_path, "annotate", run).stdout.splitlines()
    at = next(
        n for n, row in enumerate(out) if row.endswith(COLUMNS.splitlines()[UNMENDED_LINE - 1])
    )
    assert "^ " in out[at + 1] and "A selection of HDF5 is moved piece" in out[at + 1]
    assert fathom(tmp_path, "annotate", run, "--sarif", "io.sarif").stdout == ""
    (log,) = json.loads((tmp_path / "io.sarif").read_text())["runs"]
    (warning,) = [one for one in log["results"] if one["ruleId"] == "hdf5-pieces"]
    place = warning["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "columns.py"
    assert (warning["level"], place["region"]["startLine"]) == ("warning", UNMENDED_LINE)
    notes = [one for one in log["results"] if one["level"] == "note"]
    assert notes and all(one["ruleId"] == "io-line" for one in notes)


def test_a_source_that_is_gone_or_wrong(saved: Path, tmp_path: Path) -> None:
    done = fathom(saved.parent, "annotate", saved, "--file", "savee.py")
    assert done.returncode == 2 and "is it 'save.py'?" in done.stderr
    (tmp_path / "save.py").write_text(SUMS)
    run = record(tmp_path, "run", sys.executable, "save.py")
    (tmp_path / "save.py").unlink()
    out = fathom(tmp_path, "annotate", run, "--file", "save.py").stdout
    assert "not here" in out and "3.22 KiB" in out
