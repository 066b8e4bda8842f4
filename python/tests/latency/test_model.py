"""Every number of a query equals what loops over lists find, on random forests of calls with links."""

import math
import os
import random
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import fathom
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fathom.analysis.latency import language, model
from fathom.analysis.latency.segment import Segment
from fathom.errors import FathomError, UsageError
from latency.forest import PATHS, SITES, Call, Forest
from latency.oracle import Oracle, Request, energy, groups, own_time, place, server_rate
from schema import counters_of, table, write_run

#: Forests that are asked each kind of question; the first two have regions and collectives. FATHOM_FORESTS: how many.
SEEDS = range(4, 4 + int(os.environ.get("FATHOM_FORESTS", "2")))
WITH_REGIONS = 4


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def about(a: float | None, b: float | None) -> bool:
    return a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-15)


def by(*names: str, server: bool = False) -> Callable[[Request], Any]:
    """What requests are grouped by: of their own calls these, and the server."""

    def key(request: Request) -> Any:
        parts = [request.unit[name] for name in names] + ([request.number] if server else [])
        return parts[0] if len(parts) == 1 else tuple(parts)

    return key


class Asked:
    """A random part of a random run, and both answers to it."""

    def __init__(
        self, seed: int, traced: bool, folder: Path, query: str, whole: bool = False
    ) -> None:
        self.seed = seed
        self.forest = Forest(seed, traced)
        self.run = self.forest.write(folder / f"{seed}{traced}")
        self.dice = random.Random(seed)
        self.segment = Segment() if whole else self._segment()
        pick = (lambda _: "-") if whole else self._set
        self.sets = [pick(5), pick(7), pick(4), pick(4)]
        self.query = language.parse(
            query
            + "".join(
                f" [{s}]"
                for s in self.sets[: 2 if "breakdown" in query or "collective" in query else 4]
            )
        )
        self.oracle = Oracle(self.forest, self._in_segment, relays="latency" in query)
        numbers = self.oracle.numbers(self._in_segment)
        for call in self.forest.calls:  # as queries number them
            call["call"] = numbers.get((call["process"], call["call"]), -1)
        self.oracle = Oracle(self.forest, self._fits, relays="latency" in query)

    def _set(self, most: int) -> str:
        return self.dice.choice(["-", "-", "-", "-", f"0-{most}", f"1,3-{most}"])

    def _segment(self) -> Segment:
        end = max(c["start"] + c["duration"] for c in self.forest.calls)
        return self.dice.choice([
            *[Segment()] * 5, Segment(function="pwrite"), Segment(region="step"), Segment(file="out.*"),
            Segment(layer="posix"),
            Segment(time=(0, end / 2e9)), Segment(lines=("a.c", 0, 15)), Segment(file="/d/*", time=(0, end / 1.5e9)),
        ])  # fmt: skip

    def _fits(self, call: Call) -> bool:
        """Does the own call lie in the segment and the sets?"""
        who = call["rank"] if self.forest.ranked else call["process"]
        in_sets = who in self.query.procs and call["call"] in self.query.calls
        return in_sets and self._in_segment(call)

    def _in_segment(self, call: Call) -> bool:
        s = self.segment
        ancestors = []
        by_id = {c["id"]: c for c in self.forest.calls}
        above = call
        while above["parent"]:
            above = by_id[above["parent"]]
            ancestors.append(above)
        outer = ancestors[-1] if ancestors else call
        path = PATHS[call["file"]] if call["file"] is not None else ""
        site = outer["site"]
        return (
            (s.function is None or call["op"] == s.function)
            and (s.layer is None or call["layer"] == s.layer)
            and (s.region is None or any(c["op"] == s.region for c in ancestors))
            and (s.file is None or (path.startswith("/d/") if s.file == "/d/*" else path.startswith("/d/a/out.")))
            and (s.time is None or int(s.time[0] * 1e9) <= call["start"] < int(s.time[1] * 1e9))
            and (s.lines is None or (site % 2 == 0 and 0 <= 10 * site <= 15 and site < SITES))
        )  # fmt: skip

    def answer(self, top: int = 0) -> model.Answer | None:
        try:
            return model.answer(self.run, self.query, self.segment, top)
        except FathomError as error:
            assert str(error).startswith("query: "), error
            return None

    def collectives(self) -> set[int]:
        inside = [c for u in self.oracle.units for c in self.oracle.under(u)]
        return {c["collective"] for c in inside if "collective" in c}

    def requests(self) -> list[Request]:
        return [
            r
            for r in self.oracle.requests()
            if r.subcall in self.query.subcalls and r.number in self.query.servers
        ]


