"""fathom import of what cannot be read, to where nothing can be written: one line, and nothing is left."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from fathom.__main__ import main
from harness import needs, paths
from harness.poor import FULL, USER
from test_import_darshan import sample as darshan_sample

SAMPLES = paths.TESTS / "samples" / "dftracer"
TOOLS = ("strace", "dftracer", "darshan")
#: A line's end, quotes, an escape to the terminal, a letter of two bytes, a byte that is no UTF-8.
HOSTILE = os.fsdecode(b"a\nb \"c\" 'd' {e} %s \x1b[31m \xc3\xbc \xff")


def good(tool: str) -> bytes:
    if tool == "darshan":
        needs.require(["python:darshan"])
        return darshan_sample("sample-dxt-simple").read_bytes()
    name = "strace.log" if tool == "strace" else "*preload*"
    return next(SAMPLES.glob(name)).read_bytes()


def refused(place: Path, *words: object, as_: Sequence[str] = ()) -> str:
    """What `fathom import` says, which is one line; `place` is as it was before."""
    before = sorted(place.rglob("*"))
    done = subprocess.run(
        [*as_, paths.FATHOM, "import", *map(str, words)],
        capture_output=True, cwd=place, timeout=300, check=False,
    )  # fmt: skip
    message = done.stderr.decode()
    assert done.returncode in (2, 3), message
    assert message.endswith("\n") and message[:-1].isprintable(), message
    assert not done.stdout and sorted(place.rglob("*")) == before
    return message


@pytest.mark.parametrize("tool", TOOLS)
def test_a_hostile_name_is_told_in_one_line(tmp_path: Path, tool: str) -> None:
    good(tool)  # its package is there
    log = tmp_path / HOSTILE
    log.write_bytes(b"nonsense\n" * 99)
    assert "a\\nb" in refused(tmp_path, tool, log, "-o", "run")


@pytest.mark.parametrize("tool", TOOLS)
def test_no_right_and_no_room(tmp_path: Path, tool: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(good(tool))
    assert "File too large" in refused(tmp_path, tool, log, "-o", "run", as_=FULL)
    log.chmod(0)
    message = refused(tmp_path, tool, log, "-o", "run", as_=USER)
    assert f"{log}: Permission denied" in message


@pytest.mark.parametrize("tool", TOOLS)
def test_a_log_tells_its_tool(tmp_path: Path, tool: str) -> None:
    name = "log.pfw" if tool == "dftracer" else "log"
    (tmp_path / name).write_bytes(good(tool))
    subprocess.run([paths.FATHOM, "import", name], cwd=tmp_path, check=True)
    manifest = json.loads((tmp_path / f"{name}.fathom" / "run.json").read_text())
    assert manifest["recorder"] == tool


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "nothing: there is no such file"),
        (["page"], "it does not show whose log it is; write TOOL before it: darshan"),
        (["strace"], "FILE is missing"),
    ],
)
def test_what_tells_no_tool(tmp_path: Path, words: list[str], says: str) -> None:
    (tmp_path / "page").write_text("no log\n")
    assert says in refused(tmp_path, *words)


def test_a_directory_that_is_named_by_a_dot_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ((".", "-o", ".."), ("..",)):
        assert main(["import", "dftracer", *words]) == 2
        assert "'..' is no name of a run: add one, as ../s3d" in capsys.readouterr().err
    (trace,) = SAMPLES.glob("*fork*")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / trace.name).write_bytes(trace.read_bytes())
    monkeypatch.chdir(tmp_path / "one")
    assert main(["import", "dftracer", "."]) == 0
    assert capsys.readouterr().out == "one.fathom\n"


def test_what_is_in_the_way(tmp_path: Path) -> None:
    log, link, closed = (tmp_path / name for name in ("log", "link.fathom", "closed"))
    closed.mkdir(mode=0o555)
    log.write_bytes(good("strace"))
    link.symlink_to("nowhere")
    assert "link.fathom exists; name another" in refused(tmp_path, "strace", log, "-o", "link")
    message = refused(tmp_path, "strace", log, "-o", closed / "run", as_=USER)
    assert "Permission denied" in message and "closed/run" in message
    assert "no\\nlog: there is no such file" in refused(tmp_path, "strace", "no\nlog")
    assert "name too long" in refused(tmp_path, "strace", log, "-o", "n" * 300)
    assert "log is named twice" in refused(tmp_path, "strace", log, log, "-o", "run")
    (tmp_path / "empty").mkdir()
    assert "empty: no file I/O is in it" in refused(tmp_path, "strace", tmp_path / "empty")
