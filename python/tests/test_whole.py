"""From a program to the page, with the parts as built."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import fathom
import pytest
from fathom.__main__ import main
from fathom.errors import DamagedRun

ROOT = Path(__file__).resolve().parents[2]
PARTS = [ROOT / "build" / "fathom", ROOT / "build" / "libfathom.so",
         ROOT / "engine" / "target" / "release" / "fathom-engine"]  # fmt: skip
pytestmark = pytest.mark.skipif(
    not all(part.is_file() for part in PARTS), reason="not built: make build"
)


def test_a_program_and_its_page(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(100_000))
    words = ["run", "-o", "copy", "--", "cp", "in", "out"]
    done = subprocess.run(
        [PARTS[0], *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert "POSIX" in done.stderr
    assert done.stderr.endswith(f"fathom: run directory {tmp_path}/copy.fathom\n")
    run = fathom.open(tmp_path / "copy")
    moved = run.sql(
        "select f.path, c.kind, sum(bytes)::bigint as bytes from counters c join files f using (file)"
        " where starts_with(f.path, $place) and bytes > 0 group by all order by all",
        place=str(tmp_path),
    )
    bytes_of = {(Path(row["path"]).name, row["kind"]): row["bytes"] for row in moved.to_pylist()}
    # cp may copy by read and write, or let the kernel do it; either way every byte is seen to arrive.
    assert bytes_of["out", "write"] == 100_000
    manifest = json.loads((tmp_path / "copy.fathom" / "run.json").read_text())
    assert "posix" in manifest["layers_fired"]
    assert not Path(manifest["configuration"]["ring"]).exists()


def test_a_killed_program_is_read_to_its_last_call(tmp_path: Path) -> None:
    script = (
        "import os\nfd = os.open('out', os.O_CREAT | os.O_WRONLY)\n"
        "for i in range(1000): os.pwrite(fd, b'12345678', 8 * i)\nos.kill(os.getpid(), 9)\n"
    )
    words = ["run", "--no-show", "-o", "killed", "python3", "-c", script]
    done = subprocess.run([PARTS[0], *words], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == -9
    run = fathom.open(tmp_path / "killed")
    writes = run.sql(
        "select count(*) as n, max(file_offset) as last from calls where op = 'pwrite'"
    )
    assert writes.to_pylist() == [{"n": 1000, "last": 7992}]
    assert "killed" in run.table("processes")["ended"].to_pylist()
    manifest = json.loads((tmp_path / "killed.fathom" / "run.json").read_text())
    assert manifest["exit"] == {"signal": 9}
    assert not Path(manifest["configuration"]["ring"]).exists()


def test_a_read_only_run_is_read_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["run", "--no-show", "-o", "kept", "true"]
    subprocess.run([PARTS[0], *words], cwd=tmp_path, capture_output=True, check=True)
    assert fathom.open(tmp_path / "kept").table("runs").num_rows == 1
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert fathom.open(tmp_path / "kept").table("runs").num_rows == 1


def test_deleted_tables_are_made_again(tmp_path: Path) -> None:
    words = ["run", "--no-show", "-o", "x", "--", "cp", "/proc/self/status", "out"]
    subprocess.run([PARTS[0], *words], cwd=tmp_path, capture_output=True, check=True)
    directory = tmp_path / "x.fathom"
    before = fathom.open(directory).table("calls").num_rows
    files = sorted((directory / "tables").rglob("*"))
    for name in (
        "hints_in_force.parquet",
        "streams.parquet",
        "heat.parquet",
        "calls",
        "calls/*.parquet",
    ):
        for path in (directory / "tables").glob(name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert fathom.open(directory).table("calls").num_rows == before
        assert sorted((directory / "tables").rglob("*")) == files
    packed_at = (directory / "tables" / "runs.parquet").stat().st_mtime_ns
    fathom.open(directory)
    assert (directory / "tables" / "runs.parquet").stat().st_mtime_ns == packed_at  # and not again
    stream = next(directory.glob("streams/*/*.fts"))
    stream.rename(tmp_path / "aside")
    (directory / "tables" / "ops.parquet").unlink()
    files = sorted((directory / "tables").rglob("*"))
    with pytest.raises(
        DamagedRun, match="no table ops, and the streams it was made of are gone too"
    ):
        fathom.open(directory)
    assert sorted((directory / "tables").rglob("*")) == files  # what is left is not packed away
    assert main(["pack", str(directory)]) == 3
    assert sorted((directory / "tables").rglob("*")) == files
    (tmp_path / "aside").rename(stream)
    assert fathom.open(directory).table("calls").num_rows == before


def test_streams_that_are_gone_take_no_tables_with_them(tmp_path: Path) -> None:
    """To save space, the streams of a packed run may be deleted."""
    words = ["run", "--no-show", "-o", "x", "--", "cp", "/proc/self/status", "out"]
    subprocess.run([PARTS[0], *words], cwd=tmp_path, capture_output=True, check=True)
    directory = tmp_path / "x.fathom"
    before = fathom.open(directory).table("calls").num_rows
    for stream in directory.glob("streams/*/*.fts"):
        stream.unlink()
    assert fathom.open(directory).table("calls").num_rows == before > 0
    shutil.rmtree(directory / "streams")
    assert fathom.open(directory).table("calls").num_rows == before
