"""`fathom report`: what is in the file, what is left out of it, and that names in it stay text."""

import base64
import gzip
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fathom.run import macros, paths
from fathom.run.store import open_run
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs
from fathom.webapi.report import requests
from fathom.webapi.report.payload import Payload, collect
from fathom.webapi.report.requests import Request
from schema import counters_of, write_run
from test_commands import Captured, fathom, refused

needs_page = pytest.mark.skipif(paths.page() is None, reason="web/dist is not built: make web")
HOSTILE = "/d/</script><script>alert(1)</script><b>&\u2028.h5"


def hostile(folder: Path) -> Path:
    calls: list[dict[str, Any]] = [
        {"id": n, "layer": "posix", "op": "pwrite", "kind": "write", "start": 10 * n, "duration": 5 + n % 3, "depth": 0,
         "file": 0, "bytes": 64, "file_offset": 64 * n}
        for n in range(1, 60)
    ]  # fmt: skip
    return write_run(
        folder / "<b>.fathom", runs=[{"duration": 700, "events": 59, "coverage": 1.0}],
        calls=calls, counters=counters_of(calls),
        processes=[{"process": 0, "exe": HOSTILE}], nodes=[{"node": 0, "host": "n"}],
        files=[{"file": 0, "path": HOSTILE, "kind": "regular"}],
    )  # fmt: skip


class Elements(HTMLParser):
    """Names of all elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)


def answers_of(text: str) -> dict[str, Any]:
    (packed,) = re.findall(r'<script type="text/plain" id="fathom-report">([^<]*)</script>', text)
    answers: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return answers


@needs_page
def test_a_report_holds_the_answers_that_view_gives(capsys: Captured, tmp_path: Path) -> None:
    run, path = hostile(tmp_path), tmp_path / "r.html"
    status, out, _ = fathom(capsys, "report", run, "-o", path)
    assert (status, out.strip()) == (0, str(path))
    answers = answers_of(path.read_text(encoding="utf-8"))
    runs = Runs([run])
    for name, parameters in (
        ("runs", {}), ("breakdown", {"run": "<b>", "by": "op", "of": "inclusive"}),
        ("files", {"run": "<b>", "by": "call"}), ("access", {"run": "<b>", "file": "0", "across": "time"}),
    ):  # fmt: skip
        assert answers[Request(name, parameters).key] == screens.ask(runs, name, parameters)
    assert (answers["report"]["left out"], answers["report"]["failed"]) == ([], [])


@needs_page
def test_names_are_text(capsys: Captured, tmp_path: Path) -> None:
    path, plain = tmp_path / "r.html", paths.page()
    assert plain is not None
    fathom(capsys, "report", hostile(tmp_path), "-o", path)
    text = path.read_text(encoding="utf-8")
    before = Elements(plain.read_text(encoding="utf-8")).names
    added = sorted(set(Elements(text).names) - set(before))
    assert text.count("<script") == before.count("script") + 1
    assert "alert(1)</script>" not in text
    assert not {"img", "b"} & set(added)
    assert {"h1", "h2", "p", "pre"} <= set(added)
    assert "Content-Security-Policy" in text and "frame-ancestors" not in text
    assert "<title>Fathom: &lt;b&gt;</title>" in text
    assert "pwrite" in text[text.rindex("<noscript>") :]


@needs_page
def test_sizes(capsys: Captured, tmp_path: Path, run_directory: Path) -> None:
    page = paths.page()
    assert page is not None
    small = page.stat().st_size + 40_000
    status, _, err = fathom(
        capsys, "report", run_directory, "-o", tmp_path / "r.html", "--size", str(small)
    )
    assert status == 0
    assert (tmp_path / "r.html").stat().st_size <= small
    left_out = answers_of((tmp_path / "r.html").read_text(encoding="utf-8"))["report"]["left out"]
    assert all(f"left out: {one}" in err for one in left_out)
    assert "up to 20MB" in refused(capsys, 2, "report", run_directory, "--size", "21MB")
    assert "larger --size" in refused(capsys, 2, "report", run_directory, "--size", "1KB")


def test_what_does_not_fit_is_said(run_directory: Path) -> None:
    runs = Runs([run_directory])
    whole = collect(runs, 10**7, 9999.0, lambda _: None)
    cut = collect(runs, 4_000, 9999.0, lambda _: None)
    assert whole.left_out == []
    assert len(cut.answers) < len(whole.answers)
    assert any("for want of room" in one for one in cut.left_out)
    assert len(cut.packed()) < 6_000
    assert all(whole.answers[key] == one for key, one in cut.answers.items())


def test_what_fails_is_told_apart_from_what_is_left_out(run_directory: Path) -> None:
    payload = Payload(Runs([run_directory]), 10**7, lambda _: None)
    payload.every("calls", iter([Request("call", {"run": "small", "call": "99"})]))
    assert payload.left_out == []
    assert payload.omissions() == [
        "Could not be answered: call?call=99&run=small: call=99: this run has no such call; slowest lists some"
    ]


def test_the_tree_that_the_page_asks_for_is_there(run_directory: Path) -> None:
    """Of each call that has an answer: of the call that holds all others."""
    answers = collect(Runs([run_directory]), 10**7, 9999.0, lambda _: None).answers
    calls = [one for key, one in answers.items() if key.startswith("call?")]
    roots = {(one["ancestors"] or [one["call"]])[0]["call"] for one in calls}
    assert any(one["ancestors"] for one in calls)
    assert {f"tree?call={root}&run=small" for root in roots} <= answers.keys()


def _planned(monkeypatch: pytest.MonkeyPatch, path: Path, calls: int) -> tuple[int, int]:
    """Statements that the chains of so many slowest calls have planned, and the calls that are there."""
    texts: list[str] = []
    done = macros.execute

    def execute(connection: Any, statement: Any, values: object = None) -> Any:
        texts.append(str(statement))
        return done(connection, statement, values)

    payload = Payload(Runs([path]), 10**7, lambda _: None)
    payload.every("screens", requests.first(payload.runs))
    with monkeypatch.context() as patch:
        patch.setattr(requests, "CALLS", calls)
        patch.setattr(macros, "execute", execute)
        payload.chains(path.stem, requests.chains(path.stem, payload.answers), 9999.0)
    return len(texts), sum(key.startswith("call?") for key in payload.answers)


def test_statements_do_not_grow_with_the_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains and trees of all calls are asked together."""
    path = hostile(tmp_path)
    few, many = _planned(monkeypatch, path, 20), _planned(monkeypatch, path, 50)
    assert many[1] >= few[1] + 25
    assert max(few[0], many[0]) < 30


