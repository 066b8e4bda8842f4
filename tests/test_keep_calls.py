"""`--keep-calls-if`: a run without a reason to keep its calls has the same sums afterwards, whenever it is stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from fathom.run import paths as installed
from harness import needs, nodes, paths

PROGRAM = (sys.executable, paths.ROOT / "tests" / "programs" / "keep_calls.py")
H5PY = """
import sys, h5py, numpy
with h5py.File(sys.argv[1], "w") as file:
    for step in range(20):
        data = file.create_dataset(f"step{step}", (200, 200), "f8", chunks=(20, 200))
        for row in range(200):
            data[row] = numpy.arange(200.0)
with h5py.File(sys.argv[1]) as file:
    print(sum(file[name][:].sum() for name in file))
"""
TABLES = ("counters", "tops", "heat", "files")
NEVER = "io>100%,errors,unfinished,failed"


def rows_of(statement: str) -> list[tuple[object, ...]]:
    return duckdb.connect().execute(statement).fetchall()


def run(
    *words: object, keep: str | None = None, slow: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """`slow`: where each access takes 20 µs, so that they lose more than a stall on a busy machine."""
    environment = os.environ | ({} if keep is None else {"FATHOM_KEEP_CALLS_IF": keep})
    if slow:
        store = str(paths.PROGRAMS / "tools" / "slow_store.so")
        environment |= {
            "LD_PRELOAD": store,
            "SLOW_STORE_UNDER": str(slow),
            "SLOW_STORE_LATENCY_US": "20",
        }
    return subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def engine(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in (installed.engine(), *words)],
        capture_output=True,
        text=True,
        check=True,
    )


def stream_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.glob("streams/*/*.fts"))


def calls(directory: Path) -> int:
    engine("pack", "--quiet", directory)
    ((count,),) = rows_of(f"select count(*) from '{directory}/tables/calls/*.parquet'")
    return int(str(count))


def assert_equal_sums(before: Path, after: Path) -> None:
    """But for what only rows of `calls` can say."""
    engine("pack", "--quiet", before)
    engine("pack", "--quiet", after)
    for table in TABLES:
        one, two = (f"'{run}/tables/{table}.parquet'" for run in (before, after))
        rest = "* exclude (recorded)" if table == "counters" else "*"
        for first, second in ((one, two), (two, one)):
            odd = rows_of(f"select {rest} from {first} except all select {rest} from {second}")
            assert not odd, f"{table}: {odd[:3]}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all its calls, of a process that was killed: its ring is a second file."""
    place = tmp_path_factory.mktemp("whole")
    directory = place / "whole.fathom"
    run("run", "--no-show", "-o", directory, "--", *PROGRAM, "hangs", place / "data")
    engine("pack", "--quiet", directory)
    return directory


@pytest.mark.parametrize("how", ["ends", "killed", "hangs"])
def test_sums_are_the_same(how: str, tmp_path: Path) -> None:
    before, after = tmp_path / "a.fathom", tmp_path / "b.fathom"
    run("run", "--no-show", "-o", before, "--", *PROGRAM, how, tmp_path / "data")
    engine("recover", before)
    shutil.copytree(before, after)
    said = engine("thin", after, "--keep-if", "io>100%").stderr
    assert "calls dropped" in said
    assert stream_bytes(after) < stream_bytes(before) / 2
    assert_equal_sums(before, after)
    assert calls(after) == (1 if how == "hangs" else 0)
    assert "calls dropped" in run("show", after, "--all").stdout


@pytest.mark.parametrize("program", ["ior", "h5py"])
def test_sums_of_real_programs_are_the_same(program: str, tmp_path: Path) -> None:
    if program == "ior":
        needs.require(needs.of_mpi("mpich"))
        kernel = paths.BUILD / "kernels" / "ior_posix_mpich"
        command = ["mpiexec.mpich", "-n", "2", kernel, "2000", "8192", "512", tmp_path]
    else:
        pytest.importorskip("h5py")
        command = [sys.executable, "-c", H5PY, tmp_path / "data.h5"]
    before, after = tmp_path / "a.fathom", tmp_path / "b.fathom"
    assert run("run", "--no-show", "-o", before, "--", *command).returncode == 0
    shutil.copytree(before, after)
    assert "calls dropped" in engine("thin", after, "--keep-if", NEVER).stderr
    assert stream_bytes(after) < stream_bytes(before)
    assert_equal_sums(before, after)


