"""`fathom export --to otf2`: what readers of OTF2 find in an archive is what the tables say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from harness import needs, paths, runner, tables
from harness.exports import export, record

NEEDS = ["python:otf2", "otf2-print"]
UNKNOWN = 2**64 - 1
NONBLOCKING, COLLECTIVE, PRE_CREATED = 1, 2, 1
PARADIGM = {
    "posix": "POSIX", "aio": "POSIX", "stdio": "ISOC", "mpiio": "MPI-IO", "hdf5": "HDF5",
    "pnetcdf": "PnetCDF", "server": "server", "disk": "disk",
}  # fmt: skip
NO_HANDLE = ("path", "mapping", "request", "communicator", "queue", "unknown", "named")

Row = dict[str, Any]


@dataclass
class Read:
    """An archive, as the reader of the `otf2` package gives it."""

    calls: dict[int, Row] = field(default_factory=dict)
    begun: dict[int, Row] = field(default_factory=dict)  # by matching id
    completed: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    events: Counter[str] = field(default_factory=Counter)
    #: (name of the event, call that it lies in, handle or communicator, what it says)
    others: list[tuple[str, int, Any, Row]] = field(default_factory=list)
    handles: list[Any] = field(default_factory=list)
    #: Name of the process, of the metric: times and values.
    metrics: dict[tuple[str, str], list[tuple[int, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    clock: Any = None


def attributes_of(event: Any) -> Row:
    return {attribute.name: value for attribute, value in (event.attributes or {}).items()}


def word(value: Any) -> str:
    """The name of one of OTF2's words."""
    return str(value).rpartition(".")[2]


def read(anchor: Path) -> Read:
    import otf2

    archive, stacks, last = Read(), defaultdict(list), defaultdict(int)
    with otf2.reader.open(str(anchor)) as trace:
        archive.handles = list(trace.definitions.io_handles)
        archive.clock = trace.definitions.clock_properties
        for location, event in trace.events:
            kind, stack = type(event).__name__, stacks[location]
            archive.events[kind] += 1
            assert event.time >= last[location], "times of a location rise"
            last[location] = event.time
            match kind:
                case "Enter":
                    call = attributes_of(event)["call"]
                    archive.calls[call] = {
                        "location": location, "region": event.region, "start": event.time,
                        "place": attributes_of(event).get("called from"),
                        "inside": stack[-1] if stack else None, "depth": len(stack),
                    }  # fmt: skip
                    stack.append(call)
                case "Leave":
                    archive.calls[stack[-1]] |= {"stop": event.time} | attributes_of(event)
                    assert archive.calls[stack.pop()]["region"] is event.region
                case "IoOperationBegin":
                    assert event.matching_id not in archive.begun
                    archive.begun[event.matching_id] = {
                        "event": event, "at": stack[-1], "offset": attributes_of(event).get("offset"),
                    }  # fmt: skip
                case "IoOperationComplete":
                    archive.completed[event.matching_id].append({"event": event, "at": stack[-1]})
                case "Metric":
                    (name,) = {one.name for one in event.metric.metric_class.members}
                    assert event.metric.scope is location.group
                    archive.metrics[location.group.name, name].append((event.time, *event.values))
                case _:
                    archive.others.append((kind, stack[-1], location, event))
    assert not any(stacks.values()), "each call ends"
    return archive


def built(place: str, name: str, mpi: str = "") -> list[str]:
    """The words that start a program on four ranks, or as it is."""
    needs.require([*needs.of_mpi(mpi), *NEEDS])
    program = paths.BUILD / place / (f"{name}_{needs.MPI[mpi]}" if mpi else name)
    if not program.exists():
        pytest.skip(f"{program.name} is not built: its library is not installed")
    return [*(runner.LAUNCH[mpi].split() + ["-n", "4"] if mpi else []), str(program)]


