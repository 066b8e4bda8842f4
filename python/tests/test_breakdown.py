"""Calls by several keys against brute force; the next, closer run."""

import contextlib
import itertools
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import next_selection
from fathom.analysis.breakdown import BINS, KEYS, breakdown
from fathom.errors import NotRecorded
from fathom.pages import next_selection as words
from schema import counters_of, write_run

RUN = 1000
OPS = {
    "posix": [("pwrite", "write"), ("pread", "read"), ("open", "open")],
    "mpiio": [("MPI_File_write", "write")],
}


def random_calls(dice: random.Random) -> list[dict[str, Any]]:
    """One thread's calls per process, some with a call inside."""
    calls: list[dict[str, Any]] = []
    for process in range(3):
        at = 0
        while at < RUN - 60:
            at += dice.randrange(1, 40)
            layer = dice.choice(["posix", "mpiio"])
            op, kind = dice.choice(OPS[layer])
            took = dice.randrange(10, 60)
            common = {"process": process, "stream": process, "file": dice.randrange(4)}
            calls.append(
                common | {
                    "id": len(calls) + 1, "layer": layer, "op": op, "kind": kind, "depth": 0, "start": at,
                    "duration": took, "size": dice.choice(ASKED), "bytes": dice.choice([5, 5, 0]),
                    "site": dice.randrange(3), "error": dice.choice([0, 0, 5]),
                }
            )  # fmt: skip
            if layer == "mpiio":
                calls.append(
                    common | {
                        "id": len(calls) + 1, "parent": len(calls), "layer": "posix", "op": "pwrite",
                        "kind": "write", "depth": 1, "start": at + 1, "duration": 5, "size": 64, "bytes": 64,
                    }
                )  # fmt: skip
            at += took
    return calls


def files(*names: str) -> list[dict[str, Any]]:
    return [{"file": n, "path": f"/d/{name}", "kind": "regular"} for n, name in enumerate(names)]


NAMES = ("out.00000.h5", "out.00001.h5", "out.00002.athdf", "out.00003.0")


def run_of(folder: Path, calls: list[dict[str, Any]]) -> Any:
    site = {"module": "/bin/p", "source": "/src/a.c", "function": "f"}
    return fathom.open(
        write_run(
            folder / "r.fathom",
            runs=[{"duration": RUN, "ranks": 3}],
            calls=calls,
            counters=counters_of(calls),
            processes=[
                {"process": p, "rank": p + 10, "exe": exe, "command": words}
                for p, (exe, words) in enumerate(RAN)
            ],
            files=files(*NAMES),
            sites=[site | {"site": n, "line": n} for n in range(3)],
        )
    )


#: Programs with their words, and the names that people know them by.
RAN = [
    ("/bin/sort", ["sort", "/d"]),
    ("/opt/python3.11", ["python", "/a/b.py"]),
    ("/bin/sort", ["x"]),
]
PROGRAMS = ["sort", "python3.11 b.py", "sort"]
GROUPS = {0: "out.*.h5", 1: "out.*.h5", 2: "out.*.athdf", 3: "out.*"}
ASKED = [0, 1, 5, 4096, 2**30 - 1, 2**30, 2**63 - 1, -1]
SUFFIXES = {0: "*.h5", 1: "*.h5", 2: "*.athdf", 3: None}