@pytest.mark.parametrize(
    ("keep", "how", "why"),
    [
        ("io>0%", "ends", "kept: I/O of"),
        ("io>100%", "ends", "dropped"),
        ("errors", "full", "kept: 1 call failed with EFBIG"),
        ("errors", "absent", "dropped"),
        ("unfinished", "hangs", "kept: 1 call never ended"),
        ("unfinished", "killed", "dropped"),
        ("failed", "fails", "kept: the program ended with status 3"),
        ("failed", "killed", "kept: signal 9 ended the program"),
        ("failed", "ends", "dropped"),
        ("finding>0s", "ends", "kept: the largest finding is worth"),
        ("finding>1000s", "ends", "dropped"),
    ],
)
def test_reasons(keep: str, how: str, why: str, tmp_path: Path) -> None:
    words = (*PROGRAM, how, tmp_path / "data")
    slow = tmp_path if keep.startswith("finding") else None
    done = run("run", "--no-show", "-o", tmp_path / "run", "--", *words, keep=keep, slow=slow)
    assert f"calls {why}" in done.stderr, done.stderr
    assert (calls(tmp_path / "run.fathom") > 20_000) == why.startswith("kept")


@pytest.mark.parametrize(
    ("keep", "wrong"), [("failed,slow", "slow"), ("io>x%", "io>x%"), ("failed,", "")]
)
def test_what_is_no_reason_is_one_line_and_nothing_starts(
    keep: str, wrong: str, tmp_path: Path
) -> None:
    done = run("run", "-o", tmp_path / "run", "--", "touch", tmp_path / "there", keep=keep)
    why = f"fathom: --keep-calls-if: '{wrong}' is no reason to keep calls; there are io>10%"
    assert (done.returncode, done.stderr.count("\n")) == (125, 1)
    assert done.stderr.startswith(why)
    assert list(tmp_path.iterdir()) == []


def test_questions_about_dropped_calls_say_why_there_are_none(tmp_path: Path) -> None:
    directory = tmp_path / "run.fathom"
    words = (*PROGRAM, "ends", tmp_path / "data")
    run("run", "--no-show", "-o", directory, "--", *words, keep="failed")
    rows = run("query", directory, "--csv", "--sql", "select count(*) as calls from calls")
    assert rows.stdout.split() == ["calls", "0"]
    assert "calls dropped: only their sums are kept: nothing failed" in rows.stderr
    none = run("query", directory, "latency", "breakdown", "inclusive")
    assert "calls stay only if failed: record it without --keep-calls-if" in none.stderr


#: Moments of a kill: the n-th of each of these calls.
CUTS = {"write": 1, "fsync": 2, "rename": 1, "unlink": 2, "unlinkat": 3}


@pytest.mark.parametrize("call", CUTS)
def test_a_kill_leaves_a_run_that_is_right(call: str, whole: Path, tmp_path: Path) -> None:
    needs.require(["strace"])
    for number in range(1, CUTS[call] + 1):
        after = tmp_path / f"{call}{number}.fathom"
        shutil.copytree(whole, after)
        inject = f"inject={call}:signal=KILL:when={number}"
        trace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
        words = [*trace, installed.engine(), "thin", after, "--keep-if", "io>100%"]
        subprocess.run([str(word) for word in words], capture_output=True, check=False)
        if (call, number) == ("unlink", 2):
            assert len(list(after.glob("streams/*/*.fts"))) == 2, "the new file beside the old one"
        assert_equal_sums(whole, after)
        assert calls(after) in (1, calls(whole))
        for _ in range(2):
            engine("thin", after, "--keep-if", "io>100%")
        assert_equal_sums(whole, after)
        assert calls(after) == 1
        assert len(list(after.glob("streams/*/*.fts*"))) == 1


def test_each_node_decides_for_itself(tmp_path: Path) -> None:
    """As ranks of a job step on two nodes, which share the run's directory."""
    needs.require(["namespaces"])
    pair = nodes.make(tmp_path, ["one", "two"], ["one", "two"])
    directory = tmp_path / "run.fathom"
    for rank, (node, how) in enumerate(zip(pair, ("absent", "full"), strict=True)):
        step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank)}
        environment = os.environ | step | {"FATHOM_KEEP_CALLS_IF": "errors"}
        words = ("run", "-o", directory, "--", *PROGRAM, how, tmp_path / how)
        command = node.command(paths.FATHOM, *words)
        subprocess.run(command, env=environment, capture_output=True, timeout=300, check=True)

    def streams(host: str) -> int:
        return sum(file.stat().st_size for file in directory.glob(f"streams/*-{host}/*.fts"))

    until = time.monotonic() + 60
    while streams("one") > streams("two") / 2 and time.monotonic() < until:
        time.sleep(0.1)
    engine("pack", "--quiet", directory)
    rows = rows_of(f"""
        select host, sum(events) > 20000 from '{directory}/tables/processes.parquet'
        join '{directory}/tables/nodes.parquet' using (node) group by host order by host
    """)
    assert rows == [("one", False), ("two", True)]
