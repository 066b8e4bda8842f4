"""What a run-time does is apart from the program: its files are the ones that it names itself, and one line says how
much was left out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import landscape
from harness import generated, needs, paths

SCRIPT = """\
import csv, json, sys
for name in sys.argv[1:]:
    with open(name, "wb") as file:
        file.write(bytes(4096))
"""
#: Functions that the program called itself on sockets and queues of events.
MESSAGES = (
    "select distinct c.op from counters as c join files as f using (file)"
    " where enclosing is null and (f.kind = 'socket' or f.path like 'anon_inode:%')"
)
REGULAR = "select path, runtime from files where kind = 'regular' or path like '/dev/%' or path like '/proc/%'"


def recorded(folder: Path, *command: object) -> Path:
    run = folder / "r.fathom"
    words = [str(word) for word in (paths.FATHOM, "run", "--no-show", "-o", run, "--", *command)]
    # What is written to them is the program's too.
    with (folder / "out").open("wb") as out:
        subprocess.run(words, stdout=out, stderr=out, cwd=folder, timeout=300, check=True)
    return run


def regular(run: Path, with_runtime: bool = False) -> set[str]:
    rows = fathom.open(run, with_runtime=with_runtime).sql(REGULAR)
    # OMPIO makes a file beside each that it opens, to try locks on.
    return {path for path in rows["path"].to_pylist() if not re.search(r"/out$|\.locktest\.", path)}


def test_files_of_a_script_are_those_it_names(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    mine = Path(f"/dev/shm/mine.{os.getpid()}")  # memory, but the program's
    try:
        run = recorded(tmp_path, sys.executable, "script.py", "a", mine)
    finally:
        mine.unlink()
    assert regular(run) == {str(tmp_path / "a"), str(tmp_path / "script.py"), str(mine)}
    left = regular(run, with_runtime=True) - regular(run)
    assert any("/json/" in path for path in left), "the interpreter's modules"


def test_what_a_shell_does_to_start_others_is_not_the_programs(tmp_path: Path) -> None:
    run = recorded(tmp_path, "sh", "-c", "dd if=/dev/zero of=a bs=4096 count=3; exit 0")
    assert regular(run) == {str(tmp_path / "a")}
    seen = fathom.open(run).sql("select sum(bytes) as n from counters where op = 'write'")
    assert seen["n"].to_pylist() == [3 * 4096]


def test_what_copies_the_modules_of_an_interpreter_has_read_them(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "some"
    package.mkdir(parents=True)
    for number in range(20):
        (package / f"m{number}.py").write_bytes(bytes(1000))
    run = recorded(tmp_path, "tar", "cf", "made.tar", "site-packages")
    assert regular(run) == {str(file) for file in package.iterdir()} | {str(tmp_path / "made.tar")}


@pytest.mark.parametrize("named", ["on its command line", "as where it works"])
def test_what_copies_files_of_the_system_has_read_them(tmp_path: Path, named: str) -> None:
    folder, made = Path("/usr/include/linux"), tmp_path / "made.tar"
    here = named == "as where it works"
    move = ["env", "-C", folder] if here else []
    run = recorded(tmp_path, *move, "tar", "-cPf", made, "." if here else folder)
    headers = {str(file) for file in folder.rglob("*.h") if not file.is_symlink()}
    assert len(headers) > 20 and headers <= regular(run)


def test_who_reads_a_disk_does_so_himself(tmp_path: Path) -> None:
    disks = (one for one in Path("/dev").iterdir() if one.is_block_device())
    disk = next((one for one in disks if os.access(one, os.R_OK)), None)
    if not disk:
        pytest.skip("no disk may be read here")
    run = recorded(tmp_path, "dd", f"if={disk}", "of=a", "bs=4096", "count=1")
    files = fathom.open(run).sql("select path from files where kind = 'block'")
    assert files["path"].to_pylist() == [str(disk)]


@pytest.mark.parametrize("mpi", ["mpich", "ompio"])
def test_an_mpi_program_has_the_files_it_wrote(tmp_path: Path, mpi: str) -> None:
    needs.require(needs.of_mpi(mpi))
    kernel = paths.PROGRAMS.parent / "kernels" / f"s3d_mpiio_{needs.MPI[mpi]}"
    data = tmp_path / "data"
    data.mkdir()
    small = ("-c", "1", "16", "16", "16", "2", "2", "1")
    run = recorded(tmp_path, *generated.LAUNCH[mpi], "-n", 4, kernel, *small, data)
    written = {str(path) for path in data.iterdir()}
    assert written and regular(run) == written
    assert not fathom.open(run).sql(MESSAGES).num_rows
    if mpi == "ompio":
        told = fathom.open(run, with_runtime=True).sql(MESSAGES)["op"].to_pylist()
        assert {"read", "writev"} <= set(told)
    opened = fathom.open(run)
    edges = "select op from counters where op like 'MPI_Init%' or op = 'MPI_Finalize'"
    assert opened.sql(edges).num_rows == 0
    left = opened.sql("from beside").to_pylist()[0]
    assert left["files"] > 20 and left["calls"] > 100 and left["time"] > 0
    size = sum(path.stat().st_size for path in data.iterdir())
    moved = "select sum(bytes)::bigint as n from {} where layer = 'posix' and {} = 'write'"
    data_of = f"{moved} and file in (select file from files where kind = 'regular')"
    assert opened.sql(data_of.format("counters", "kind"))["n"][0].as_py() == size
    # Nor is the memory that ranks share to talk among what moved over time; sockets are.
    talk = opened.sql(moved.format("counters", "kind"))["n"][0].as_py() - size
    assert opened.sql(moved.format("heat", "operation"))["n"][0].as_py() == size + talk
    assert talk < 65536
    row = landscape.row(opened)
    assert row["layers"] == ["mpiio", "<posix"]
    assert row["opens"] <= 4 * 3 * len(written)


def test_one_line_says_how_much_and_all_puts_it_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    run = recorded(tmp_path, sys.executable, "script.py", "a")
    assert main(["show", str(run), "--all"]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "left out: " in one]
    assert "--with-runtime puts them in" in line
    everything = fathom.open(run, with_runtime=True).sql("select sum(calls) as n from counters")
    own = fathom.open(run).sql("select sum(calls) as n from counters")
    (beside,) = fathom.open(run).sql("from beside").to_pylist()
    assert everything["n"][0].as_py() == own["n"][0].as_py() + beside["calls"]
    assert f"{beside['calls']:,} calls on {beside['files']:,} files" in line
    assert main(["show", str(run), "--all", "--with-runtime"]) == 0
    assert "left out: " not in capsys.readouterr().out
    for words in (("query", "--sql", "from files"), ("patterns",)):
        assert main([words[0], str(run), "--with-runtime", *words[1:]]) == 0


@pytest.mark.parametrize("command", ["landscape", "diff"])
def test_runs_side_by_side_say_it_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    run = recorded(tmp_path, sys.executable, "script.py", "a")
    (beside,) = fathom.open(run).sql("from beside").to_pylist()
    assert main([command, str(run), str(run)]) == 0
    times = 2 if command == "diff" else 1  # a landscape has each run once
    page = capsys.readouterr().out
    assert f"left out: {times * beside['calls']:,} calls on {times * beside['files']:,} f" in page
    assert main([command, str(run), str(run), "--with-runtime"]) == 0
    assert "left out: " not in capsys.readouterr().out
    assert main([command, str(run), str(run), "--with-runtime", "--json"]) == 0
    (everything,) = (
        fathom.open(run, with_runtime=True)
        .sql("select sum(calls) as calls from counters where layer = 'posix'")
        .to_pylist()
    )
    content = json.loads(capsys.readouterr().out)
    if command == "diff":
        layers = {row["layer"]: row["calls_b"] for row in content["layer"]}
        assert layers["posix"] == everything["calls"]
    else:
        assert content["runs"][0]["left_out_calls"] == 0


def test_a_program_that_moves_nothing_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded(tmp_path, "cat", "/proc/self/status")
    assert main(["show", str(run), "--all"]) == 0
    assert "left out: " in capsys.readouterr().out
