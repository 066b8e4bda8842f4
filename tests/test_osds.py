"""CephFS untouched: what each storage daemon (OSD) did in a run, asked of it, joined with the calls that waited for it.

The oracles are Ceph's own: its map says which OSD has an object, its counters how many bytes each OSD took.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import cephfs, paths, tables
from harness.attached import works

UNIT = 65536
OBJECT = 16 * UNIT  # as CephFS.stripe makes them
BLOCKS = 16 * 16
DELAY = 0.05

# Each write waits for its OSD; then small ones are kept by the client until fsync.
PROGRAM = f"""
import os, sys
at = sys.argv[1]
file = os.open(at + "/whole", os.O_RDWR | os.O_SYNC)
for block in range({BLOCKS}):
    os.pwrite(file, b"x" * {UNIT}, block * {UNIT})
os.close(file)
file = os.open(at + "/kept", os.O_CREAT | os.O_RDWR)
for block in range(40):
    os.pwrite(file, b"y" * 10000, block * 10000)
os.fsync(file)
os.close(file)
"""

# Of each operation on a file the OSD, the call, where in the file that was, and how sure it is.
OSD = "regexp_extract(array_to_string(p.command, ' '), '--name osd[.]([0-9]+)', 1)::integer"
JOINED = f"""
    select {OSD} as osd, c.op, c.file_offset, c.bytes, l.kind, l.confidence
    from links as l join calls as s on s.id = l.from_call join processes as p on p.process = s.process
        join calls as c on c.id = l.to_call join files as f on f.file = c.file
    where s.op = '{{op}}' and f.path like '%/{{file}}'
"""
OF_OSDS = f"""
    select {OSD} as osd, sum(c.bytes)::bigint from counters as c join processes as p using (process)
    where c.layer = 'server' and c.kind = 'write' group by osd
"""


def record(place: Path, ceph: cephfs.CephFS, name: str, *command: object) -> Path:
    run = place / f"{name}.fathom"
    words = [paths.FATHOM, "run", f"--ceph={ceph.at}/run", "--no-show", "-o", run, "--", *command]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return run


def setting(ceph: cephfs.CephFS, osd: int, name: str) -> str:
    socket = ceph.at / "run" / f"osd.{osd}.asok"
    setting_: dict[str, str] = json.loads(
        ceph.ceph("--admin-daemon", socket, "config", "get", name)
    )
    return setting_[name]


def object_of(offset: int) -> int:
    """CephFS's striping: units go round over as many objects as there are OSDs, set after set."""
    unit = offset // UNIT
    return unit // (cephfs.OSDS * OBJECT // UNIT) * cephfs.OSDS + unit % cephfs.OSDS


def osd_of(ceph: cephfs.CephFS, file: Path, number: int) -> int:
    name = f"{file.stat().st_ino:x}.{number:08x}"
    primary: int = json.loads(ceph.ceph("osd", "map", "data", name, "-f", "json"))["acting_primary"]
    return primary