class Tables:
    """The run's tables, rows as they lie there."""

    def __init__(self, run: Path) -> None:
        self.con = tables.connect(run)
        self.calls = {row["id"]: row for row in self.rows("calls")}
        self.objects = {row["object"]: row for row in self.rows("objects")}
        links = self.rows("links")
        self.links = [row for row in links if row["kind"] == "completes"]
        #: The first client's call of each that a server made.
        self.served: dict[int, int] = {}
        for row in sorted(links, key=lambda one: one["to_call"] or 0, reverse=True):
            if row["kind"] == "serves" and row["to_call"] is not None:
                self.served[row["from_call"]] = row["to_call"]

    def rows(self, table: str) -> list[Row]:
        return list(self.con.sql(f"from {table}").to_arrow_table().to_pylist())

    def handle(self, call: Row) -> tuple[int, str] | None:
        """What a call is made on: the object, and who speaks of it."""
        known = self.objects.get(call["object"])
        if known is None or known["class"] in NO_HANDLE or call["layer"] not in PARADIGM:
            return None
        return known["object"], PARADIGM[call["layer"]]

    @cache  # noqa: B019 (as long as the test)
    def handles(self) -> set[tuple[int, str]]:
        """All that calls are made on."""
        return {number for call in self.calls.values() if (number := self.handle(call))}

    def above(self, of: tuple[int, str]) -> tuple[int, str] | None:
        """What a handle was made for, by climbing from the call that made it."""
        known = self.objects[of[0]]
        if known["parent"] is not None:
            return known["parent"], of[1]
        at = known["created_by"]
        if of[1] == "ISOC":
            opens = [
                row["id"] for row in self.calls.values()
                if row["object"] == of[0] and row["layer"] == "stdio" and row["kind"] == "open"
            ]  # fmt: skip
            at = min(opens, default=None)
        while at is not None:
            call = self.calls[at]
            other = self.handle(call)
            if other in self.handles() and other != of and call["file"] == known["file"]:
                return other
            at = call["parent"]
        return None


def compare(archive: Read, tables: Tables) -> None:
    """Everything that holds of every archive of a whole run."""
    same_calls(archive, tables)
    same_operations(archive, tables)
    same_handles(archive, tables)
    same_rates(archive, tables)


def same_rates(archive: Read, tables: Tables) -> None:
    """Rates over their times are the bytes of each layer and direction; at the end they are 0."""
    moved: Counter[str] = Counter()
    for (_, name), steps in archive.metrics.items():
        assert steps[-1][1] == 0
        moved[name] += round(sum(a[1] * (b[0] - a[0]) for a, b in pairwise(steps)) / 1e9)
    wanted = tables.con.sql(
        "select layer || ' ' || operation, sum(bytes)::bigint from heat group by all"
    )
    assert +moved == +Counter(dict(wanted.fetchall()))


def same_calls(archive: Read, tables: Tables) -> None:
    """Region, thread, times, nesting, place, error of each call."""
    sites = {row["site"]: row for row in tables.rows("sites")}
    streams = {row["stream"]: row for row in tables.rows("streams")}
    processes = {row["process"]: row for row in tables.rows("processes")}
    assert archive.calls.keys() == tables.calls.keys()
    for call, one in archive.calls.items():
        row = tables.calls[call]
        assert one["region"].name == row["op"]
        assert one["region"].description == f"layer {row['layer']}, kind {row['kind']}"
        assert (one["start"], one["stop"]) == (row["start"], row["start"] + row["duration"])
        assert one["inside"] == row["parent"] and one["depth"] == row["depth"]
        assert one.get("error", 0) == row["error"]
        assert one.get("serves") == tables.served.get(call)
        assert one["location"]._ref % 2**32 == row["stream"]
        group = one["location"].group
        process = processes[streams[row["stream"]]["process"]]
        if process["rank"] is not None:
            assert re.match(rf"MPI Rank {process['rank']}\b", group.name)
        assert group.system_tree_parent.parent.name == "machine"
        if row["site"] is None:
            assert one["place"] is None
        elif sites[row["site"]]["source"] is not None:
            assert one["place"].file == sites[row["site"]]["source"]
            assert one["place"].line_number == (sites[row["site"]]["line"] or 0)


def same_operations(archive: Read, tables: Tables) -> None:
    """What each call asked and moved, where, how; what completed what; and their sums."""
    posted = {link["to_call"]: link for link in tables.links}
    for call, row in tables.calls.items():
        operation = row["kind"] in ("read", "write", "sync", "post") and tables.handle(row)
        # It completes what its post began.
        operation = operation and not row["op"].startswith("done_")
        assert (call in archive.begun) == bool(operation), row
        if not operation:
            continue
        begin, completed = archive.begun[call], archive.completed[call]
        event = begin["event"]
        assert begin["at"] == call and begin["offset"] == row["file_offset"]
        assert event.bytes_request == (UNKNOWN if row["size"] is None else row["size"])
        flags = event.operation_flags.value
        assert bool(flags & NONBLOCKING) == (row["kind"] == "post")
        if row["collective"] is not None:
            assert flags & COLLECTIVE
        moved, end = row["bytes"] if row["error"] == 0 else None, call
        if row["kind"] == "post":
            assert len(completed) == (call in posted)
            if call not in posted:
                continue
            moved, end = posted[call]["bytes"], posted[call]["from_call"]
        ((complete),) = completed
        assert complete["event"].handle is event.handle and complete["at"] == end
        assert complete["event"].bytes_result == (UNKNOWN if moved is None else moved)
    same_sums(archive, tables)