def key_of(key: str, call: dict[str, Any], by_id: dict[int, Any]) -> tuple[Any, ...]:
    """What the key says of a call, worked out here."""
    parent = by_id.get(call.get("parent", 0))
    size = call["size"]
    bin_ = min(16, (max(0, size).bit_length() + 1) // 2)
    return {
        "function": (call["op"], call["layer"]),
        "caller": (parent["op"] if parent else "program", call["layer"]),
        "layer": (call["layer"],),
        "operation": (call["kind"],),
        "rank": (call["process"] + 10, call["process"]),
        "program": (PROGRAMS[call["process"]],),
        "file": (f"/d/{NAMES[call['file']]}",),
        "group": (GROUPS[call["file"]],),
        "suffix": (SUFFIXES[call["file"]],),
        "size": (0 if bin_ == 0 else 4 ** (bin_ - 1), 4**bin_ if bin_ < 16 else None),
        "line": (f"/src/a.c:{call.get('site')}", "f"),
    }[key]


PAIRS = [
    list(pair)
    for n in (1, 2)
    for pair in itertools.combinations([k for k in KEYS if k not in ("time", "server")], n)
]


@pytest.mark.some(20)
@pytest.mark.parametrize("keys", PAIRS, ids=",".join)
def test_a_breakdown_is_what_brute_force_finds(keys: list[str], tmp_path: Path) -> None:
    calls = random_calls(random.Random(7))
    by_id = {call["id"]: call for call in calls}
    apart = any(KEYS[key].layers for key in keys) and "line" not in keys
    expected: dict[tuple[Any, ...], list[int]] = {}
    for call in calls:
        if not apart and call.get("parent"):
            continue
        if "size" in keys and call["kind"] not in ("read", "write"):
            continue
        columns = dict(
            pair
            for key in keys
            for pair in zip(KEYS[key].columns, key_of(key, call, by_id), strict=True)
        )
        sums = expected.setdefault(tuple(columns.values()), [0, 0, 0, 0])
        for at, value in enumerate(
            (1, call["bytes"], call["duration"], int(bool(call.get("error"))))
        ):
            sums[at] += value
    rows = breakdown(run_of(tmp_path, calls), keys).to_pylist()
    names = list(dict.fromkeys(name for key in keys for name in KEYS[key].columns))
    got = {
        tuple(row[name] for name in names): [
            row["calls"],
            row["bytes"],
            round(row["seconds"] * 1e9),
            row["errors"],
        ]
        for row in rows
    }
    assert got == expected


def test_by_time_cuts_calls_where_parts_meet(tmp_path: Path) -> None:
    wrote = {"layer": "posix", "op": "pwrite", "kind": "write", "bytes": 8, "size": 8}
    calls = [
        wrote | {"id": 1, "start": 40, "duration": 120},
        wrote | {"id": 2, "start": 900, "duration": 10},
    ]
    rows = breakdown(run_of(tmp_path, calls), ["time"]).to_pylist()
    width = RUN / BINS
    assert [(round(row["start_seconds"] * 1e9 / width), row["calls"], round(row["seconds"] * 1e9)) for row in rows] == [
        (0, 1, 10), (1, 0, 50), (2, 0, 50), (3, 0, 10), (18, 1, 10),
    ]  # fmt: skip
    assert rows[1]["mean_seconds"] is None


def counted_run(folder: Path, *, with_files: bool) -> Any:
    """rank 1 of 3 does the writing, to out.*.rst; in counters only."""
    wrote = {"layer": "posix", "op": "pwrite", "kind": "write", "start": 0}
    calls = [
        wrote | {"id": n, "process": process, "duration": took, "bytes": took, "file": file}
        for n, (process, took, file) in enumerate([(1, 900, 0), (1, 50, 1), (0, 10, 2), (2, 10, 2)])
    ]
    left = {"recorded": 0} if with_files else {"recorded": 0, "file": None}
    return fathom.open(
        write_run(
            folder / "r.fathom",
            runs=[{"duration": RUN, "ranks": 3}],
            counters=[row | left for row in counters_of(calls)],
            processes=[{"process": p, "rank": p} for p in range(3)],
            files=files("out.1.rst", "out.2.rst", "log"),
        )
    )


def test_job_leads_to_files_on_the_rank_that_dominates(tmp_path: Path) -> None:
    step = next_selection.step(counted_run(tmp_path, with_files=False))
    assert (step.level, step.ranks, step.files) == ("file", [1], None)
    assert tomllib.loads(words.selection(step, "r")) == {"job": {}, "file": {"ranks": "1"}}


def test_files_lead_to_calls(tmp_path: Path) -> None:
    step = next_selection.step(counted_run(tmp_path, with_files=True))
    assert tomllib.loads(words.selection(step, "r")) == {
        "job": {},
        "file": {},
        "call": {"operations": "write", "ranks": "1", "files": ["*/out.*.rst"]},
    }
    assert step.share == pytest.approx(950 / 970)


def test_calls_lead_nowhere(tmp_path: Path) -> None:
    assert next_selection.step(run_of(tmp_path, random_calls(random.Random(1)))).level == "none"


def test_hostile_names_stay_toml() -> None:
    step = next_selection.Step("call", None, None, ['*/a"\\\n\x1b*'], 1.0)
    assert tomllib.loads(words.selection(step, "r"))["call"]["files"] == ['*/a"\\\n\x1b*']
    assert words.next_name("s3d") == "s3d.2"
    assert words.next_name("s3d.9") == "s3d.10"


def test_next_prints_the_command_and_keeps_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = counted_run(tmp_path, with_files=True)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["show", str(run.path), "--next"]) == 0
        out, err = capsys.readouterr()
        assert out == "fathom run --select r.next.toml -o r.2 -- ./s3d '4 4'\n"
        assert "every write on the files that took 97.9 % of the time on files, on rank 1" in err
        assert "calls recorded in full" in err
    Path("r.next.toml").write_text("[job]\n")
    assert main(["show", str(run.path), "--next"]) == 0
    assert "r.next.2.toml" in capsys.readouterr().out
    assert Path("r.next.toml").read_text() == "[job]\n"


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("function,nothing", "no table 'nothing'"),
        ("rank,variable", "a table of its own"),
        ("rank,rank", "twice"),
        ("", "no table ''"),
    ],
)
def test_wrong_keys_are_one_line(run_directory: Path, by: str, says: str, capsys: Any) -> None:
    with contextlib.suppress(SystemExit):
        assert main(["show", str(run_directory), "--by", by]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


def test_counted_calls_have_no_place_in_time(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="level call"):
        breakdown(counted_run(tmp_path, with_files=True), ["time", "function"])


def test_no_lines_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = counted_run(tmp_path, with_files=True)
    assert main(["show", str(run.path), "--by", "line,function", "--csv"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert "--next" in err


def test_no_server_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = counted_run(tmp_path, with_files=False)
    assert main(["show", str(run.path), "--by", "server", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert "no server was traced" in err
