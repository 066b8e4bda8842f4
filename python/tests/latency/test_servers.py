"""What each server did, against sums over lists."""

import json
import random
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis.breakdown import breakdown
from fathom.analysis.latency.servers import are_traced
from fathom.analysis.summary import servers
from schema import counters_of, write_run

OPS = [("pwrite", "write"), ("pread", "read"), ("open", "open")]
PATHS = ["/d/a/out.0", "/d/a/out.1", "/d/b/c/log", "/top", "/d/a/sock", "/proc/stat", ""]
KINDS = ["regular", "regular", "unknown", "regular", "socket", "regular", "regular"]
STORAGE = ("posix", "stdio", "aio")


def random_calls(dice: random.Random) -> list[dict[str, Any]]:
    """Calls of three processes: of storage, in MPI-IO, in MPI_Init, in calls of storage."""
    calls: list[dict[str, Any]] = []

    def add(parent: int | None, layer: str, op: str, kind: str, process: int) -> int:
        row = {"id": len(calls) + 1, "parent": parent, "layer": layer, "op": op, "kind": kind,
               "process": process, "start": dice.randrange(1000), "duration": dice.randrange(50),
               "bytes": dice.randrange(9), "error": dice.choice([0, 0, 5]),
               "file": dice.choice([None, *range(len(PATHS))])}  # fmt: skip
        calls.append(row)
        return int(row["id"])

    for _ in range(dice.randrange(40)):
        process = dice.randrange(3)
        outer = dice.choice(
            [None, ("mpiio", "MPI_File_write", "write"), ("mpi", "MPI_Init", "comm")]
        )
        parent = add(None, *outer, process) if outer else None
        layer, (op, kind) = dice.choice(STORAGE), dice.choice(OPS)
        inner = add(parent, layer, op, kind, process)
        if dice.random() < 0.3:
            add(inner, "posix", "pread", "read", process)
    return calls


def with_servers(dice: random.Random, calls: list[dict[str, Any]]) -> None:
    for _ in range(dice.randrange(1, 9)):
        op, kind = dice.choice(OPS)
        calls.append({"id": len(calls) + 1, "layer": "server", "op": op, "kind": kind, "bytes": 7,
                      "process": dice.randrange(3, 10), "start": 0, "duration": dice.randrange(50)})  # fmt: skip


#: Servers by process: their node, and their name where they were given one.
SERVERS = {
    3: (1, ""), 4: (1, ""), 5: (2, ""), 6: (2, "slow"), 7: (3, "fwd0"), 8: (3, "fwd0"), 9: (3, "fwd1"),
}  # fmt: skip
#: Three clients on another node.
PROCESSES = [{"process": p, "rank": p, "node": 0} for p in range(3)] + [
    {"process": p, "node": node, "command": ["fathom-engine", *(["--name", name] if name else [])]}
    for p, (node, name) in SERVERS.items()
]


def run_of(folder: Path, calls: list[dict[str, Any]]) -> Any:
    return fathom.open(
        write_run(
            folder / "r.fathom",
            runs=[{"duration": 1000, "ranks": 3}],
            calls=calls,
            counters=counters_of(calls),
            processes=PROCESSES,
            nodes=[{"node": n, "host": f"n{n}"} for n in range(4)],
            ops=[{"layer": "mpi", "op": "MPI_Init", "kind": "comm"}],
            files=[
                {"file": n, "path": path, "kind": kind, "file_system": "proc" if "proc" in path else "ext4",
                 "mount": str(Path(path).parent)}
                for n, (path, kind) in enumerate(zip(PATHS, KINDS, strict=True))
            ],
        )
    )  # fmt: skip


def server_of(call: dict[str, Any], by_id: dict[int, Any], served: set[int]) -> str | None:
    """The meaning of a server, worked out here."""
    if served:
        if call["layer"] != "server":
            return None
        node, name = SERVERS[call["process"]]
        same = sorted(p for p in served if SERVERS[p] == (node, name))
        name_ = f"n{node}/{name}" if name else f"n{node}"
        return name_ if len(same) == 1 else f"{name_}/{same.index(call['process'])}"
    parent = by_id.get(call.get("parent"))
    if parent and (parent["layer"] in STORAGE or parent["kind"] == "comm"):
        return None
    if call["layer"] not in STORAGE or call["file"] not in (0, 1, 2, 3):
        return None
    return str(Path(PATHS[call["file"]]).parent)


