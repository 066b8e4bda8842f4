"""An unmodified program, its servers and their disk as one chain: real calls, real servers, IOPro's queries on them."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import fathom
import pytest
from fathom import places
from fathom.analysis import findings
from fathom.analysis.latency import language, model
from fathom.analysis.latency.segment import Segment
from fathom.analysis.own import own
from harness import paths

from .test_command import PRELOAD, forward, up

BLOCKS, BLOCK = 20, 65536
LATENCY = 0.03


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two ranks write and read, each through a server of its own; the second server's store is slow."""
    place = tmp_path_factory.mktemp("chain")
    (place / "x").mkdir()
    (place / "data").write_bytes(os.urandom(BLOCKS * BLOCK))
    slow = f"[[server]]\nname = 'slow'\nthrottle = 'latency={LATENCY}'\n"
    (place / "servers.toml").write_text(f"path = '{place}/x'\n[[server]]\n{slow}")
    made = subprocess.run(
        [paths.FATHOM, "env", "-o", place / "r", "--shell", "json"], capture_output=True, check=True
    )
    told = {k: v for k, v in json.loads(made.stdout).items() if v is not None}
    rings = {name: value for name, value in told.items() if name != "LD_PRELOAD"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in rings.items():
            patch.setenv(name, value)
        clients = up(place, "servers.toml", "--record", "r")
        for rank in range(2):
            ranked = {"PMI_RANK": str(rank), "PMI_SIZE": "2"}
            preload = {"LD_PRELOAD": f"{told['LD_PRELOAD']}:{PRELOAD}"}
            copy = ["dd", f"if={place}/data", f"of={place}/x/copy{rank}", f"bs={BLOCK}"]
            subprocess.run(
                [*copy, "status=none"], env=os.environ | clients | ranked | preload, check=True
            )
        assert forward(place, "down").returncode == 0
    return fathom.open(place / "r.fathom")


def ask(run: Any, text: str) -> dict[str, list[dict[str, Any]]]:
    answer = model.answer(run, language.parse(text), Segment(), 0)
    return {name: table.to_pylist() for name, table in answer.views.items()}


def test_every_write_is_one_request_whose_bytes_one_disk_write_carries(run: Any) -> None:
    found = run.sql(
        """
        select w.bytes, count(*) filter (l.kind = 'serves' and c.layer = 'server') as requests,
            sum(l.bytes) filter (l.kind = 'carries')::bigint as carried,
            bool_and(c.start >= w.start and c.start + c.duration <= w.start + w.duration) as within
        from calls w join links l on l.to_call = w.id join calls c on c.id = l.from_call
        where w.layer = 'posix' and w.kind = 'write' group by w.id, w.bytes"""
    ).to_pylist()
    assert found == [{"bytes": BLOCK, "requests": 1, "carried": BLOCK, "within": True}] * 2 * BLOCKS


def test_a_breakdown_goes_down_to_the_disk(run: Any) -> None:
    calls = ask(run, "latency breakdown inclusive")["call"]
    written = [call for call in calls if call["function"] == "write"]
    assert len(written) == 2 * BLOCKS
    for call in written:
        assert call["posix_seconds"] > call["server_seconds"] > call["disk_seconds"] > 0
        assert call["rank"] == 0 or call["disk_seconds"] >= LATENCY
    apart = ask(run, "latency breakdown exclusive [1]")["layer"]
    assert max(apart, key=lambda layer: layer["seconds"])["layer"] == "disk"


def test_the_slow_server_is_named(run: Any) -> None:
    slowest = {call["rank"]: call["server"] for call in ask(run, "latency operation max")["call"]}
    assert sorted(slowest.values()) == [0, 1]
    rule = findings.read(places.catalog() / "findings" / "slow-server.sql")
    (row,) = findings.Asked(run).rows(rule)
    assert row["server"].endswith("/slow") and slowest[1] == 1
    assert row["why"].startswith("its disk")


def test_what_servers_do_is_not_the_programs_own(run: Any) -> None:
    assert not {"server", "disk"} & {row["layer"] for row in own(run).to_pylist()}
