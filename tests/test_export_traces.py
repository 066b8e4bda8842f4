"""`fathom export --to perfetto` and `--to ctf`: what their readers find is what the tables say."""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from harness import exports, needs, paths, pftrace, tables

QUICK, FULL = ("hdf5", "forwarded"), ("mpiio", "threads", "signals", "unfinished")
CALLS = """
select id, stream, process, layer, op, start, start + duration as stop, parent, f.path, file, file_offset, size,
	bytes, error, state, rank
from calls left join files f using (file)"""


@pytest.fixture(
    scope="module", params=[*QUICK, *(pytest.param(one, marks=pytest.mark.full) for one in FULL)]
)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run: kernels, one with an agent's samples, one through servers; threads; a signal handler; calls cut short."""
    place = tmp_path_factory.mktemp(request.param)
    program = paths.PROGRAMS / "programs"
    match request.param:
        case "mpiio":
            return exports.kernel(place, "s3d_mpiio")
        case "hdf5":
            return exports.kernel(place, "s3d_hdf5", "--sample=0.02")
        case "forwarded":
            return exports.kernel(place, "s3d_mpiio", "--forward=2", "--forward-path", "{out}")
        case "signals":
            return exports.record(place, "--", program / "signals", place / "a", place / "b")
        case "threads":
            return exports.record(
                place, "--layers", "+threads", "--", program / "thread_waits", place / "f", status=3
            )
    return exports.record(place, "--", program / "longjmp", place / "f")


def rows(connection: Any, sql: str) -> list[dict[str, Any]]:
    rows_: list[dict[str, Any]] = connection.execute(sql).to_arrow_table().to_pylist()
    return rows_


@pytest.fixture(scope="module")
def connection(run: Path) -> Any:
    return tables.connect(run)


@pytest.fixture(scope="module")
def calls(connection: Any) -> dict[int, dict[str, Any]]:
    by_id = {row["id"]: row for row in rows(connection, CALLS)}
    assert len(by_id) > 10
    return by_id


@pytest.fixture(scope="module")
def trace(run: Path) -> pftrace.Trace:
    needs.require(["python:perfetto"])
    assert exports.export(run, "--to", "perfetto")[0] == "run.pftrace\n"
    return pftrace.read(run.parent / "run.pftrace")


def arguments(row: dict[str, Any]) -> dict[str, Any]:
    """What a slice tells of its call."""
    out = {
        "file": row["path"],
        "offset": row["file_offset"],
        "size": row["size"],
        "bytes": row["bytes"],
    }
    out |= {
        "error": row["error"] or None,
        "state": None if row["state"] == "done" else row["state"],
    }
    return {name: value for name, value in out.items() if value is not None}


@pytest.mark.some(1)
def test_slices_are_the_calls(
    trace: pftrace.Trace, calls: dict[int, dict[str, Any]], connection: Any
) -> None:
    assert trace.slices.keys() == calls.keys()
    pids = dict(connection.execute("select process, pid from processes").fetchall())
    for call, one in trace.slices.items():
        row = calls[call]
        same = [one[name] == row[name] for name in ("layer", "op", "start", "stop")]
        assert all(same), (one, row)
        assert one["arguments"] == arguments(row)
        inside = (
            row["parent"]
            if row["parent"] is not None and row["parent"] >> 40 == row["stream"]
            else None
        )
        assert one["inside"] == inside
        assert trace.process(one["track"]) == pids[row["process"]]


def test_a_stream_is_a_track_and_lanes_where_calls_overlap(
    trace: pftrace.Trace, calls: dict[int, dict[str, Any]], connection: Any
) -> None:
    streams = defaultdict(set)
    for call, one in trace.slices.items():
        streams[calls[call]["stream"]].add(one["track"])
    of_track = Counter(track for tracks in streams.values() for track in tracks)
    assert set(of_track.values()) == {1}
    for stream, side, tid in connection.execute("select stream, side, tid from streams").fetchall():
        threads = [
            trace.tracks[one].thread.tid
            for one in streams[stream]
            if trace.tracks[one].HasField("thread")
        ]
        assert threads == ([] if side or not streams[stream] else [tid])
    lanes = [trace.tracks[one].name for one in of_track if trace.tracks[one].name]
    servers = connection.execute("select count(*) from calls where layer = 'server'").fetchall()
    assert bool(servers[0][0]) or not [
        name for name in lanes if name.startswith("at the same time")
    ]


