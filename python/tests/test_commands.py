"""The commands as a user meets them: what goes to stdout, what is one line on stderr, exit status."""

import argparse
import csv
import importlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.cli.commands import COMMANDS
from schema import counters_of, write_run

Captured = pytest.CaptureFixture[str]


def fathom(capsys: Captured, *words: str | Path) -> tuple[int, str, str]:
    try:
        status = main([str(word) for word in words])
    except SystemExit as end:
        status = int(end.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


def refused(capsys: Captured, status: int, *words: str | Path) -> str:
    got, out, err = fathom(capsys, *words)
    assert got == status
    assert out == ""
    assert err.startswith("fathom: ")
    assert err.count("\n") == 1
    return err


def test_show_says_it_all(capsys: Captured, run_directory: Path) -> None:
    status, out, _ = fathom(capsys, "show", run_directory, "--all")
    assert status == 0
    for words in (
        "small: ./s3d '4 4'",
        "exit status 3",
        "2 ranks",
        "most: rank 1",
        "pwrite",
        "mpiio",
        "6 of 6 calls recorded in full (100 %)",
        "50 ns in 1 row of Fathom's own work",
        "1 process did not end in order",
        "2 chunks missing",
        "budget: 64 MiB of stream written",
        "1 operation of 2 ranks, 1 not seen of all (least 1)",
        "no call seen of",
    )[:-1]:  # every layer asked for has calls
        assert words in out
    assert "no call seen of" not in out
    assert "\x1b" not in out


def test_show_forms(capsys: Captured, run_directory: Path) -> None:
    content = json.loads(fathom(capsys, "show", run_directory, "--json")[1])
    assert content["format"] == 1
    assert {row["layer"] for row in content["layers"]} == {"hdf5", "mpiio", "posix"}
    _, out, _ = fathom(capsys, "show", run_directory, "--by", "file", "--csv", "--top", "1")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 1
    assert rows[0]["path"] == "/data/out\x1b[2J.h5"
    assert "--by" in refused(capsys, 2, "show", run_directory, "--csv")


def test_show_names_the_suffix_for_you(capsys: Captured, run_directory: Path) -> None:
    named = run_directory.with_suffix("")
    assert fathom(capsys, "show", named, "--by", "layer")[0] == 0
    named.write_bytes(b"the program, as in `fathom run -o heat -- ./heat`")
    assert fathom(capsys, "show", named, "--by", "layer")[0] == 0


def test_query_forms(capsys: Captured, run_directory: Path) -> None:
    sql = "select id, op, file_offset from calls order by id limit 1"
    _, out, _ = fathom(capsys, "query", run_directory, "--sql", sql)
    assert out.split() == ["id", "op", "file_offset", "1", "H5Dwrite"]
    _, out, _ = fathom(capsys, "query", run_directory, "--sql", sql, "--csv")
    assert out == "id,op,file_offset\n1,H5Dwrite,\n"
    _, out, _ = fathom(capsys, "query", run_directory, "--sql", sql, "--json")
    assert json.loads(out) == [{"id": "1", "op": "H5Dwrite", "file_offset": None}]
    _, out, _ = fathom(capsys, "query", run_directory, "--schema", "--csv")
    assert "calls,duration,BIGINT" in out


@pytest.mark.parametrize("sql", [
    "create table x as select 1", "copy calls to '/tmp/x.csv'", "attach '/tmp/x.db'", "set threads = 1",
    "select 1; select 2", "explain analyze copy (select 1) to 'x'",
    "from read_csv('/etc/passwd')", "from glob('/*')", "",
])  # fmt: skip
def test_query_only_reads_this_run(capsys: Captured, run_directory: Path, sql: str) -> None:
    refused(capsys, 2, "query", run_directory, "--sql", sql)


def test_wrong_input_is_one_line(capsys: Captured, tmp_path: Path, run_directory: Path) -> None:
    assert "no command 'shwo'" in refused(capsys, 2, "shwo")
    assert "--bogus" in refused(capsys, 2, "show", run_directory, "--bogus")
    assert "whole number" in refused(capsys, 2, "show", run_directory, "--top", "0")
    assert "no such run directory" in refused(capsys, 3, "show", tmp_path / "gone")
    assert "is no run directory" in refused(capsys, 3, "show", tmp_path)
    assert "no layer 'x'" in refused(capsys, 2, "list", "probes", "--layers", "x")
    assert "no such executable" in refused(capsys, 2, "doctor", str(tmp_path / "gone"))


def test_damaged_tables_are_one_line(capsys: Captured, run_directory: Path) -> None:
    part = run_directory / "tables" / "calls" / "0.parquet"
    part.write_bytes(part.read_bytes()[:-40])
    assert "0.parquet" in refused(capsys, 3, "show", run_directory)
    manifest = (run_directory / "run.json").read_text()
    (run_directory / "run.json").write_text("{")
    assert "run.json" in refused(capsys, 3, "query", run_directory, "--sql", "select 1")
    (run_directory / "run.json").write_text(manifest)
    (run_directory / "tables" / "runs.parquet").unlink()
    assert "no table runs" in refused(capsys, 3, "show", run_directory)


@pytest.mark.parametrize(
    ("manifest", "processes", "says"),
    [
        ({"recorder": "darshan"}, 4, "what was imported from Darshan has none"),
        ({"command": ["/bin/sh", "-c", "true"]}, 0, "/bin/sh is a shell or launcher"),
        (
            {"command": ["./solver"]},
            0,
            "it made none, or it cannot be recorded: fathom doctor ./solver says which",
        ),
        ({"command": ["./solver"]}, 1, "made none on the layers that are recorded"),
        ({}, 0, "no process was recorded"),
    ],
)
def test_of_a_run_without_calls_it_is_said_what_is_known(
    capsys: Captured, tmp_path: Path, manifest: dict[str, Any], processes: int, says: str
) -> None:
    started = 10**18
    runs = [{"started": started, "duration": 2 * 10**9, "processes": processes}]
    run = write_run(tmp_path / "silent.fathom", runs=runs)
    (run / "run.json").write_text(json.dumps({"format": 1, **manifest}))
    status, out, _ = fathom(capsys, "show", run)
    assert status == 0 and says in " ".join(out.split())
    status, out, _ = fathom(capsys, "show", run, "--all")
    assert status == 0 and says in out and "static" not in out
    assert "2001-09-09" in out and "ran 2 s" in out
    assert "no call was recorded" in out and "100 %" not in out


def test_sums_beyond_64_bits(capsys: Captured, tmp_path: Path) -> None:
    """Of values that no program can have: each fits, their sum does not."""
    moved = {"layer": "posix", "op": "pread", "kind": "read", "file": 0, "bytes": 2**62}
    calls = [moved | {"id": n, "start": n, "duration": 1, "state": "done"} for n in range(4)]
    run = write_run(
        tmp_path / "odd.fathom",
        runs=[{"duration": 10**9}],
        processes=[{"process": 0, "pid": 1, "ended": "clean"}],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        calls=calls,
        counters=counters_of(calls),
    )
    _, out, _ = fathom(capsys, "show", run, "--by", "function", "--json")
    assert json.loads(out)[0]["bytes"] == 2**64
    narrow = ("--sql", "select sum(bytes)::bigint from calls")
    assert "more than 64 bits" in refused(capsys, 3, "query", run, *narrow)


def test_every_command_explains_itself(capsys: Captured) -> None:
    for name in COMMANDS:
        if name in ("run", "env"):  # native: test_native.py
            continue
        status, out, _ = fathom(capsys, name, "--help")
        assert status == 0
        assert f"usage: fathom {name}" in out
        assert "example" in out


def test_probes_and_doctor_print_tables(capsys: Captured) -> None:
    status, out, _ = fathom(capsys, "list", "probes", "--layers", "posix", "--json")
    assert status == 0
    assert "pwrite64" in next(row["symbols"] for row in json.loads(out) if row["op"] == "pwrite")
    _, out, _ = fathom(capsys, "doctor", "/bin/true", "--json")
    checks = {row["what"]: row["verdict"] for row in json.loads(out)}
    assert checks["program"] == "ok"
    assert {"command", "library", "rings", "clock"} <= set(checks)


@pytest.mark.parametrize("words", [
    ["show"], ["landscape"], ["diff", "again"], ["query", "--sql", "select 'µs → …', '▁█', '日'"],
])  # fmt: skip
def test_a_terminal_that_knows_ascii_only(run_directory: Path, words: list[str]) -> None:
    command, *more = words
    runs = [run_directory, run_directory] if more == ["again"] else [run_directory]
    done = subprocess.run(
        [sys.executable, "-m", "fathom", command, *runs, *(w for w in more if w != "again")],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    if command == "query":
        assert done.stdout.splitlines()[1].split() == ["us", "->", "...", ".#", "?"]


#: Options that mean another thing elsewhere: which tables there are, units, files or names.
APART = {"--by", "--check", "--fail-over", "--output"}


def test_options_agree_over_commands() -> None:
    """One name takes one kind of value, and has the same short form."""
    kinds: dict[str, set[Any]] = {}
    for name in (*COMMANDS, "list_probes", "list_knobs"):
        module = importlib.import_module(f"fathom.cli.{name}")
        if not hasattr(module, "add_arguments"):
            continue  # the native command's
        parser = argparse.ArgumentParser()
        module.add_arguments(parser)
        for action in parser._actions:
            if action.option_strings:
                *short, option = action.option_strings
                choices = tuple(action.choices or ())
                value = None if option in APART else (action.metavar or choices)
                kinds.setdefault(option, set()).add((*short, value))
    assert len(kinds) > 100
    assert {option: kind for option, kind in kinds.items() if len(kind) > 1} == {}
