"""What other commands make of imported runs: the answer, or one line that says what this tool did not record."""

from __future__ import annotations

from pathlib import Path

import pytest
from fathom.__main__ import main
from harness import needs, paths
from test_import_darshan import sample as darshan_sample

SAMPLE = paths.TESTS / "samples" / "dftracer"
TOOLS = {
    "counters": "darshan", "dxt": "darshan", "strace": "strace", "dftracer": "dftracer", "recorder": "recorder",
}  # fmt: skip
# Words after the command and the run, exit status, what stdout or the one line of stderr has.
Case = tuple[str, tuple[str, ...], int, str]
SAME: tuple[Case, ...] = (
    ("show", ("--findings",), 0, "Findings:"),
    ("diff", ("{run}",), 0, "without any difference"),
    ("landscape", (), 0, "When (of the run"),
)
ONE_FILE = ("--files", "*/child")
FOLLOWED: tuple[Case, ...] = (
    ("patterns", ONE_FILE, 0, "42 B"),
    ("generate", ("--from", "{run}", *ONE_FILE, "-o", "{out}"), 0, "6 raw writes of 1 file"),
    ("replay", (*ONE_FILE, "--emit-c", "{out}.c"), 0, "8 calls of 1 rank"),
)
CASES: dict[str, tuple[Case, ...]] = {
    "counters": (
        ("show", ("--all",), 0, "imported from a Darshan log"),
        ("show", ("--all",), 0, "cost of tracing: that of Darshan"),
        ("export", ("--to", "otf2", "-o", "{out}"), 3, "without them: record the program with DXT"),
        ("show", ("--all",), 0, "Darshan records no places in the code"),
        ("query", ("call",), 3, "without them: record the program with DXT"),
        ("show", ("--by", "time,file"), 3, "Darshan traces reads and writes at most"),
        ("patterns", (), 3, "without them: record the program with DXT"),
        ("generate", ("--from", "{run}", "-o", "{out}"), 3, "record the program with DXT"),
        ("replay", ("--layer", "posix", "--emit-c", "{out}.c"), 3, "Darshan traces reads and writes at most"),
    ),
    "dxt": (
        ("show", ("--all",), 0, "imported from a Darshan log"),
        ("patterns", (), 0, "contiguous"),
        ("generate", ("--from", "{run}", "--files", "test.out", "-o", "{out}"), 0, "raw writes of 1 file"),
        ("replay", ("--layer", "posix", "--emit-c", "{out}.c"), 3, "Darshan traces reads and writes at most"),
    ),
    "strace": (("show", ("--all",), 0, "recorded by strace"), *FOLLOWED),
    "dftracer": (
        ("show", ("--all",), 0, "results of opens"),
        ("replay", ("--layer", "posix", "--emit-c", "{out}.c"), 3, "its other name was not recorded"),
        *FOLLOWED,
    ),
    "recorder": (
        ("show", ("--all",), 0, "results are not recorded"),
        ("patterns", ("--files", "*/data.0"), 0, "59.1 KiB"),
        ("generate", ("--from", "{run}", "--files", "*/shared", "-o", "{out}"), 0, "14 raw writes of 1 file"),
        ("replay", ("--files", "*/data.0", "--emit-c", "{out}.c"), 0, "57 calls of 1 rank"),
    ),
}  # fmt: skip


def log(what: str) -> Path:
    if TOOLS[what] == "darshan":
        needs.require(["python:darshan"])
        return darshan_sample("noposixopens" if what == "counters" else "sample-dxt-simple")
    if what == "recorder":
        return SAMPLE.with_name("recorder") / "each"
    return SAMPLE / "strace.log" if what == "strace" else SAMPLE


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "what",
    ["counters", pytest.param("dxt", marks=pytest.mark.full), "strace", "dftracer", "recorder"],
)
def test_commands_answer_or_say_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "it.fathom"
    assert main(["import", TOOLS[what], str(log(what)), "-o", str(run)]) == 0
    for command, more, status, says in (*CASES[what], *SAME):
        words = [word.format(run=run, out=tmp_path / "out") for word in more]
        words = [command, *words] if "--from" in words else [command, str(run), *words]
        capsys.readouterr()
        assert main(words) == status, (words, capsys.readouterr().err)
        captured = capsys.readouterr()
        assert says in captured.out + captured.err, (words, captured)
        assert status == 0 or len(captured.err.strip().splitlines()) == 1, words


@pytest.mark.full
@pytest.mark.parametrize("what", TOOLS)
def test_a_report_is_made(tmp_path: Path, what: str) -> None:
    run, page = tmp_path / "it.fathom", tmp_path / "it.html"
    assert main(["import", TOOLS[what], str(log(what)), "-o", str(run)]) == 0
    assert main(["report", str(run), "-o", str(page)]) == 0
    assert page.stat().st_size > 100_000