def test_flows_are_links_and_parents_on_other_threads(
    trace: pftrace.Trace, calls: dict[int, dict[str, Any]], connection: Any
) -> None:
    wanted = {
        frozenset((row["from_call"], row["to_call"]))
        for row in rows(
            connection, "select from_call, to_call from links where to_call is not null"
        )
    }
    wanted |= {
        frozenset((one["parent"], call))
        for call, one in calls.items()
        if one["parent"] is not None and one["parent"] >> 40 != one["stream"]
    }

    def nested(lower: int, upper: int) -> bool:
        a, b = calls[lower], calls[upper]
        return a["stream"] == b["stream"] and b["start"] <= a["start"] and a["stop"] <= b["stop"]

    source = {
        frozenset((row["from_call"], row["to_call"])): row["to_call"]
        for row in rows(connection, "from links")
    }
    pairs_wanted = set()
    for pair in wanted:
        upper = source.get(pair)
        if upper is None:
            upper = min(pair)
        (lower,) = pair - {upper}
        if not nested(lower, upper):
            pairs_wanted.add(pair)
    assert {frozenset(pair) for pair in trace.flows.values()} == pairs_wanted
    assert len(trace.flows) == len(pairs_wanted)


def test_counters_add_up_to_the_bytes_and_are_the_samples(
    trace: pftrace.Trace, connection: Any
) -> None:
    rates = Counter[tuple[int, str]]()
    samples = Counter[tuple[str, str, int, int]]()
    for track, values in trace.counters.items():
        described = trace.tracks[track]
        if described.counter.unit_name == "B/s":
            moved = sum(a[1] * (b[0] - a[0]) for a, b in pairwise(values)) / 1e9
            assert values[-1][1] == 0
            rates[trace.process(track), described.name] += round(moved)
            continue
        parent = trace.tracks[described.parent_uuid]
        whose = str(parent.process.pid) if parent.HasField("process") else parent.name
        for time, value in values:
            samples[whose, described.name, time, int(value)] += 1
    heat = """select pid, layer || ' ' || operation, sum(bytes)::bigint from heat join processes using (process)
        group by all having sum(bytes) > 0"""
    assert {(pid, name): n for pid, name, n in connection.execute(heat).fetchall()} == +rates
    samples_stored = """select coalesce(pid::text, host), concat_ws(' ', what, device), time, value from samples s
        join nodes n on n.node = s.node left join processes p on p.process = s.process where time >= 0"""
    assert Counter(connection.execute(samples_stored).fetchall()) == samples


def test_a_selected_call_lies_in_the_nearest_selected_one(
    run: Path, calls: dict[int, dict[str, Any]]
) -> None:
    needs.require(["python:perfetto"])
    exports.export(run, "--to", "perfetto", "--layers", "posix,mpiio", "-o", run.parent / "part")
    wanted = {call for call, row in calls.items() if row["layer"] in ("posix", "mpiio")}
    nested = pftrace.read(run.parent / "part").slices
    assert nested.keys() == wanted
    for call, one in nested.items():
        around = calls[call]["parent"]
        while around is not None and around not in wanted:
            around = calls[around]["parent"]
        same = around is not None and calls[around]["stream"] == calls[call]["stream"]
        assert one["inside"] == (around if same else None)


EVENT = re.compile(
    r"\[(?P<time>\d+)\] (?P<layer>\w+):(?P<op>.+)_(?P<form>entry|exit): "
    r"\{ node = (?P<node>\d+), process = (?P<process>\d+), pid = \d+, tid = (?P<tid>\d+), rank = (?P<rank>-?\d+) \}, "
    r"\{ call = (?P<call>\d+), (?P<rest>.*) \}"
)
ENTRY = re.compile(
    r'parent = (-?\d+), file = \( "(.*)" : container = (\d+) \), offset = (-?\d+), size = (-?\d+)'
)
EXIT = re.compile(r'bytes = (-?\d+), error = (-?\d+), state = \( "(\w+)" : container = \d \)')


