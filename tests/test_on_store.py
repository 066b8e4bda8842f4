"""fathom show --on: what a run would take on a store, against runs on such stores."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import fathom
import pytest
from fathom.analysis import on_store
from fathom.analysis.on_store import Prediction
from fathom.catalog.stores import Store
from fathom.run import macros
from fathom.run.store import Run
from harness import needs, paths, wild
from test_import_darshan import imported

#: A busy machine may take longer than the catalog's slowest by this factor. Quicker than the quickest: by 2.
BUSY = 20
QUICK = 2
LATENCY_US = 2000
RATE_MB = 200


def recorded(run: Path, *command: object, level: str = "call", **env: str) -> Run:
    """The program, traced."""
    words = [paths.FATHOM, "run", "--no-show", "--level", level, "-o", run, "--", *command]
    subprocess.run(
        list(map(str, words)), check=True, timeout=300, capture_output=True, stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
    )  # fmt: skip
    return fathom.open(run)


@pytest.fixture(params=["memory", "disk"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """On tmpfs; and where tests lie."""
    if request.param == "disk":
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        yield Path(place)


@pytest.mark.some(8)
@pytest.mark.parametrize("level", ["call", "file"])
@pytest.mark.parametrize(
    ("program", "what"),
    [
        *(("mistakes", what) for what in ("small-only", "large", "many-files", "sync-each")),
        ("mistakes_stdio", "by-stream"),
    ],
)
def test_the_store_that_a_run_was_on_has_its_seconds(
    folder: Path, program: str, what: str, level: str, tmp_path: Path
) -> None:
    command = [paths.PROGRAMS / "programs" / program, what, folder / "f"]
    run = recorded(tmp_path / "r.fathom", *command, level=level)
    system = run.sql(
        "select any_value(file_system) as s from files where path like $p", p=f"{folder}/f%"
    )
    prediction = on_store.predict(run, on_store.named(system["s"][0].as_py()))
    assert prediction.here and prediction.there
    there, took = prediction.there.seconds, prediction.here.seconds
    assert there.low <= there.best <= there.high
    assert there.low / QUICK <= took <= there.high * BUSY


def slow_store(run: Run) -> Store:
    """The store of tools/slow_store.c, whose figures are known, in the place of the catalog's."""
    latency, rate = LATENCY_US / 1e6, RATE_MB * 1e6
    columns = run.sql("from stores() limit 0").column_names
    values = {
        **dict.fromkeys((name for name in columns if name.endswith(("_low", "_high"))), latency),
        **dict.fromkeys(("rate_low", "rate_high", "server_rate_low", "server_rate_high"), rate),
        "store": "'slow'", "kind": "'network'", "stripe_count": 1, "stripe_bytes": 1 << 20,
        "block_bytes": "null::bigint", "lock_unit": "null::bigint",
    }  # fmt: skip
    texts = {
        name: f"{value:e}" if isinstance(value, float) else value for name, value in values.items()
    }
    listed = ", ".join(f"{value} as {name}" for name, value in texts.items() if name != "direction")
    rows = f"select {listed}, way as direction from (values ('read'), ('write')) as t (way)"
    macros.replace(run.connection, "stores", rows, temporary=True)
    return Store(Path("slow.toml"), "slow", "", "network", (), (), False, {}, {}, {})


def on_slow(place: Path, *mended: str) -> Prediction:
    """Three mistakes on the slow store, whose files are in memory, and what they would take on it."""
    script = paths.TESTS / "programs" / "elsewhere.py"
    preloaded = f"LD_PRELOAD={paths.PROGRAMS / 'tools' / 'slow_store.so'}:{paths.LIBRARY}"
    with tempfile.TemporaryDirectory(prefix="slow.", dir="/dev/shm") as data:
        slow = {"LATENCY_US": LATENCY_US, "RATE_MB": RATE_MB, "UNDER": data}
        env = {f"SLOW_STORE_{key}": str(value) for key, value in slow.items()}
        run = recorded(place, "env", preloaded, paths.PYTHON, script, data, *mended, **env)
    return on_store.predict(run, slow_store(run))


def test_files_and_mistakes_come_in_the_order_of_what_they_take(tmp_path: Path) -> None:
    prediction = on_slow(tmp_path / "all.fathom")
    assert prediction.there
    files = [one for one in prediction.places if "/slow." in one.place]
    assert [Path(one.place).name for one in files] == ["small", "many.*", "sync"]
    for place in files:
        assert place.seconds.best / QUICK <= place.here <= place.seconds.best * BUSY, place
    order = ["small-accesses", "many-files", "sync-churn"]
    assert [one.rule.name for one in prediction.advice][:3] == order
    # Whoever does so asks for as many requests less as was said.
    for name, rule in zip(("small", "many", "sync"), order, strict=True):
        mended = on_slow(tmp_path / f"{name}.fathom", name).there
        said = next(one for one in prediction.advice if one.rule.name == rule)
        assert mended
        less = prediction.there.seconds.best - mended.seconds.best
        assert said.won == pytest.approx(less, rel=0.5), name
        assert name in said.place


@pytest.mark.parametrize(
    ("log", "took"), [("aiio-ior-write-1k", 465.0), ("aiio-ior-write-1m", 2.0)]
)
def test_jobs_on_lustre_took_what_lustre_is_said_to_take(
    log: str, took: float, tmp_path: Path
) -> None:
    needs.require(["python:darshan"])
    run = imported(wild.log(log), tmp_path)
    there = on_store.predict(fathom.open(run), on_store.named("lustre")).there
    assert there and there.seconds.low <= took <= there.seconds.high
    done = subprocess.run(
        [paths.FATHOM, "show", run, "--on", "lustre", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    assert said["there"]["seconds"]["best"] == pytest.approx(there.seconds.best)
    if took > 100:
        assert said["advice"][0]["finding"] == "sync-churn"
        assert said["advice"][0]["after"]["low"] <= 2 <= said["advice"][0]["after"]["high"]