@pytest.mark.some(1)
@pytest.mark.parametrize("traced", [False, True])
def test_servers_are_what_brute_force_finds(traced: bool, tmp_path: Path) -> None:
    for seed in range(12):
        dice = random.Random(seed)
        calls = random_calls(dice)
        if traced:
            with_servers(dice, calls)
        by_id = {call["id"]: call for call in calls}
        served = {call["process"] for call in calls if call["layer"] == "server"}
        sums: dict[str, list[int]] = {}
        for call in calls:
            server = server_of(call, by_id, served)
            if server is None:
                continue
            row = sums.setdefault(server, [0] * 6)
            data = call["kind"] in ("read", "write")
            row[0] += 1
            row[1] += data and not call.get("error")
            row[2] += bool(call.get("error"))
            row[3] += call["bytes"] if call["kind"] == "read" else 0
            row[4] += call["bytes"] if call["kind"] == "write" else 0
            row[5] += call["duration"]
        run = run_of(tmp_path / str(seed), calls)
        assert are_traced(run) == traced
        got = [
            (row["number"], row["server"], row["calls"], row["accesses"], row["errors"],
             row["bytes_read"], row["bytes_written"], round(row["seconds"] * 1e9))
            for row in servers(run).to_pylist()
        ]  # fmt: skip
        assert got == [(n, name, *sums[name]) for n, name in enumerate(sorted(sums))]
        by_key = {r["server"]: (r["calls"], r["bytes"], round(r["seconds"] * 1e9))
                  for r in breakdown(run, ["server"]).to_pylist()}  # fmt: skip
        every = {}
        for name in sums:
            mine = [c for c in calls if server_of(c, by_id, served) == name]
            every[name] = (len(mine), sum(c["bytes"] for c in mine), sums[name][5])
        assert by_key == every
        assert {r["server"] for r in breakdown(run, ["server", "line"]).to_pylist()} == set(sums)


def test_show_tells_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrote = {"layer": "posix", "op": "pwrite", "kind": "write", "start": 0, "file": 0}
    run = run_of(
        tmp_path,
        [
            wrote | {"id": 1, "duration": 30, "bytes": 100},
            wrote | {"id": 2, "duration": 20, "error": 5},
        ],
    )
    assert main(["show", str(run.path), "--by", "server", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["server"], row["calls"], row["errors"], row["bytes_written"]) == ("/d/a", 2, 1, 100)
    assert main(["show", str(run.path), "--by", "server"]) == 0
    assert "/d/a" in capsys.readouterr().out


#: Files by file system, mount, key, path; the settings in force of each; what it lies on.
PLACED = [
    (("ext4", "/tmp", "b0:8:1", "/tmp/a"), {}, "n0:/tmp"),
    (("ext4", "/tmp", "b1:8:1", "/tmp/a"), {}, "n1:/tmp"),
    (("ext4", "/", "b0:8:2", "/home/a"), {"start_iodevice": "3", "striping_factor": "1"}, "/"),
    (("nfs4", "/nfs", "nfs4:h:/x", "/nfs/d/a"), {}, "/nfs"),
    ((None, None, "", "/nfs/not/opened"), {}, "/nfs"),
    ((None, None, "", "/tmp/not/opened"), {}, "/tmp"),
    (("lustre", "/s", "lustre:s", "/s/a"), {}, "/s"),
    (("lustre", "/s", "lustre:s", "/s/b"), {"osts": "14"}, "OST 14 of /s"),
    (("lustre", "/s", "lustre:s", "/s/c"), {"osts": "2,9,1,0,14,-1", "striping_unit": "65536"}, "OSTs 0-2,9,14 of /s"),
    (("lustre", "/s", "lustre:s", "/s/d"), {"start_iodevice": "7", "striping_factor": "1"}, "OST 7 of /s"),
    (("lustre", "/s", "lustre:s", "/s/e"), {"start_iodevice": "7", "striping_factor": "4"}, "/s"),
    (("lustre", "/s", "lustre:s", "/s/f"), {"start_iodevice": "-1", "striping_factor": "1"}, "/s"),
    (("lustre", "/t", "lustre:t", "/t/a"), {"osts": "3,2,3"}, "OSTs 2,3 of /t"),
]  # fmt: skip


def placed_run(folder: Path, files: list[Any]) -> Any:
    keys = ("file_system", "mount", "key", "path")
    return fathom.open(
        write_run(
            folder / "r.fathom",
            runs=[{"duration": 1}],
            nodes=[{"node": n, "host": f"n{n}", "boot_id": f"b{n}"} for n in range(2)],
            files=[
                dict(zip(keys, place, strict=True)) | {"file": n, "kind": "regular"}
                for n, (place, _, _) in enumerate(files)
            ],
            hints_in_force=[
                {"file": n, "process": process, "source": "in force", "key": key, "value": value}
                for n, (_, settings, _) in enumerate(files)
                for key, value in settings.items()
                for process in range(2)
            ],
        )
    )


def test_what_files_lie_on(tmp_path: Path) -> None:
    run = placed_run(tmp_path, PLACED)
    rows = run.sql("select file, server from server_files() order by file")
    assert rows["server"].to_pylist() == [server for _, _, server in PLACED]
    stripes = "select server, stripes, stripe_bytes from file_stripes() where file in (8, 12) order by file, ost"
    assert [tuple(row.values()) for row in run.sql(stripes).to_pylist()] == [
        *((f"OST {ost} of /s", 1, 65536) for ost in (0, 1, 2, 9, 14)),
        ("OST 2 of /t", 1, None),
        ("OST 3 of /t", 2, None),
    ]


def test_osts_of_one_file_system_have_no_mount_in_their_names(tmp_path: Path) -> None:
    run = placed_run(tmp_path, PLACED[:12])
    named = run.sql("select server from server_files() where server like 'OST%' order by file")
    assert named["server"].to_pylist() == ["OST 14", "OSTs 0-2,9,14", "OST 7"]
