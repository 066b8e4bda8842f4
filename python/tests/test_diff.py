"""Two runs side by side: which files are the same, what differs, and by how much."""

import json
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import difference, pairing
from fathom.analysis.difference import Side
from fathom.pages import difference as view
from fathom.text import numbers
from schema import counters_of, write_run


def test_the_same_file_elsewhere() -> None:
    first = {"directory": "/a", "command": ["mpiexec", "-n", "4", "./s3d", "out", "/scratch/1"]}
    second = {"directory": "/b", "command": ["mpiexec", "-n", "4", "./s3d", "new", "/scratch/2"]}
    here = ["/a/input", "/a/out/f.0", "/a/out/only", "/scratch/1/big", "/etc/hosts", "/a/out2/x"]
    there = ["/b/input", "/b/new/f.0", "/b/new/other", "/scratch/2/big", "/etc/hosts", "/b/out2/x"]
    pairs = pairing.files(here, there, pairing.folders(first, second))
    assert pairs == {
        "/b/input": "/a/input",
        "/b/new/f.0": "/a/out/f.0",
        "/scratch/2/big": "/scratch/1/big",
        "/etc/hosts": "/etc/hosts",
        "/b/out2/x": "/a/out2/x",
    }


def test_the_same_path_goes_before_the_same_place() -> None:
    pairs = [("/a", "/b")]
    assert pairing.files(["/a/f", "/b/f"], ["/b/f"], pairs) == {"/b/f": "/b/f"}
    assert pairing.files(["/a/f"], ["/a/f", "/b/f"], pairs) == {"/a/f": "/a/f"}


@pytest.mark.parametrize(("a", "b", "words"), [
    (2.93, 1.2, "2.93 → 1.2 s"), (2.93, 0.5, "2.93 s → 500 ms"), (2.0, 2.0, "2 s"),
    (None, 1.0, "none → 1 s"), (1.0001, 1.0002, "1 s"),
])  # fmt: skip
def test_pairs_of_values(a: float | None, b: float | None, words: str) -> None:
    assert view.both(a, b, numbers.seconds) == words


def one(name: str, duration: int, **more: Any) -> dict[str, Any]:
    kind = {"pwrite": "write", "pread": "read"}.get(name, "open")
    return {"id": 1, "layer": "posix", "op": name, "kind": kind, "start": 0, "duration": duration,
            "bytes": 8, "depth": 0, "rank": 0, "file": 0} | more  # fmt: skip


def recorded(place: Path, calls: list[dict[str, Any]], ranks: int = 1, **more: Any) -> Side:
    calls = [call | {"id": number} for number, call in enumerate(calls)]
    manifest = more.pop("manifest", {})
    directory = write_run(
        place,
        runs=[{"duration": 1000, "ranks": ranks, "ranks_seen": 1, "coverage": 1.0, "events": len(calls)}],
        processes=[{"process": 0, "rank": 0, "ranks": ranks, "ended": "clean", "exe": "/bin/s3d"}],
        files=[{"file": 0, "path": f"{place}/f", "kind": "regular", "file_system": "ext4"}],
        calls=calls,
        counters=counters_of(calls),
        **more,
    )  # fmt: skip
    content = json.loads((directory / "run.json").read_text())
    content |= {"directory": str(place), "exit": {"status": 0}} | manifest
    (directory / "run.json").write_text(json.dumps(content))
    run = fathom.open(directory)
    return Side(run.name, run.manifest, run)


def test_the_largest_change_first_and_what_only_one_has(tmp_path: Path) -> None:
    a = recorded(tmp_path / "a.fathom", [one("pwrite", 100), one("pwrite", 50), one("open", 10)])
    b = recorded(tmp_path / "b.fathom", [one("pwrite", 30), one("open", 40), one("pread", 5)])
    rows = difference.functions(a, b).to_pylist()
    assert [(row["op"], round(row["difference"] * 1e9)) for row in rows] == [
        ("pwrite", -120), ("open", 30), ("pread", 5),
    ]  # fmt: skip
    assert (rows[0]["calls_a"], rows[0]["calls_b"], rows[0]["bytes_a"]) == (2, 1, 16)
    assert (rows[2]["calls_a"], rows[2]["calls_b"]) == (None, 1)
    (row,) = difference.files(a, b).to_pylist()
    assert (row["path"], row["calls_a"], row["calls_b"]) == (f"{tmp_path}/a.fathom/f", 3, 3)