def answered(
    folder: Path,
    traced: bool,
    query: str,
    expected: Callable[[Asked], Any],
    whole: bool = False,
    share: int = 3,
) -> Iterator[tuple[Asked, model.Answer, Any]]:
    """The forests that have an answer, with what of them is `expected`: where that is nothing there is none. More than
    one of `share` has one."""
    seen = 0
    for seed in SEEDS:
        asked = Asked(seed, traced, folder, query, whole)
        answer, expected_ = asked.answer(), expected(asked)
        assert (answer is None) == (not expected_), seed
        if answer is None:
            continue
        seen += 1
        yield asked, answer, expected_
    assert seen > len(SEEDS) // share


@pytest.fixture(params=[False, True], ids=["directories", "traced"])
def traced(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("kind", ["inclusive", "exclusive"])
def test_breakdown(kind: str, traced: bool, tmp_path: Path) -> None:
    for asked, answer, _ in answered(
        tmp_path, traced, f"latency breakdown {kind}", lambda a: a.oracle.units
    ):
        n = 1 if kind == "inclusive" else 2
        who = answer.who
        by_process = asked.oracle.sums(itemgetter(who))
        for row in answer.views["process"].to_pylist():
            expected = by_process[row[who]]
            mine = [u for u in asked.oracle.units if u[who] == row[who]]
            assert row["calls"] == len(mine)
            assert ns(row["seconds"]) == sum(u["duration"] for u in mine)
            for layer in answer.layers:
                assert ns(row[f"{layer}_seconds"]) == expected.get(layer, [0, 0, 0])[n], (
                    asked.seed,
                    layer,
                )
            if kind == "exclusive":
                assert sum(ns(row[f"{layer}_seconds"]) for layer in answer.layers) == ns(
                    row["seconds"]
                )
                assert all(row[f"{layer}_seconds"] >= 0 for layer in answer.layers)
        assert len(by_process) == answer.views["process"].num_rows
        by_call = asked.oracle.sums(itemgetter(who, "call"))
        for row in answer.views["call"].to_pylist():
            expected = by_call.pop((row[who], row["call"]))
            mine = [u for u in asked.oracle.units if (u[who], u["call"]) == (row[who], row["call"])]
            assert ns(row["seconds"]) == sum(u["duration"] for u in mine)
            for layer in answer.layers:
                assert ns(row[f"{layer}_seconds"]) == expected.get(layer, [0, 0, 0])[n], (
                    asked.seed,
                    layer,
                )
            assert ns(row.get("after_return_seconds", 0)) == sum(
                asked.oracle.after(u) for u in mine
            )
        assert not by_call
        whole = asked.oracle.sums(lambda _: 0)[0]
        for row in answer.views["layer"].to_pylist():
            assert row["calls"] == whole[row["layer"]][0]
            assert ns(row["seconds"]) == whole[row["layer"]][n]
            assert about(
                row["mean_seconds"], whole[row["layer"]][n] / len(asked.oracle.units) / 1e9
            )
            assert ns(row["most_seconds"]) == max(
                g.get(row["layer"], [0, 0, 0])[n] for g in by_process.values()
            )
            assert by_process[row[f"most_{who}"]].get(row["layer"], [0, 0, 0])[n] == ns(
                row["most_seconds"]
            )


def test_operation_list(traced: bool, tmp_path: Path) -> None:
    for asked, answer, requests in answered(
        tmp_path, traced, "latency operation list", Asked.requests
    ):
        who = answer.who
        got = [
            (r[who], r["call"], r["subcall"], r["server"], r["server_name"], r["function"], ns(r["seconds"]),
             ns(r["after_return_seconds"]), r["bytes"], r["accesses"])
            for r in answer.views["request"].to_pylist()
        ]  # fmt: skip
        assert got == sorted(
            (
                r.unit[who],
                r.unit["call"],
                r.subcall,
                r.number,
                r.server,
                r.call["op"],
                r.time,
                r.after,
                r.bytes,
                r.accesses,
            )
            for r in requests
        )
        few = asked.answer(top=3)
        assert few is not None
        shown = sorted((ns(r["seconds"]) for r in few.views["request"].to_pylist()), reverse=True)
        assert shown == sorted((r.time for r in requests), reverse=True)[:3]


@pytest.mark.parametrize("kind", ["max", "min"])
def test_operation_extremes(kind: str, traced: bool, tmp_path: Path) -> None:
    extreme: Any = max if kind == "max" else min
    for _, answer, requests in answered(
        tmp_path, traced, f"latency operation {kind}", Asked.requests
    ):
        who = answer.who
        calls = groups(requests, place)
        by_who = {(each[0].unit[who], each[0].unit["call"]): each for each in calls.values()}
        for row in answer.views["call"].to_pylist():
            each = by_who.pop((row[who], row["call"]))
            assert ns(row["seconds"]) == extreme(r.time for r in each)
            assert any(
                (r.number, r.subcall, r.time, r.server)
                == (row["server"], row["subcall"], ns(row["seconds"]), row["server_name"])
                for r in each
            )
            assert row["subcalls"] == len({r.call["id"] for r in each})
            assert row["servers"] == len({r.server for r in each})
        assert not by_who
        servers = groups(requests, lambda r: r.number)
        for row in answer.views["server"].to_pylist():
            each = servers.pop(row["server"])
            assert ns(row["seconds"]) == extreme(r.time for r in each)
            assert any(
                (r.unit[who], r.unit["call"], r.subcall, r.time)
                == (row[who], row["call"], row["subcall"], ns(row["seconds"]))
                for r in each
            )
            summed = {
                number: sum(r.time for r in some) for number, some in groups(each, by(who)).items()
            }
            assert ns(row["most_seconds"]) == max(summed.values()) == summed[row[f"most_{who}"]]
        assert not servers
        pairs = groups(requests, by(who, server=True))
        got = {
            (r[who], r["server"]): (r["calls"], r["subcalls"], ns(r["seconds"]))
            for r in answer.views["pair"].to_pylist()
        }
        assert got == {
            key: (len({r.unit["id"] for r in each}), len(each), extreme(r.time for r in each))
            for key, each in pairs.items()
        }


@pytest.mark.some(4)
@pytest.mark.parametrize("name", ["latency operation avg", "throughput", "energy 9.5 4", "call"])
def test_sums_per_call_and_server(name: str, traced: bool, tmp_path: Path) -> None:
    for _, answer, requests in answered(tmp_path, traced, name, Asked.requests):
        who = answer.who
        for view, key in (
            ("call", by(who, "call")),
            ("server", lambda r: r.number),
            ("pair", by(who, server=True)),
        ):
            each = groups(requests, key)
            for row in answer.views[view].to_pylist():
                key_of = {"call": (row.get(who), row.get("call")), "server": row.get("server"),
                          "pair": (row.get(who), row.get("server"))}[view]  # fmt: skip
                check(row, each.pop(key_of), view, who)
            assert not each


def check(row: dict[str, Any], mine: list[Request], view: str, who: str) -> None:
    """Whatever columns the row has."""
    rates = [server_rate(some) for some in groups(mine, lambda r: r.server).values()]
    known = [rate for rate in rates if rate is not None]
    time = own_time(mine)
    expected: dict[str, Any] = {
        "subcalls": len({(r.call["id"], r.server if view != "call" else "") for r in mine}),
        "requests": sum(r.rows for r in mine),
        "accesses": sum(r.accesses for r in mine),
        "bytes": sum(r.bytes for r in mine),
        "server_seconds": sum(r.time for r in mine) / 1e9,
        "mean_seconds": sum(r.time for r in mine) / len(mine) / 1e9,
        "server_mb_per_s": sum(known) if known else None,
        "joules": energy(mine, 9.5, 4),
    }
    if view == "call":
        expected |= {
            "servers": len({r.server for r in mine}),
            "seconds": time / 1e9,
            "mb_per_s": sum(r.bytes for r in mine) / time * 1e3 if time else None,
        }
    else:
        expected["calls"] = len({r.unit["id"] for r in mine})
    if view == "server":
        by_who = groups(mine, by(who))
        best = [
            rate for some in by_who.values() if (rate := server_rate(some)) is not None and rate > 0
        ]
        expected |= {"processes": len(by_who), "best_mb_per_s": max(best, default=None)}
        if row.get("best_mb_per_s"):
            assert about(row["best_mb_per_s"], server_rate(by_who[row[f"best_{who}"]]))
    for name, value in row.items():
        if name in expected and not (name == "best_mb_per_s" and not best):
            assert about(value, expected[name]), (view, name, value, expected[name])


def test_collectives(traced: bool, tmp_path: Path) -> None:
    forests = answered(
        tmp_path, traced, "latency collective", Asked.collectives, whole=True, share=4
    )
    for asked, answer, numbers in forests:
        requests = groups(asked.oracle.requests(), lambda r: r.call["id"])
        talk_known = any(
            c["layer"] == "mpi"
            and asked.oracle.ancestors(c)
            and asked.oracle.ancestors(c)[0]["layer"] == "mpiio"
            for c in asked.forest.calls
        )
        for row in answer.views["collective"].to_pylist():
            members = [c for c in asked.forest.calls if c.get("collective") == row["collective"]]
            numbers.remove(row["collective"])
            enters, leaves = (
                [c["start"] for c in members],
                [c["start"] + c["duration"] for c in members],
            )
            assert ns(row["seconds"]) == max(leaves) - min(enters)
            assert ns(row["waiting_seconds"]) == max(enters) - min(enters)
            assert ns(row["longest_seconds"]) == max(c["duration"] for c in members)
            below = {c["id"]: asked.oracle.under(c) for c in members}
            talk = {
                c["id"]: sum(
                    d["duration"] for d in below[c["id"]][1:]
                    if d["layer"] == "mpi" and "mpi" not in [a["layer"] for a in asked.oracle.between(c, d)]
                ) for c in members
            }  # fmt: skip
            if talk_known:
                assert ns(row["communication_seconds"]) == max(talk.values())
                assert ns(row["communication_summed_seconds"]) == sum(talk.values())
            else:
                assert row["communication_seconds"] is None
            mine = {
                c["id"]: [r for d in below[c["id"]] for r in requests.get(d["id"], [])]
                for c in members
            }
            stored = [
                sum(max(r.time for r in of) for of in groups(each, lambda r: r.call["id"]).values())
                for each in mine.values()
            ]
            assert ns(row["storage_seconds"]) == max(stored)
            assert ns(row["storage_summed_seconds"]) == sum(stored)
            assert row["accesses"] == sum(r.accesses for each in mine.values() for r in each)
            assert row["servers"] == len({r.server for each in mine.values() for r in each})
        assert not numbers


def test_the_longest_calls_are_shown(tmp_path: Path) -> None:
    asked = Asked(3, False, tmp_path, "latency breakdown inclusive", whole=True)
    answer = asked.answer(top=2)
    assert answer is not None
    totals = groups_of(asked.oracle.units)
    shown = sorted((ns(row["seconds"]) for row in answer.views["call"].to_pylist()), reverse=True)
    assert shown == sorted(totals.values(), reverse=True)[:2]
    assert any("the 2 longest calls" in note for note in answer.notes)


def groups_of(units: list[Call]) -> dict[Any, int]:
    out: dict[Any, int] = {}
    for unit in units:
        key = (unit["process"], unit["call"])
        out[key] = out.get(key, 0) + unit["duration"]
    return out


#: Two own calls, both held up by servers: a pwrite that one served straight away, and MPI-IO whose pwrite two served.
SERVED = [
    {"id": 1, "layer": "posix", "op": "pwrite", "kind": "write", "start": 0, "duration": 100, "call": 0},
    {"id": 2, "layer": "mpiio", "op": "MPI_File_write", "kind": "write", "start": 200, "duration": 90, "nested": 50,
     "call": 1},
    {"id": 3, "parent": 2, "depth": 1, "layer": "posix", "op": "pwrite", "kind": "write", "start": 210, "duration": 50,
     "call": 1},
    *({"id": 4 + n, "process": 1 + n % 2, "layer": "server", "op": "write", "kind": "write", "start": start,
       "duration": took, "bytes": 8} for n, (start, took) in enumerate([(10, 70), (215, 40), (220, 30)])),
    {"id": 7, "process": 1, "layer": "disk", "op": "write", "kind": "write", "start": 20, "duration": 25},
]  # fmt: skip
LINKS = [(4, 1, "serves"), (5, 3, "serves"), (6, 3, "serves"), (7, 1, "carries")]


def test_a_call_that_a_server_served_straight_away(tmp_path: Path) -> None:
    run = fathom.open(
        write_run(
            tmp_path / "r.fathom",
            runs=[{"duration": 300}],
            calls=SERVED,
            counters=counters_of(SERVED),
            links=[{"from_call": a, "to_call": b, "kind": kind} for a, b, kind in LINKS],
            processes=[{"process": p, "node": p} for p in range(3)],
            nodes=[{"node": n, "host": f"n{n}"} for n in range(3)],
        )
    )

    def ask(query: str, view: str, *columns: str, top: int = 0) -> list[tuple[Any, ...]]:
        table = model.answer(run, language.parse(query), Segment(), top).views[view]
        return [tuple(row[name] for name in columns) for row in table.to_pylist()]

    calls = [(0, "pwrite", 1, 1, 8), (1, "MPI_File_write", 1, 2, 16)]
    assert ask("call", "call", "call", "function", "subcalls", "servers", "bytes") == calls
    assert ask("call", "call", "call", top=1) == [(0,)]
    assert ask("call", "server", "server_name", "calls", "requests") == [("n1", 2, 2), ("n2", 1, 1)]
    longest = ask("latency operation max", "call", "call", "seconds", "server_name")
    assert longest == [(0, 70e-9, "n1"), (1, 40e-9, "n2")]
    requests = ask("latency operation list", "request", "call", "server", "id", "seconds")
    assert requests == [(0, 0, 1, 70e-9), (1, 0, 3, 30e-9), (1, 1, 3, 40e-9)]
    layers = [f"{layer}_seconds" for layer in ("mpiio", "posix", "server", "disk")]
    stacked = ask("latency breakdown exclusive", "call", *layers)
    assert stacked == [(0, 30e-9, 45e-9, 25e-9), (40e-9, 10e-9, 40e-9, 0)]


@pytest.mark.parametrize("query", ["latency breakdown inclusive", "latency operation max"])
def test_where_tables_do_not_tell_own_calls_they_are_climbed_to(
    query: str, traced: bool, tmp_path: Path
) -> None:
    asked = Asked(WITH_REGIONS, traced, tmp_path, query, whole=True)
    packed = asked.answer()
    tables = asked.run.path / "tables"
    calls = pq.read_table(tables / "calls" / "0.parquet")

    def climbed(changed: pa.Table) -> None:
        pq.write_table(changed, tables / "calls" / "0.parquet")
        asked.run = fathom.open(asked.run.path)
        answer = asked.answer()
        assert packed and answer and answer.views == packed.views

    climbed(calls.drop_columns(["own", "own_duration", "topmost", "alone"]))  # of an older packer
    pq.write_table(table("streams", [{"side": True}]), tables / "streams.parquet")
    place = calls.column_names.index("own")  # of calls that signal handlers made it is not known
    climbed(calls.set_column(place, "own", pa.nulls(calls.num_rows, pa.uint64())))


def test_an_empty_part_says_what_there_is(tmp_path: Path) -> None:
    run = Forest(WITH_REGIONS, False).write(tmp_path)

    def says(query: str, segment: Segment | None = None) -> str:
        with pytest.raises(UsageError) as error:
            model.answer(run, language.parse(query), segment or Segment(), 10)
        return str(error.value)

    assert says("call [99]").endswith("\n  call [99]\n       ^^^^")
    assert "there are" in says("call [99]") and "call 1000" in says("call - [1000]")
    assert "0: /" in says("call - - - [77]")
    assert "; of these calls there are 0-" in says("call - - [77]")
    assert "pwrite" in says("call", Segment(function="nothing"))
    assert "/d/" in says("call", Segment(file="*.none"))
    assert "/src/" in says("call", Segment(lines=("none.c", 1, 2)))
    assert "checkpoint" in says("call", Segment(region="x"))
    assert " s" in says("call", Segment(time=(100.0, 200.0)))
