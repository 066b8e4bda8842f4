"""Workers that feed a consumer are told from what they call: each way of Python, by the program's own count."""

from __future__ import annotations

import json
from pathlib import Path

import fathom
import pytest
from harness import exports, needs, paths

PROGRAM = paths.TESTS / "programs/loader.py"
FILES = 16 * 8


def samples(folder: Path) -> Path:
    folder.mkdir()
    for number in range(16):
        for at in range(8):
            (folder / f"sample.{number}.{at}").write_bytes(bytes(4096))
    return folder


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "way", ["queue", "poll", "pipe", "fork", "spawn", "forkserver", "executor", "dask", "joblib"]
)
def test_workers_lie_under_their_consumer(tmp_path: Path, way: str) -> None:
    needs.require({"dask": ["python:distributed"], "joblib": ["python:joblib"]}.get(way, []))
    data = samples(tmp_path / "data")
    told = tmp_path / "told"
    command = f'exec "{paths.PYTHON}" "{PROGRAM}" {way} "{data}" --workers 2 > "{told}"'
    run = fathom.open(exports.record(tmp_path, "--", "bash", "-c", command))
    count = {int(pid): size for pid, size in json.loads(told.read_text()).items()}
    rows = run.by("loader").to_pylist()
    consumer, *workers = rows
    assert not consumer["is_worker"] and all(row["is_worker"] for row in workers)
    assert all(row["consumer"] == consumer["process"] for row in workers)
    # Who was given nothing read nothing, and need not be there; scripts and settings are files, too.
    seen = {row["pid"]: row["bytes"] for row in workers}
    for pid, size in count.items():
        others = run.sql(
            "select coalesce(sum(c.bytes), 0)::bigint as n from counters as c join files as f using (file)"
            " join processes as p using (process)"
            " where p.pid = $pid and c.kind = 'read' and f.kind = 'regular' and not starts_with(f.path, $data)",
            pid=pid,
            data=str(data),
        )["n"][0].as_py()
        assert seen[pid] - others == size, way
    assert sum(count.values()) == FILES * 4096
    assert all(row["waits_by"] in (None, "main", "thread") for row in rows)


def test_a_program_alone_has_no_workers(tmp_path: Path) -> None:
    script = "import subprocess; subprocess.run(['true']); open('f', 'w').write('x'); print(open('f').read())"
    run = fathom.open(exports.record(tmp_path, "--", paths.PYTHON, "-c", script))
    assert run.by("loader").num_rows == 0
