"""Questions asked of workers in parts, and tiles that they make: all is what one process gives; what is wrong with a
cluster is said."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import fathom
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fathom.__main__ import main
from fathom.analysis.latency import language, model
from fathom.analysis.latency.segment import Segment
from fathom.errors import DamagedRun, RunError, UsageError
from fathom.run import cluster, database, packing
from fathom.run.engine import ask
from fathom.run.store import Run
from fathom.webapi.tiles import build, geometry, statements
from harness import grown, needs, nodes
from test_shares import left, parted, small

WORKERS = 2
QUERIES = (
    "latency breakdown inclusive",
    "latency breakdown exclusive [3-40]",
    "latency operation list",
    "latency operation max",
    "latency operation min [-] [-] [0-1]",
    "latency operation avg [-] [-] [-] [0]",
    "throughput",
    "energy 11.5 8",
    "call [0-33,50]",
    "latency collective",
)
QUICK = QUERIES[1], QUERIES[6], QUERIES[9]
PARTIAL = "select op, count(*) as calls, max(duration) as longest from calls group by op"
WHOLE = "select op, sum(calls)::bigint as calls, max(longest) as longest from partials group by op order by op"


@pytest.fixture(scope="module")
def workers() -> Iterator[cluster.Workers]:
    """Processes of this machine; one that ends is started anew, however long that takes."""
    needs.require(["python:distributed"])
    import dask

    hasty = dask.config.set({"distributed.deploy.lost-worker-timeout": "10ms"})
    with hasty, cluster.workers(f"local:{WORKERS}") as started:
        yield started


@pytest.fixture
def spread(
    grown_run: grown.Grown, workers: cluster.Workers, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """A run of 64 ranks, asked in parts."""
    monkeypatch.setattr(cluster, "LEAST", 5000)
    run = fathom.open(grown_run.path)
    run.workers = workers
    return run


def views(
    run: Run, query: str, segment: Segment | None = None, top: int = 50
) -> dict[str, pa.Table]:
    answer = model.answer(run, language.parse(query), segment or Segment(), top)
    return {**answer.views, "servers": answer.servers, "layers": answer.layers}


@pytest.mark.parametrize(
    "query",
    [pytest.param(query, marks=[] if query in QUICK else [pytest.mark.full]) for query in QUERIES],
)
def test_answers_are_those_of_one_process(spread: Run, query: str) -> None:
    before = spread.workers.parts  # type: ignore[union-attr]
    alone = fathom.open(spread.path)
    assert views(spread, query) == views(alone, query)
    asked = spread.workers.parts - before  # type: ignore[union-attr]
    assert asked > WORKERS


def test_of_a_part_of_the_run(spread: Run) -> None:
    segment = Segment(time=(2.0, 9.5), function="H5Dwrite")
    alone = fathom.open(spread.path)
    assert views(spread, "throughput", segment, 7) == views(alone, "throughput", segment, 7)


def test_own_sql_in_parts(spread: Run) -> None:
    alone = fathom.open(spread.path)
    assert spread.in_parts(PARTIAL, WHOLE) == alone.in_parts(PARTIAL, WHOLE)
    parts = spread.in_parts(
        "select count(*) as n from calls",
        "select count(*) as parts, sum(n)::bigint as n from partials",
    )
    ((parts_read, calls),) = (row.values() for row in parts.to_pylist())
    assert (
        parts_read > WORKERS
        and calls == alone.sql("select count(*) as n from calls")["n"][0].as_py()
    )


def test_a_rank_is_never_in_two_parts(spread: Run) -> None:
    rows = spread.in_parts(
        "select distinct rank from calls",
        "select count(*) as n, count(distinct rank) as ranks from partials",
    )
    assert rows.to_pylist() == [{"n": 64, "ranks": 64}]


def test_which_files_a_part_reads(spread: Run) -> None:
    files = cluster._files(str(spread.path / "tables"), (0, 0))
    assert files
    for file, held in files:
        seen = pq.read_table(file, columns=["process"])["process"].to_pylist()
        assert held == range(min(seen), max(seen) + 1)
        assert all(cluster.Piece((process,)).meets(held) for process in set(seen))
        assert not cluster.Piece((held.stop, held.stop + 9)).meets(held)


def test_a_mistake_in_sql_is_told_as_ever(spread: Run) -> None:
    with pytest.raises(UsageError, match="nonsense"):
        spread.in_parts("select nonsense from calls", WHOLE)
    with pytest.raises(UsageError, match="only reading"):
        spread.in_parts("create table x as select 1", WHOLE)


@contextmanager
def killing(workers: cluster.Workers, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One of two ends while it is asked; it is started anew."""
    first = min(workers.client.run(os.getpid).values())
    goes_on = cluster.Workers._wait

    def kill(self: cluster.Workers, futures: list[object]) -> None:
        os.kill(first, signal.SIGKILL)
        monkeypatch.setattr(cluster.Workers, "_wait", goes_on)
        goes_on(self, futures)

    monkeypatch.setattr(cluster.Workers, "_wait", kill)
    yield
    workers.client.wait_for_workers(WORKERS, timeout=300)
    assert first not in workers.client.run(os.getpid).values()