def test_what_was_set_otherwise(tmp_path: Path) -> None:
    hints = [
        [{"process": 0, "file": 0, "source": "in force", "key": key, "value": value}
         for key, value in pairs.items()]
        for pairs in ({"cb_write": "off", "cb_nodes": "1"}, {"cb_write": "on", "cb_nodes": "1"})
    ]  # fmt: skip
    more = {"environment": {"ROMIO_HINTS": "h"}, "command": ["./s3d", "5 5"]}
    a = recorded(tmp_path / "a.fathom", [one("pwrite", 1)], hints_in_force=hints[0])
    b = recorded(tmp_path / "b.fathom", [one("pwrite", 1)], hints_in_force=hints[1], manifest=more)
    rows = {
        (row["what"], row["setting"]): row for row in difference.configuration(a, b).to_pylist()
    }
    assert set(rows) == {
        ("in force", "cb_write"), ("environment", "ROMIO_HINTS"), ("run", "command"), ("run", "directory"),
    }  # fmt: skip
    hint = rows["in force", "cb_write"]
    assert (hint["a"], hint["b"], hint["places"]) == ("off", "on", 1)
    assert rows["run", "command"]["a"] == "'4 4'"


def test_runs_that_do_not_compare(tmp_path: Path) -> None:
    layers = {"configuration": {"layers": ["posix"]}}
    a = recorded(tmp_path / "a.fathom", [one("pwrite", 1)])
    b = recorded(tmp_path / "b.fathom", [one("pwrite", 1)], ranks=8, manifest=layers)
    assert difference.incomparable(a, a) == []
    reasons = "\n".join(difference.incomparable(a, b))
    for words in ("numbers of ranks: 1 and 8", "only in a: hdf5 mpiio", "b: 1 of 8 ranks"):
        assert words in reasons


def test_the_factor_is_b_over_a_and_of_one_run_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the Compare screen has it, in the direction of the change."""
    recorded(tmp_path / "a.fathom", [one("pwrite", 100)])
    recorded(tmp_path / "b.fathom", [one("pwrite", 45)])
    runs = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["diff", *runs]) == 0
    page = capsys.readouterr().out
    (line,) = [line for line in page.splitlines() if line.startswith("I/O, mean of the ranks")]
    assert line.endswith(" 0.45x")
    assert "B / A" in page and "faster" not in page
    assert difference.ONE_EACH in page
    assert main(["diff", *runs, "--by", "function"]) == 0
    assert difference.ONE_EACH in capsys.readouterr().err


@pytest.mark.parametrize(("a", "b", "words"), [
    (1.0, 0.456, "0.46x"), (2.0, 0.0, "0x"), (0.0, 1.0, "-"), (None, 1.0, "-"), (1.0, None, "-"), (1.0, 12.34, "12.3x"),
])  # fmt: skip
def test_no_factor_where_one_has_nothing(a: float | None, b: float | None, words: str) -> None:
    assert view.factor(a, b) == words


def test_too_slow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = recorded(tmp_path / "a.fathom", [one("pwrite", 100)])
    b = recorded(tmp_path / "b.fathom", [one("pwrite", 115)])
    runs = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert difference.slower(difference.whole(a, b), 10) == ["I/O, mean of the ranks"]
    assert main(["diff", *runs, "--fail-over", "10"]) == 1
    assert "I/O, mean of the ranks: slower by more than 10 %" in capsys.readouterr().err
    assert main(["diff", *runs, "--fail-over", "20%"]) == 0
    assert main(["diff", *reversed(runs), "--fail-over", "0"]) == 0
    assert main(["diff", *runs, "--fail-over", "much"]) == 2
    assert main(["diff", *runs, "--csv"]) == 2