def test_calls_asked_together_are_those_asked_alone(run_directory: Path) -> None:
    """Chains and trees; of what is no call the error."""
    calls = [str(row["id"]) for row in open_run(run_directory).sql("from calls").to_pylist()]
    for name in ("call", "tree"):
        together = screens.ask_each(Runs([run_directory]), name, {"run": "small"}, [*calls, "99"])
        for call, answer in zip(calls, together, strict=False):
            alone = screens.ask(Runs([run_directory]), name, {"run": "small", "call": call})
            assert answer == alone, (name, call)
        assert str(together[-1]) == "call=99: this run has no such call; slowest lists some"


def test_a_report_loads_no_more_than_it_asks() -> None:
    """Counted: neither forms nor searches."""
    script = "import sys; from fathom.webapi.report import document, payload; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "fathom.webapi.answers.one_call" in loaded
    assert not loaded & {"fathom.tune.search.search", "fathom.codegen.generate.command"}


@pytest.mark.parametrize(("lanes", "named"), [(requests.NAMED, True), (requests.NAMED + 1, False)])
def test_names_of_lanes_are_there_where_the_page_asks_for_them(
    tmp_path: Path, lanes: int, named: bool
) -> None:
    """Those of a million would leave no room for anything else."""
    script = (Path(__file__).parents[2] / "web/src/state/lanes.ts").read_text()
    assert f"const NAMED = {requests.NAMED};" in script
    path = write_run(
        tmp_path / "r.fathom",
        runs=[{"duration": 10, "processes": lanes}],
        processes=[{"process": lane, "rank": lane} for lane in range(lanes)],
    )
    asked = [one.name for one in requests.first(Runs([path]))]
    assert ("lanes" in asked, "zooms" in asked) == (named, True)


def test_several_runs_can_be_compared(run_directory: Path, tmp_path: Path) -> None:
    payload = collect(Runs([run_directory, hostile(tmp_path)]), 10**7, 9999.0, lambda _: None)
    assert Request("compare", {"run": "small", "with": "<b>"}).key in payload.answers
    assert payload.answers["compare?run=%3Cb%3E&with=small"]["b"] == "small"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_keys_are_those_of_the_browser() -> None:
    words = ["a b+c~d*e", "posix:pwrite,mpiio", "/ü/</script>%2C", "'\"!()", "\u2028😀"]
    script = (
        "const words = JSON.parse(process.argv[1]);"
        "console.log(JSON.stringify(words.map(x => new URLSearchParams([['k', x]]).toString())))"
    )
    done = subprocess.run(
        ["node", "-e", script, json.dumps(words)], capture_output=True, text=True, check=True
    )
    assert [f"n?{one}" for one in json.loads(done.stdout)] == [
        Request("n", {"k": word}).key for word in words
    ]
    assert Request("n", {"z": "1", "a": "", "b": "2"}).key == "n?b=2&z=1"
    assert requests.Request("runs").key == "runs"
