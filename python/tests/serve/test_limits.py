"""Time, memory, and clients that go: what runs for them ends."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from fathom.analysis.selection import Selection
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs, View
from fathom.webapi.serve.application import Answers
from starlette.requests import Request

LONG = "select count(*) as n from range(1000000) as a, range(1000000) as b"
DEEP = "select list(a.range) as n from range(100000000) as a, range(100000000) as b"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Adds answers that never end; gives when each did."""
    ended: dict[str, float] = {}

    def add(name: str, text: str) -> None:
        def work(view: View, _: Selection) -> Any:
            try:
                return view.value(text)
            finally:
                ended[name] = time.monotonic()

        monkeypatch.setitem(screens._ANSWERS, name, screens.Answer(work, {}, (), False))

    screens.answers.cache_clear()
    add("long", LONG)
    add("deep", DEEP)
    screens.answers()
    yield ended
    screens.answers.cache_clear()


def request(name: str, leaves: anyio.Event | None = None, more: str = "") -> Request:
    async def receive() -> dict[str, Any]:
        if leaves is None:
            await asyncio.Event().wait()
        else:
            await leaves.wait()
        return {"type": "http.disconnect"}

    scope = {
        "type": "http", "method": "GET", "path": f"/api/v1/{name}", "headers": [],
        "query_string": f"run=small{more}".encode(), "path_params": {"name": name},
    }  # fmt: skip
    return Request(scope, receive)


def test_what_takes_too_long_is_ended(run_directory: Path, asked: dict[str, float]) -> None:
    answers = Answers(Runs([run_directory]), seconds=0.3)
    answer = asyncio.run(answers(request("long")))
    assert answer.status_code == 422
    assert "longer than 0.3 s" in json.loads(answer.body)["error"]
    assert "long" in asked, "it goes on"


@pytest.mark.parametrize("name", ["lanes", "slowest", "files", "breakdown"])
def test_what_is_asked_wrongly_begins_no_work(
    run_directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nobody waits for it, and it goes on beside those that may."""
    begun, right = [], screens.ask_written

    def count(*words: Any) -> str | bytes:
        begun.append(words)
        return right(*words)

    monkeypatch.setattr(screens, "ask_written", count)

    async def status(more: str) -> int:
        answer = await Answers(Runs([run_directory]))(request(name, more=more))
        await asyncio.sleep(0.3)  # in which what was begun goes on
        return answer.status_code

    assert asyncio.run(status("&files=]")) == 400
    assert begun == []
    assert asyncio.run(status("")) == 200
    assert len(begun) == 1


@pytest.mark.usefixtures("asked")
def test_what_needs_too_much_memory_is_ended(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.webapi.answers.session.MEMORY", "64 MiB")
    answer = asyncio.run(Answers(Runs([run_directory]))(request("deep")))
    assert answer.status_code == 422
    assert "more memory" in json.loads(answer.body)["error"]


def test_a_client_that_goes_ends_its_work(run_directory: Path, asked: dict[str, float]) -> None:
    async def leave() -> None:
        gone = asyncio.Event()
        answers = Answers(Runs([run_directory]), seconds=3600)
        work = asyncio.ensure_future(answers(request("long", gone)))
        await asyncio.sleep(0.3)
        assert not work.done() and "long" not in asked
        gone.set()
        await asyncio.wait_for(work, 120)

    asyncio.run(leave())
    assert "long" in asked, "it goes on"
    assert threading.active_count() < 20