def same_sums(archive: Read, tables: Tables) -> None:
    """Reads and writes: number, bytes asked and moved by process, layer and op."""
    sums: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for call, begin in archive.begun.items():
        one = archive.calls[call]
        if one["region"].description.split()[-1] not in ("read", "write"):
            continue
        result = archive.completed[call][0]["event"].bytes_result
        added = (1, begin["event"].bytes_request, result)
        key = (one["location"].group._ref, *re.findall(r"layer (\w+)", one["region"].description))
        for at, number in enumerate(added):
            sums[*key, one["region"].name][at] += 0 if number == UNKNOWN else number
    by = f"""
        select layer, op, count(*), coalesce(sum(size), 0),
            coalesce(sum(bytes) filter (error = 0), 0)
        from calls join objects using (object)
        where kind in ('read', 'write') and op not like 'done_%' and class not in {NO_HANDLE}
        group by calls.process, layer, op"""
    wanted = Counter(tables.con.sql(by).fetchall())
    assert wanted == Counter((layer, op, *of) for (_, layer, op), of in sums.items())


def same_handles(archive: Read, tables: Tables) -> None:
    """Of each operation: what it is on, for whom that was made, and so on up."""
    numbers: dict[tuple[int, str], Any] = {}
    for call, begin in archive.begun.items():
        handle = tables.handle(tables.calls[call])
        assert handle is not None
        event = begin["event"]
        assert numbers.setdefault(handle, event.handle) is event.handle
    assert len({handle._ref for handle in numbers.values()}) == len(numbers)
    for known, handle in numbers.items():
        up: tuple[int, str] | None = known
        while up is not None:
            row = tables.objects[up[0]]
            assert handle.name == (row["name"] or "")
            assert handle.io_paradigm.identification == up[1]
            up = tables.above(up)
            if up is None:
                assert handle.parent is None
                break
            handle = handle.parent
    created = Counter(
        event.handle for kind, _, _, event in archive.others if kind == "IoCreateHandle"
    )
    for handle in archive.handles:
        before = bool(handle.io_handle_flags.value & PRE_CREATED)
        assert created[handle] == (0 if before else 1)