def fathom(*words: object) -> Any:
    done = subprocess.run(
        [str(paths.FATHOM), *map(str, words)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def written(
    started_ceph: cephfs.CephFS, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, dict[int, int], int]:
    """A run with one slow OSD: the run, its directory of files, which OSD has which object, the slow one."""
    ceph, place = started_ceph, tmp_path_factory.mktemp("osds")
    files = ceph.at / "node0" / "osds"
    files.mkdir()
    ceph.stripe(files, UNIT, cephfs.OSDS)
    (files / "whole").touch()
    objects = {number: osd_of(ceph, files / "whole", number) for number in range(BLOCKS // 16)}
    assert len(set(objects.values())) > 2, "too few OSDs to tell a slow one from"
    late = objects[0]
    names = ("osd_op_history_size", "osd_op_history_duration")
    ceph.ceph(
        "tell", f"osd.{late}", "config", "set", names[0], 20
    )  # as it is where nobody has set it
    before = [setting(ceph, late, name) for name in names]
    with ceph.slow(late, DELAY):
        run = record(place, ceph, "written", sys.executable, "-c", PROGRAM, files)
    assert [setting(ceph, late, name) for name in names] == before == ["20", "600"]
    return run, files, objects, late


@pytest.mark.full
def test_each_write_is_joined_with_the_osd_that_has_its_object(written: Any) -> None:
    run, _, objects, _ = written
    joined = tables.ask(tables.connect(run), JOINED.format(op="osd_write", file="whole"))
    assert len(joined) == BLOCKS
    for osd, op, offset, size, kind, sure in joined:
        assert (op, size, kind, sure) == ("pwrite", UNIT, "serves", 90)
        assert osd == objects[object_of(offset)], offset


@pytest.mark.full
def test_kept_writes_are_carried_for_the_call_that_waited(written: Any) -> None:
    run, files, _, _ = written
    joined = tables.ask(tables.connect(run), JOINED.format(op="osd_write", file="kept"))
    served = {(op, sure) for _, op, _, _, kind, sure in joined if kind == "serves"}
    carried = {(offset, size) for _, op, offset, size, kind, _ in joined if kind == "carries"}
    assert served == {("fsync", 80)}
    assert carried == {(block * 10000, 10000) for block in range(40)}
    assert (files / "kept").read_bytes() == b"y" * 400_000


@pytest.mark.full
def test_bytes_of_each_osd_are_those_that_it_counted(written: Any) -> None:
    run, _, objects, _ = written
    connection = tables.connect(run)
    ours = dict(tables.ask(connection, OF_OSDS))
    notes = tables.ask(connection, "select detail from marks where kind = 'note'")
    numbers = [list(map(int, re.findall(r"\d+", detail))) for [detail] in notes]
    assert len(numbers) == cephfs.OSDS
    for osd, requests, counted, bytes_told, bytes_counted in numbers:
        assert requests >= counted  # one that fails is told and not counted
        assert bytes_told == bytes_counted
        assert ours.get(osd, 0) == bytes_counted
    for osd in set(objects.values()):
        data = OBJECT * sum(has == osd for has in objects.values())
        assert ours[osd] >= data


@pytest.mark.full
def test_queries_and_findings_name_the_slow_osd_and_its_calls(written: Any) -> None:
    run, _, objects, late = written
    slowest = fathom(
        "query", run, "latency", "operation", "max", "--view", "server", "--top", 0, "--json"
    )
    worst = max(slowest, key=lambda row: row["seconds"])
    assert worst["server_name"].endswith(f"/osd.{late}") and worst["seconds"] >= DELAY
    findings = fathom("show", run, "--findings", "--json")
    [finding] = [one for one in findings if one["finding"] == "slow-server"]
    assert f"/osd.{late}:" in finding["says"] and "its queue" in finding["says"]
    late_offsets = {n * UNIT for n in range(BLOCKS) if objects[object_of(n * UNIT)] == late}
    calls = ",".join(map(str, finding["calls"]))
    suffered = tables.ask(
        tables.connect(run),
        f"select distinct file_offset from calls where id in ({calls}) and op = 'pwrite'",
    )
    assert suffered and {offset for [offset] in suffered} <= late_offsets


@pytest.mark.full
def test_reads_are_joined_with_the_osd_that_they_waited_for(
    written: Any, started_ceph: cephfs.CephFS, tmp_path: Path
) -> None:
    _, files, objects, _ = written
    other = started_ceph.at / "node1" / files.name / "whole"  # a client that has nothing cached
    program = (
        "import os, sys\n"
        "file = os.open(sys.argv[1], os.O_RDONLY)\n"
        f"for block in range({BLOCKS - 1}, -1, -5): os.pread(file, {UNIT}, block * {UNIT})\n"
    )
    run = record(tmp_path, started_ceph, "read", sys.executable, "-c", program, other)
    joined = tables.ask(tables.connect(run), JOINED.format(op="osd_read", file="whole"))
    served = {
        (osd, offset) for osd, op, offset, _, kind, _ in joined if (op, kind) == ("pread", "serves")
    }
    wanted = {block * UNIT for block in range(BLOCKS - 1, -1, -5)}
    assert served == {(objects[object_of(offset)], offset) for offset in wanted}


#: Writes the blocks that it is told, each waiting for its OSD.
ANNOUNCED = f"""
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_SYNC)
for line in sys.stdin:
    os.pwrite(file, b"z" * {UNIT}, int(line) * {UNIT})
    print(line, end="", flush=True)
"""


@pytest.mark.full
def test_a_program_that_runs_is_attached_with_its_osds_and_released(
    written: Any, started_ceph: cephfs.CephFS, tmp_path: Path
) -> None:
    _, files, objects, late = written
    names = ("osd_op_history_size", "osd_op_history_duration")
    before = [setting(started_ceph, late, name) for name in names]
    words = [sys.executable, "-c", ANNOUNCED, str(files / "whole")]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:

        def writes(blocks: range) -> None:
            assert program.stdin and program.stdout
            for block in blocks:
                program.stdin.write(f"{block}\n")
                program.stdin.flush()
                assert program.stdout.readline() == f"{block}\n"

        try:
            writes(range(5))
            works(
                tmp_path, "attach", f"--ceph={started_ceph.at}/run", program.pid, "-o", "attached"
            )
            assert [setting(started_ceph, late, name) for name in names] != before
            writes(range(5, BLOCKS, 3))
            works(tmp_path, "detach", "attached")
            assert [setting(started_ceph, late, name) for name in names] == before
            writes(range(5))
        finally:
            assert program.stdin
            program.stdin.close()
    assert program.returncode == 0
    connection = tables.connect(tmp_path / "attached.fathom")
    joined = tables.ask(connection, JOINED.format(op="osd_write", file="whole"))
    served = {
        (osd, offset)
        for osd, op, offset, _, kind, _ in joined
        if (op, kind) == ("pwrite", "serves")
    }
    wanted = {block * UNIT for block in range(5, BLOCKS, 3)}
    assert served == {(objects[object_of(offset)], offset) for offset in wanted}


def test_where_no_osd_is_there_is_a_line_and_no_run(tmp_path: Path) -> None:
    words = [paths.FATHOM, "run", f"--ceph={tmp_path}", "-o", tmp_path / "none", "--", "true"]
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.returncode == 125
    assert done.stderr.startswith(f"fathom: --ceph: {tmp_path}: no admin socket of an OSD")
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
