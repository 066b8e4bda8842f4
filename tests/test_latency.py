"""IOPro's queries on real runs of S3D on 4 ranks, against what the run's calls add up to; where a slow store is."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis.latency import language, model
from fathom.analysis.latency.pieces import statement
from fathom.analysis.latency.segment import Segment
from fathom.run.store import Run
from harness import needs, paths
from harness.runner import LAUNCH, MPI, STACK_ENV

BUFFERED = "-m collective -H romio_cb_write=enable"
LATENCY_US = 3000


def traced(mpi: str, kernel: str, tmp: Path) -> Run:
    """S3D, two checkpoints, onto a store that keeps each write for 3 ms; communication in full."""
    needs.require(needs.of_mpi(mpi))
    program = paths.BUILD / "kernels" / f"{kernel}_{MPI[mpi]}"
    if not program.exists():
        pytest.skip(f"{program.name} is not built: its library is not installed")
    out = tmp / "out"
    out.mkdir()
    slow = paths.PROGRAMS / "tools" / "slow_store.so"
    command = [
        paths.FATHOM, "run", "--no-show", "--layers", "+mpi", "-o", tmp / "run", "--",
        *shlex.split(LAUNCH[mpi]), "-n", "4", "env", f"LD_PRELOAD={slow}:{paths.LIBRARY}",
        program, *BUFFERED.split(), *"-c 2 16 16 16 2 2 1".split(), out,
    ]  # fmt: skip
    store = {
        "SLOW_STORE_LATENCY_US": str(LATENCY_US),
        "SLOW_STORE_ONLY": "write",
        "SLOW_STORE_UNDER": str(out),
    }
    subprocess.run(
        command, check=True, timeout=300, capture_output=True, stdin=subprocess.DEVNULL,
        env={**os.environ, **STACK_ENV, **store},
    )  # fmt: skip
    return fathom.open(tmp / "run.fathom")


def ask(run: Run, text: str, segment: Segment | None = None) -> dict[str, list[dict[str, Any]]]:
    answer = model.answer(run, language.parse(text), segment or Segment(), 0)
    return {name: table.to_pylist() for name, table in answer.views.items()}


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def under(run: Run, op: str) -> dict[int, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Outermost calls of a function, each with all calls inside it, found by parents."""
    columns = "id, parent, rank, call, layer, op, kind, duration, nested, bytes"
    calls = {row["id"]: row for row in run.sql(f"select {columns} from calls").to_pylist()}
    roots: dict[int, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for call in calls.values():
        root = call
        while root["parent"] is not None:
            root = calls[root["parent"]]
        if root["op"] == op:
            roots.setdefault(root["id"], (root, []))[1].append(call)
    return roots


def check_own(run: Run) -> None:
    """What the packer says of the own call around each call is what climbing from parent to parent finds."""

    def rows(source: str) -> list[dict[str, Any]]:
        text = f"with recursive own as (from own_calls($regions, $talk)), {statement(source)}"
        columns = "id, own, own_duration, topmost, alone"
        text += f"select {columns} from inside_own where layer <> 'fathom' order by id"
        return run.sql(text, regions=True, talk=False).to_pylist()

    packed, climbed = rows("packed_own"), rows("climbed_own")
    requests = Counter(row["own"] for row in climbed if row["alone"] is not None)
    for row in climbed:
        row["alone"] = None if row["alone"] is None else requests[row["own"]] == 1
    assert packed == climbed and packed


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("mpi", "kernel", "op"),
    [
        ("mpich", "s3d_mpiio", "MPI_File_write_all"),
        ("mpich", "s3d_hdf5", "H5Dwrite"),
        ("romio321", "s3d_pnetcdf", "ncmpi_put_vara_all"),
    ],
)
def test_s3d(mpi: str, kernel: str, op: str, tmp_path: Path) -> None:
    run = traced(mpi, kernel, tmp_path)
    check_own(run)
    writes = Segment(function=op)
    roots: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for root, calls in sorted(under(run, op).values(), key=lambda each: int(each[0]["call"])):
        number = sum(rank == root["rank"] for rank, _ in roots)  # the n-th of its rank
        roots[root["rank"], number] = calls
    assert len(roots) == 4 * 8  # four variables in two checkpoints, of four ranks

    exclusive = ask(run, "latency breakdown exclusive", writes)["call"]
    assert len(exclusive) == len(roots)
    for row in exclusive:
        sums: dict[str, int] = defaultdict(int)
        for call in roots[row["rank"], row["call"]]:
            sums[call["layer"]] += call["duration"] - call["nested"]
        layers = {name.removesuffix("_seconds"): ns(value) for name, value in row.items()
                  if name.endswith("_seconds") and name != "start_seconds"}  # fmt: skip
        assert {layer: value for layer, value in layers.items() if value} == {
            k: v for k, v in sums.items() if v
        }
        assert sum(layers.values()) == ns(row["seconds"])

    # Nothing says more of a local file than its file system.
    mounts = "select distinct mount from files where starts_with(path, $folder)"
    (mount,) = run.sql(mounts, folder=f"{tmp_path}/out/")["mount"].to_pylist()
    (server,) = [s for s in ask(run, "call", writes)["server"] if s["server_name"] == mount]
    inside = [c for calls in roots.values() for c in calls if c["layer"] == "posix"]
    moved = [c for c in inside if c["kind"] in ("read", "write")]
    assert server["accesses"] == len(moved) > 0
    assert server["bytes"] == sum(c["bytes"] for c in moved)
    assert server["calls"] == sum(any(c in inside for c in calls) for calls in roots.values())

    # One aggregator makes all requests; the slowest of them waited for the store at least as long as it keeps a write.
    longest = ask(run, f"latency operation max - - - {server['server']}", writes)
    (most,) = longest["server"]
    assert ns(most["seconds"]) == max(c["duration"] for c in inside) >= LATENCY_US * 1000
    assert {row["rank"] for row in longest["call"]} == {most["rank"]} == {most["most_rank"]}

    # A collective: all ranks wait, one writes; communication and storage are inside its time.
    for row in ask(run, "latency collective", writes)["collective"]:
        assert (row["ranks_seen"], row["ranks_expected"]) == (4, 4)
        assert 0 <= row["waiting_seconds"] <= row["seconds"]
        assert 0 <= row["communication_seconds"] <= row["longest_seconds"] <= row["seconds"]
        assert 0 <= row["storage_seconds"] <= row["longest_seconds"]
        if row["layer"] == "mpiio" and row["accesses"]:
            assert row["communication_seconds"] > 0 and row["servers"] == 1