def test_a_worker_that_is_killed(
    spread: Run, workers: cluster.Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others take its parts."""
    alone = fathom.open(spread.path).in_parts(PARTIAL, WHOLE)
    with killing(workers, monkeypatch):
        assert spread.in_parts(PARTIAL, WHOLE) == alone


def tiles(run: Path, file: Path, workers: cluster.Workers | None = None) -> pa.Table:
    """Made in this file; nothing else of them is left."""
    build.make(run / "tables", file, workers=workers)
    assert not list((run / "tables").glob("fathom-tiles-*"))
    return pq.read_table(file)


@pytest.fixture
def four(recorded_chombo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of four ranks, each a part."""
    monkeypatch.setattr(cluster, "LEAST", 100)
    return recorded_chombo


def same_tiles(run: Path, tmp_path: Path, workers: cluster.Workers) -> None:
    """Cell by cell, in the same order."""
    one, before = tiles(run, tmp_path / "one"), workers.parts
    levels = set(one["z"].to_pylist())
    assert one == tiles(run, tmp_path / "parts", workers) and len(levels) > 1
    assert workers.parts - before > WORKERS * len(levels)


def test_tiles_are_those_of_one_process(
    four: Path, workers: cluster.Workers, tmp_path: Path
) -> None:
    same_tiles(four, tmp_path, workers)


def test_tiles_whose_rows_are_several_ranks(
    spread: Run, workers: cluster.Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of 1,024 ranks; their cells are counted in every eighth row, as of a million calls: all ways as many."""
    monkeypatch.setattr(geometry, "ROWS", 4)
    monkeypatch.setattr(build, "MANY", 1000)
    same_tiles(spread.path, tmp_path, workers)
    tables = spread.path / "tables"
    with database.connect(tables) as con:
        cut, calls = build._of(con)
        alone, parts = (build.Source(con, tables, tmp_path, who) for who in (None, workers))
        for zoom in (cut.zoom(2), cut.zoom(3)):
            text = statements.count(zoom, 1000 * calls, 8)
            assert alone.number(zoom, text) == parts.number(zoom, text) > calls


def test_tiles_while_a_worker_is_killed(
    four: Path, workers: cluster.Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, keep = tiles(four, tmp_path / "one"), build.Source.keep

    def killed(*asked: Any) -> None:
        with killing(workers, monkeypatch):
            keep(*asked)

    monkeypatch.setattr(build.Source, "keep", killed)
    assert one == tiles(four, tmp_path / "parts", workers)


def test_tiles_that_fail_leave_nothing(
    four: Path, workers: cluster.Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {path.name for path in (four / "tables").iterdir()}
    monkeypatch.setattr(statements, "file", lambda _: "select nonsense")
    with pytest.raises(DamagedRun, match="nonsense"):
        tiles(four, tmp_path / "parts", workers)
    monkeypatch.setattr(statements, "cells", lambda *_: "cells as (select nonsense)")
    with pytest.raises(UsageError, match="nonsense"):
        tiles(four, tmp_path / "parts", workers)
    assert not list(tmp_path.iterdir())
    assert there == {path.name for path in (four / "tables").iterdir()}


def test_a_run_is_prepared_by_workers(
    recorded_chombo: Path, workers: cluster.Workers, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    run = Path(shutil.copytree(recorded_chombo, tmp_path / "r.fathom"))
    where = workers.client.scheduler.address.removeprefix("tcp://")
    assert main(["view", str(run), "--prepare", "--cluster", where]) == 0
    assert f"parts on {WORKERS} workers" in capsys.readouterr().err
    assert pq.read_table(run / "tables" / "tiles.parquet") == tiles(run, tmp_path / "one")


def unpacked(recorded: Path, place: Path) -> Path:
    return Path(shutil.copytree(recorded, place, ignore=shutil.ignore_patterns("tables")))


def test_a_run_is_packed_by_workers(
    recorded_chombo: Path, workers: cluster.Workers, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """One of which is killed in each step; the tables and tiles are those of one process."""
    run, alone = (unpacked(recorded_chombo, tmp_path / at / "r.fathom") for at in "ab")
    share = cluster.Workers.share

    def killed(self: cluster.Workers, do: Any, parts: Any) -> Any:
        with killing(workers, monkeypatch) if do is packing.share else nullcontext():
            return share(self, do, parts)

    monkeypatch.setattr(cluster.Workers, "share", killed)
    where = workers.client.scheduler.address.removeprefix("tcp://")
    assert main(["pack", str(run), "--cluster", where]) == 0
    assert "fathom: packed by " in capsys.readouterr().err
    assert main(["pack", str(alone)]) == 0
    tiled = [pq.read_table(one / "tables" / "tiles.parquet") for one in (run, alone)]
    assert tiled[0] == tiled[1]
    for one in (run, alone):
        (one / "tables" / "tiles.parquet").unlink()  # says when tables were made
    assert (small(run), parted(run)) == (small(alone), parted(alone))
    assert left(run) == ["tables"]
    assert main(["pack", str(run), "--cluster", where]) == 0
    assert "packed" not in capsys.readouterr().err


def test_a_run_that_is_packed_again(
    recorded_chombo: Path, workers: cluster.Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that answered for the tables before ask the new ones: the last rank is gone."""
    run = unpacked(recorded_chombo, tmp_path / "r.fathom")
    monkeypatch.setattr(cluster, "LEAST", 100)
    last = "select pid from processes order by process desc limit 1"
    answers = []
    for _ in range(2):
        assert main(["pack", str(run), "--force"]) == 0
        opened, alone = fathom.open(run), fathom.open(run)
        opened.workers = workers
        answers.append(opened.in_parts(PARTIAL, WHOLE))
        assert answers[-1] == alone.in_parts(PARTIAL, WHOLE)
        for stream in run.glob(f"streams/*/{alone.sql(last)['pid'][0]}.*"):
            stream.unlink()
    assert answers[0] != answers[1]


def test_a_pack_that_workers_cannot_do(
    recorded_chombo: Path, workers: cluster.Workers, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    run = unpacked(recorded_chombo, tmp_path / "r.fathom")
    setting = "import os; os.environ['FATHOM_ENGINE'] = '{}'"
    workers.client.run(exec, setting.format("/nowhere/fathom-engine"))
    where = workers.client.scheduler.address.removeprefix("tcp://")
    try:
        assert main(["pack", str(run), "--cluster", where]) == 3
    finally:
        workers.client.run(exec, setting.format(""))
    errors = capfd.readouterr().err
    host = socket.gethostname()
    assert errors == (
        f"fathom-engine: {host}: FATHOM_ENGINE names /nowhere/fathom-engine, which is no file\n"
    )
    assert left(run) == []


def test_a_run_without_a_call_is_packed_by_workers(
    workers: cluster.Workers, tmp_path: Path
) -> None:
    run = tmp_path / "r.fathom"
    (run / "streams").mkdir(parents=True)
    where = workers.client.scheduler.address.removeprefix("tcp://")
    assert main(["pack", str(run), "--cluster", where]) == 0
    assert pq.read_table(run / "tables" / "tiles.parquet").num_rows == 0


def hears_interrupts() -> None:
    """In the background of a shell processes begin without."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_pack_that_is_interrupted(
    recorded_chombo: Path, workers: cluster.Workers, tmp_path: Path, number: signal.Signals
) -> None:
    """As from a terminal or a batch system, which tell all processes: nothing of it is left."""
    run = unpacked(recorded_chombo, tmp_path / "r.fathom")
    engine, pids = tmp_path / "engine", tmp_path / "pids"
    pids.touch()
    engine.write_text(f"#!/bin/sh\necho $$ >> '{pids}'; exec sleep 60\n")
    engine.chmod(0o755)
    setting = "import os; os.environ['FATHOM_ENGINE'] = '{}'"
    workers.client.run(exec, setting.format(engine))
    where = workers.client.scheduler.address.removeprefix("tcp://")
    words = [sys.executable, "-m", "fathom", "pack", run, "--cluster", where]
    try:
        with subprocess.Popen(
            words, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=hears_interrupts
        ) as asked:
            assert asked.stderr
            while asked.poll() is None and pids.read_text().count("\n") < WORKERS:
                time.sleep(0.05)
            assert left(run) != []
            os.killpg(asked.pid, number)
            errors = asked.stderr.read()
        assert asked.returncode == 128 + number
        assert errors == b"fathom-engine: shares: who gives them to others has gone\n"
        assert left(run) == []
    finally:
        workers.client.run(exec, setting.format(""))
        for pid in pids.read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is started from here later would have one thread."""
    needs.require(["python:distributed"])
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = dict(os.environ)
    with cluster.workers("local:1"):
        pass
    assert dict(os.environ) == before


def test_a_share_whose_engine_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where memory is short: it could say nothing."""
    engine = tmp_path / "engine"
    engine.write_text("#!/bin/sh\nkill -9 $$\n")
    engine.chmod(0o755)
    monkeypatch.setenv("FATHOM_ENGINE", str(engine))
    with pytest.raises(RunError, match="fathom-engine pack-share ended with signal 9"):
        ask(["pack-share"], "")


def test_how_many_workers_there_are(
    workers: cluster.Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the client looked by itself in between, which asks for no list of them."""
    looked = workers.client.scheduler_info
    monkeypatch.setattr(workers.client, "scheduler_info", lambda **_: looked(n_workers=0))
    assert workers.number == WORKERS
    assert cluster.counted(1, "worker") == "1 worker"


def refused(capsys: pytest.CaptureFixture[str], run: Path, *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(["query", str(run), *words]))
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "words_of_error"),
    [
        (["throughput", "--cluster", "nowhere"], "--cluster nowhere: it is local, local:WORKERS"),
        (["throughput", "--cluster", "local:0"], "--cluster local:0: it is local"),
        (["throughput", "--cluster", "no.json"], "--cluster no.json: no such scheduler file"),
        (["throughput", "--cluster", "127.0.0.1:9"], "no scheduler of Dask answers there"),
        (["throughput", "--cluster", "a\nb.json"], r"--cluster a\nb.json: no such scheduler file"),
        (["--cluster", "local", "--sql", PARTIAL], "needs --combine TEXT"),
        (["throughput", "--combine", WHOLE], "a query or SQL, not both"),
    ],
)
def test_what_is_no_cluster(
    grown_run: grown.Grown, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    words: list[str], words_of_error: str,
) -> None:  # fmt: skip
    needs.require(["python:distributed"])
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    assert words_of_error in refused(capsys, grown_run.path, *words)


@pytest.mark.parametrize("text", ["", '{"type": "Sch', "[1]", '{"address": 5}'])
def test_what_is_no_scheduler_file(
    grown_run: grown.Grown, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path, text: str,
) -> None:  # fmt: skip
    """Or not yet: it is waited for."""
    needs.require(["python:distributed"])
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    file = tmp_path / "s.json"
    file.write_text(text)
    message = refused(capsys, grown_run.path, "throughput", "--cluster", str(file))
    assert "no scheduler file: it names no address" in message


def test_dask_is_missing(
    grown_run: grown.Grown,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = refused(capsys, grown_run.path, "throughput", "--cluster", "local")
    assert (
        "--cluster needs a package that is not installed: " in message
        and "pip install 'fathom-io[dask]'" in message
    )


@contextmanager
def scheduler(place: Path) -> Iterator[Path]:
    """One of its own, known by its file."""
    file = place / "scheduler.json"
    words = [
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(file),
    ]
    with (place / "scheduler.log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-m", "dask", *words], stderr=log)
    try:
        end = time.monotonic() + 120
        while not file.exists():
            assert process.poll() is None and time.monotonic() < end, (
                place / "scheduler.log"
            ).read_text()
            time.sleep(0.1)
        yield file
    finally:
        process.kill()
        process.wait()


def worker(file: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "dask",
        "worker",
        "--scheduler-file",
        str(file),
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
    ]


@pytest.mark.full
def test_workers_that_are_not_there_or_go(
    grown_run: grown.Grown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.require(["python:distributed"])
    monkeypatch.setattr(cluster, "PATIENCE", 3.0)
    with scheduler(tmp_path) as file:
        with (
            pytest.raises(UsageError, match="its scheduler has no worker"),
            cluster.workers(str(file)),
        ):
            pass
        process = subprocess.Popen(worker(file), stderr=subprocess.DEVNULL)
        try:
            monkeypatch.setattr(cluster, "PATIENCE", 120.0)
            with cluster.workers(str(file)) as started:
                run = fathom.open(grown_run.path)
                run.workers = started
                assert run.in_parts(PARTIAL, WHOLE) == fathom.open(grown_run.path).in_parts(
                    PARTIAL, WHOLE
                )
                monkeypatch.setattr(cluster, "PATIENCE", 1.0)
                process.kill()
                with pytest.raises(RunError, match="all of its workers have gone"):
                    run.in_parts(PARTIAL, WHOLE)
        finally:
            process.kill()
            process.wait()


def test_a_scheduler_that_goes(workers: cluster.Workers) -> None:
    """Dask gives up after a while, and then answers nothing."""
    from distributed import Client

    with Client(workers.client.scheduler.address, set_as_default=False) as client:
        lonely = cluster.Workers(client)
        assert lonely.share(len, [((),)]) == [0]
        client.close()
        with pytest.raises(RunError, match="its scheduler has gone; nothing was answered"):
            lonely.share(len, [((),)])
        assert lonely.summary() == "cluster: its scheduler has gone; nothing was answered"


@pytest.mark.full
def test_workers_on_the_nodes_of_a_slurm_job(
    grown_run: grown.Grown, recorded_chombo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/scale.md has it: srun starts them, the scheduler's file says where."""
    needs.require(["python:distributed"])
    monkeypatch.setattr(cluster, "PATIENCE", 120.0)
    with nodes.slurm(tmp_path / "c", ["one", "two"]) as slurm, scheduler(tmp_path) as file:
        words = ["srun", "-N", "2", "-n", "2", "--ntasks-per-node=1", *worker(file)]
        job = subprocess.Popen(words, env=slurm.environment(), stderr=subprocess.DEVNULL)
        try:
            with cluster.workers(str(file)) as started:
                started.client.wait_for_workers(2, timeout=300)
                assert hosts(started) == {"one", "two"}
                assert_equal_answers(started, grown_run.path)
                run = unpacked(recorded_chombo, tmp_path / "r.fathom")
                packing.pack(run, [], started)
                assert parted(run) == parted(recorded_chombo)
        finally:
            job.terminate()
            job.wait()


def hosts(started: cluster.Workers) -> set[str]:
    """Where its workers are."""
    return {answer.nodename for answer in started.client.run(os.uname).values()}


def assert_equal_answers(started: cluster.Workers, path: Path) -> None:
    run, alone = fathom.open(path), fathom.open(path)
    run.workers = started
    assert views(run, "throughput") == views(alone, "throughput")


@pytest.mark.full
def test_workers_below_mpiexec(
    grown_run: grown.Grown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dask-mpi: one rank is the scheduler, whose file is waited for. mpi4py of PyPI finds Open MPI here."""
    needs.require(["python:dask_mpi", "python:mpi4py", "mpiexec.openmpi"])
    monkeypatch.setattr(cluster, "PATIENCE", 120.0)
    file = tmp_path / "s.json"
    launch = ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "3"]
    words = ["-m", "dask_mpi.cli", "--scheduler-file", str(file), "--nthreads", "1"]
    words += ["--local-directory", str(tmp_path)]
    with (tmp_path / "log").open("w") as log:
        job = subprocess.Popen([*launch, sys.executable, *words], stdout=log, stderr=log)
    try:
        with cluster.workers(str(file)) as started:
            started.client.wait_for_workers(2, timeout=300)
            assert_equal_answers(started, grown_run.path)
    finally:
        job.terminate()
        job.wait()


#: A program whose batch jobs are the workers, a node for each; they end with it.
JOBS = """
import sys
from dask_jobqueue import SLURMCluster
with SLURMCluster(
    cores=1, job_cpu=8, memory="800MB", log_directory="log", local_directory=sys.argv[1]
) as cluster:
    cluster.scale(2)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.mark.full
def test_workers_that_are_batch_jobs(
    grown_run: grown.Grown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dask-jobqueue: from Python, by sbatch."""
    needs.require(["python:dask_jobqueue", "sbatch", "squeue"])
    monkeypatch.setattr(cluster, "PATIENCE", 120.0)
    with nodes.slurm(tmp_path / "c", ["one", "two"]) as slurm:
        asked = subprocess.Popen(
            [sys.executable, "-c", JOBS, tmp_path], cwd=tmp_path, env=slurm.environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert asked.stdin and asked.stdout
        try:
            with cluster.workers(asked.stdout.readline().strip()) as started:
                started.client.wait_for_workers(2, timeout=300)
                assert hosts(started) == {"one", "two"}
                assert_equal_answers(started, grown_run.path)
            asked.communicate(timeout=300)
            assert asked.returncode == 0
        finally:
            asked.kill()
            asked.wait()