def printed(anchor: Path) -> Counter[str]:
    """Events by the name that otf2-print gives them."""
    done = subprocess.run(
        ["otf2-print", str(anchor)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return Counter(re.findall(r"^([A-Z_]{4,}) ", done.stdout, re.MULTILINE))


def shown(run: Path) -> tuple[Read, Tables]:
    """The export of a whole run, as its readers see it, and its tables."""
    out, _ = export(run, "--to", "otf2")
    anchor = run.parent / "run-otf2" / "traces.otf2"
    assert out == "run-otf2/traces.otf2\n"
    archive = read(anchor)
    names = {re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper(): n for name, n in archive.events.items()}
    assert printed(anchor) == names
    return archive, Tables(run)


@pytest.fixture(scope="module")
def hdf5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """S3D's checkpoint by collective HDF5, on four ranks, with what MPI says."""
    tmp = tmp_path_factory.mktemp("hdf5")
    words = ["-m", "collective", "-c", 1, "-r", 12, 12, 12, 2, 2, 1, tmp]
    program = built("kernels", "s3d_hdf5", "mpich")
    return record(tmp, "--layers", "+mpi", "--", *program, *words)


def test_a_checkpoint_through_hdf5_mpiio_and_posix(hdf5: Path) -> None:
    archive, tables = shown(hdf5)
    compare(archive, tables)
    chains = set()
    for handle in archive.handles:
        chain = []
        while handle is not None:
            chain.append(handle.io_paradigm.identification)
            handle = handle.parent
        chains.add(" < ".join(chain))
    assert {"POSIX < MPI-IO < HDF5", "HDF5 < HDF5"} <= chains
    assert archive.clock.timer_resolution == 10**9
    assert archive.clock.realtime_timestamp == tables.rows("runs")[0]["started"]
    collectives(archive, tables)


def collectives(archive: Read, tables: Tables) -> None:
    """Of each communicator, all members make the same collectives of MPI, in the same order."""
    ends = [
        (call, location, event) for kind, call, location, event in archive.others
        if kind == "MpiCollectiveEnd"
    ]  # fmt: skip
    names = {"BARRIER": "MPI_Barrier", "BCAST": "MPI_Bcast", "ALLREDUCE": "MPI_Allreduce",
             "GATHER": "MPI_Gather", "ALLGATHER": "MPI_Allgather"}  # fmt: skip
    done = Counter(names.get(word(event.collective_op), "other") for _, _, event in ends)
    wanted = Counter(row["op"] for row in tables.calls.values() if row["op"] in names.values())
    assert wanted["MPI_Barrier"] > 0 and wanted == Counter({op: done[op] for op in wanted})
    by_rank: dict[Any, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for call, location, event in ends:
        assert tables.calls[call]["op"] == names.get(
            word(event.collective_op), tables.calls[call]["op"]
        )
        by_rank[event.communicator][location._ref].append((word(event.collective_op), event.root))
    for communicator, ranks in by_rank.items():
        assert len(ranks) == len(communicator.group.members)
        assert all(
            operations_of_rank == next(iter(ranks.values()))
            for operations_of_rank in ranks.values()
        )


def test_messages(tmp_path: Path) -> None:
    """Those of a communicator on which none was posted, sent before they were received."""
    program = built("tests/programs/mpi", "ring", "mpich")
    archive, tables = shown(record(tmp_path, "--layers", "+mpi", "--", *program))
    compare(archive, tables)
    messages: dict[str, list[Any]] = {"MpiSend": [], "MpiRecv": []}
    for kind, _, location, event in archive.others:
        if kind in messages:
            partner = event.receiver if kind == "MpiSend" else event.sender
            rank = int(location.group.name.removeprefix("MPI Rank "))
            ends = (rank, partner) if kind == "MpiSend" else (partner, rank)
            which = (event.communicator.name, event.msg_tag, event.msg_length)
            messages[kind].append(((*ends, *which), event.time))
    wanted = [
        (r, (r + 1) % 4, "MPI_COMM_WORLD", tag, 4 * (tag + r)) for r in range(4) for tag in range(4)
    ]
    sent, received = (dict(messages[kind]) for kind in ("MpiSend", "MpiRecv"))
    assert sorted(which for which, _ in messages["MpiSend"]) == sorted(wanted)
    assert sorted(which for which, _ in messages["MpiRecv"]) == sorted(wanted)
    assert all(sent[which] <= received[which] for which in wanted)


def test_a_part(hdf5: Path) -> None:
    """Of two ranks, two layers and one file; nesting skips what was left out."""
    tables = Tables(hdf5)
    files = {row["file"] for row in tables.rows("files") if row["path"].endswith(".h5")}
    chosen = {
        call for call, row in tables.calls.items()
        if row["rank"] in (1, 3) and row["layer"] in ("hdf5", "posix") and row["file"] in files
    }  # fmt: skip
    words = ["--ranks", "1-3:2", "--layers", "hdf5,posix", "--files", "*.h5", "--output", "part"]
    assert export(hdf5, "--to", "otf2", *words)[0] == "part/traces.otf2\n"
    archive = read(hdf5.parent / "part" / "traces.otf2")
    assert archive.calls.keys() == chosen and len(chosen) > 20
    deep = 0
    for call, one in archive.calls.items():
        at = tables.calls[call]["parent"]
        while at is not None and at not in chosen:
            at = tables.calls[at]["parent"]
        assert one["inside"] == at
        deep += at is not None and tables.calls[call]["layer"] == "posix"
    assert deep > 0
    middle = sorted(tables.calls[call]["start"] for call in chosen)[len(chosen) // 2]
    export(
        hdf5,
        "--to",
        "otf2",
        "--time",
        f"{middle / 1e9:.6f}-{middle / 1e9 + 0.001:.6f}",
        "--output",
        "slice",
    )
    first = round(float(f"{middle / 1e9:.6f}") * 1e9)
    lasting = {
        call for call, row in tables.calls.items()
        if row["start"] < first + 10**6
        and (row["start"] + row["duration"] > first or row["start"] >= first)
    }  # fmt: skip
    sliced = read(hdf5.parent / "slice" / "traces.otf2")
    assert sliced.calls.keys() == lasting
    assert all(one["inside"] == tables.calls[call]["parent"] for call, one in sliced.calls.items())


def test_posts_and_what_completes_them(tmp_path: Path) -> None:
    """POSIX's asynchronous I/O: each post is completed once, where it was seen to be done."""
    run = record(tmp_path, "--", *built("tests/programs", "aio_posix"), tmp_path / "f")
    archive, tables = shown(run)
    compare(archive, tables)
    assert archive.events["IoOperationIssued"] >= len(tables.links) > 5


def test_locks_and_seeks(tmp_path: Path) -> None:
    needs.require(NEEDS)
    script = (
        "import fcntl, os\nfd = os.open('f', os.O_CREAT | os.O_RDWR | os.O_APPEND)\n"
        "os.write(fd, b'12345678'); os.lseek(fd, 3, os.SEEK_SET); os.lseek(fd, -2, os.SEEK_END)\n"
        "fcntl.lockf(fd, fcntl.LOCK_EX); fcntl.lockf(fd, fcntl.LOCK_UN)\n"
        "fcntl.flock(fd, fcntl.LOCK_SH); fcntl.flock(fd, fcntl.LOCK_UN); os.close(fd)\n"
    )
    run = record(tmp_path, "--", paths.PYTHON, "-I", "-S", "-c", script)
    archive, tables = shown(run)
    compare(archive, tables)
    (handle,) = {
        event.handle for kind, _, _, event in archive.others
        if kind == "IoCreateHandle" and event.handle.name == str(tmp_path / "f")
    }  # fmt: skip
    done = []
    for kind, _, _, event in archive.others:
        match kind:
            case "IoSeek" if event.handle is handle:
                done.append((event.offset_request, word(event.whence), event.offset_result))
            case "IoAcquireLock" | "IoReleaseLock" if event.handle is handle:
                done.append((kind, word(event.lock_type)))
            case "IoCreateHandle" if event.handle is handle:
                assert event.creation_flags.value & 1 and event.status_flags.value & 2
            case "IoDestroyHandle" if event.handle is handle:
                done.append(kind)
    assert done == [
        (3, "FROM_START", 3), (-2, "FROM_END", 6), ("IoAcquireLock", "EXCLUSIVE"),
        ("IoReleaseLock", "EXCLUSIVE"), ("IoAcquireLock", "SHARED"), ("IoReleaseLock", "EXCLUSIVE"),
        "IoDestroyHandle",
    ]  # fmt: skip


def test_an_imported_run_has_operations_on_its_files(tmp_path: Path) -> None:
    """No descriptor is known of a log's calls: a handle is a file that a process read or wrote."""
    needs.require(NEEDS)
    run, log = tmp_path / "run.fathom", paths.TESTS / "samples" / "recorder" / "each"
    assert main(["import", "recorder", str(log), "-o", str(run)]) == 0
    export(run, "--to", "otf2")
    archive = read(tmp_path / "run-otf2" / "traces.otf2")
    operations = {
        call: (begin["event"].handle.name, archive.completed[call][0]["event"].bytes_result)
        for call, begin in archive.begun.items()
    }
    select = f"""
        select id, path, coalesce(bytes, {UNKNOWN}) from calls join files using (file)
        where calls.kind in ('read', 'write', 'sync')"""
    rows = tables.connect(run).sql(select).fetchall()
    assert (
        operations == {call: (path, moved) for call, path, moved in rows} and len(operations) > 100
    )
    # What was only named, as in an unlink, was not open.
    on = Counter((one.name, one.io_paradigm.identification) for one in archive.handles)
    text = {key: often for key, often in on.items() if "/text." in key[0]}
    assert text == {(f"/tmp/sample/text.{rank}", "ISOC"): 1 for rank in (0, 1)}


@pytest.mark.full
def test_forwarding_servers(tmp_path: Path) -> None:
    """Each is a group of its own; what it did at once lies on locations of its own, and names the client's call."""
    program = built("kernels", "s3d_mpiio", "mpich")
    (tmp_path / "out").mkdir()
    words = ["-m", "independent", "-c", 1, "-r", 20, 20, 20, 2, 2, 1, tmp_path / "out"]
    options = ["--forward=2", "--forward-path", str(tmp_path / "out")]
    archive, tables = shown(record(tmp_path, *options, "--", *program, *words))
    compare(archive, tables)
    servers = {one["location"].group.name for one in archive.calls.values()}
    assert len([name for name in servers if re.fullmatch(r"Server .*/fwd[01]", name)]) == 2
    assert len(tables.served) > 1000


@pytest.mark.full
@pytest.mark.parametrize(
    ("mpi", "place", "name", "words"),
    [
        (
            "mpich",
            "kernels",
            "s3d_mpiio",
            ["-m", "collective", "-c", "1", "-r", *"16 16 16 2 2 1 .".split()],
        ),
        (
            "ompio",
            "kernels",
            "s3d_pnetcdf",
            ["-c", "1", "-m", "nonblocking", *"16 16 16 2 2 1 .".split()],
        ),
        ("mpich", "tests/programs", "mpi_requests", ["f"]),
        ("", "tests/programs", "threads", ["f"]),
    ],
)
def test_more_programs(tmp_path: Path, mpi: str, place: str, name: str, words: list[str]) -> None:
    """Collective MPI-IO, posts of PnetCDF and of MPI-IO, 64 threads."""
    archive, tables = shown(
        record(tmp_path, "--layers", "+mpi", "--", *built(place, name, mpi), *words)
    )
    compare(archive, tables)
    assert len(archive.begun) > 100


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--to is missing; there are otf2"),
        (["--to", "otfx"], "--to: no 'otfx'; is it 'otf2'?"),
        (["--to", "otf2", "--layers", "hdf6"], "no call fits --layers; there are fathom, hdf5"),
        (["--to", "otf2", "--ranks", "7"], "no call fits --ranks; there are 0-3"),
        (["--to", "otf2", "--ranks", "x"], "--ranks='x': numbers are expected, as 0-63:8,70"),
        (["--to", "otf2", "--time", "2-1"], "--time 2-1: it is FROM-TO in seconds"),
        (["--to", "otf2", "--time", "8000-9000"], "no call fits --time; there are 0.0-"),
        (["--to", "otf2", "--files", "*.nowhere"], "no call fits --files; there are "),
        (
            ["--to", "otf2", "--ranks", "1", "--files", "*/other"],
            "no call fits --files; there are ",
        ),
        (["--to", "otf2", "--output", "no/where"], "there is no directory no"),
        (["--to", "otf2", "--output", "run.fathom", "--force"], "--force does not replace it"),
    ],
)
def test_bad_input_is_one_line(
    hdf5: Path,
    words: list[str],
    says: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(hdf5.parent)
    before = sorted(hdf5.parent.iterdir())
    given = words if "--output" in words else [*words, "--output", "new"]
    assert main(["export", str(hdf5), *given]) == 2
    out, err = capfd.readouterr()
    assert not out and err.count("\n") == 1 and says in err
    assert sorted(hdf5.parent.iterdir()) == before


def test_no_run_no_package_no_calls(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.require(NEEDS)
    assert main(["export", str(tmp_path), "--to", "otf2"]) == 3
    assert "is no run directory" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "_otf2", None)
    monkeypatch.delitem(sys.modules, "fathom.interop.exports.otf2", raising=False)
    for name in [name for name in sys.modules if name.startswith("fathom.interop.exports.otf2")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["export", str(tmp_path), "--to", "otf2"]) == 2
    assert "pip install 'fathom-io[otf2]'" in capfd.readouterr().err
    monkeypatch.undo()
    run = record(tmp_path, "--level", "file", "--", "cp", paths.ROOT / "LICENSE", tmp_path / "f")
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(run), "--to", "otf2"]) == 3
    assert "record it with --level call" in capfd.readouterr().err
    assert not (tmp_path / "run-otf2").exists()


def test_an_output_that_is_there_is_replaced_only_when_told(hdf5: Path) -> None:
    """And whole: what lay in the old one is gone, and what is nobody's export stays."""
    part = ["--to", "otf2", "--layers", "mpiio", "--output", "again"]
    export(hdf5, *part)
    place = hdf5.parent / "again"
    (place / "old").touch()
    assert "is there already" in export(hdf5, *part, status=2)[1]
    export(hdf5, *part, "--force")
    assert {one.name for one in place.iterdir()} == {"traces", "traces.def", "traces.otf2"}
    assert not list(hdf5.parent.glob(".again*"))


def test_a_full_disk_leaves_nothing(hdf5: Path, tmp_path: Path) -> None:
    needs.require(["namespaces"])
    (tmp_path / "small").mkdir()
    script = (
        f"mount -t tmpfs -o size=256k none {tmp_path}/small && cd {hdf5.parent} &&"
        f" {paths.PYTHON} -m fathom export run --to otf2 --output {tmp_path}/small/out; echo status $?;"
        f" ls -A {tmp_path}/small | wc -l"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], env=os.environ | {"PYTHONPATH": str(paths.ROOT / "python")},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["status", "3", "0"], done.stderr
    assert done.stderr.count("\n") == 1 and "No space left on device" in done.stderr