@pytest.fixture(scope="module")
def ctf(run: Path) -> Path:
    needs.require(["babeltrace2"])
    exports.export(run, "--to", "ctf")
    return run.parent / "run-ctf"


def babeltrace(place: Path, *words: str) -> list[re.Match[str]]:
    done = subprocess.run(
        ["babeltrace2", *words, "--no-delta", str(place)], capture_output=True, text=True, timeout=300, check=True
    )  # fmt: skip
    assert not done.stderr
    lines = [EVENT.fullmatch(line) for line in done.stdout.splitlines()]
    assert all(lines)
    return [one for one in lines if one]


def test_babeltrace_tells_each_call(ctf: Path, calls: dict[int, dict[str, Any]]) -> None:
    open_: dict[int, list[int]] = defaultdict(list)
    begun, done = set(), set()
    for one in babeltrace(ctf, "--clock-cycles"):
        call = int(one["call"])
        row, stack = calls[call], open_[calls[call]["stream"]]
        rank = -1 if row["rank"] is None else row["rank"]
        who = (one["layer"], one["op"], int(one["process"]), int(one["rank"]))
        assert who == (row["layer"], row["op"], row["process"], rank)
        entry = one["form"] == "entry"
        assert int(one["time"]) == row["start" if entry else "stop"]
        if entry:
            match = ENTRY.fullmatch(one["rest"])
            assert match is not None and call not in begun
            wanted = [
                -1 if row[name] is None else row[name] for name in ("parent", "file_offset", "size")
            ]
            assert [int(match[1]), int(match[4]), int(match[5])] == wanted
            assert match[2] == (row["path"] or "")
            begun.add(call)
            stack.append(call)
        else:
            match = EXIT.fullmatch(one["rest"])
            assert match is not None and call not in done
            moved = -1 if row["bytes"] is None else row["bytes"]
            assert (int(match[1]), int(match[2]), match[3]) == (moved, row["error"], row["state"])
            done.add(call)
            # Only requests of a server end in another order than they began.
            assert stack[-1] == call or row["layer"] in ("server", "disk")
            stack.remove(call)
    assert begun == done == calls.keys()


def test_babeltrace_finds_a_time_by_the_index(
    ctf: Path, calls: dict[int, dict[str, Any]], connection: Any
) -> None:
    started = connection.execute("select started from runs").fetchall()[0][0]
    middle = sorted(one["start"] for one in calls.values())[len(calls) // 2]
    second, rest = divmod(started + middle, 10**9)
    later = babeltrace(ctf, "--clock-cycles", f"--begin={second}.{rest:09}")
    ends = [one[name] for one in calls.values() for name in ("start", "stop")]
    assert len(later) == sum(time >= middle for time in ends)


@pytest.mark.full
def test_a_run_of_many_pieces_is_whole(planted_run: Any, tmp_path: Path) -> None:
    needs.require(["python:perfetto", "babeltrace2"])
    run = planted_run.path
    exports.export(run, "--to", "perfetto", "-o", tmp_path / "p")
    exports.export(run, "--to", "ctf", "-o", tmp_path / "c")
    by_call = pftrace.read(tmp_path / "p").slices
    known = {row["id"]: row for row in rows(tables.opened(run), CALLS)}
    assert by_call.keys() == known.keys()
    for call, one in by_call.items():
        row = known[call]
        assert (one["start"], one["stop"], one["inside"]) == (
            row["start"],
            row["stop"],
            row["parent"],
        )
        assert one["arguments"] == arguments(row)
    done = subprocess.run(
        ["babeltrace2", tmp_path / "c"], capture_output=True, text=True, timeout=200, check=True
    )
    assert len(done.stdout.splitlines()) == 2 * len(known)
