"""Runs in which not all ranks were recorded alike: nothing is inferred about the others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import accesses, collectives, findings, part
from harness import generated, needs, paths

RANKS = 4
WAYS = {
    "ranks": ("--ranks", "0"),
    "selection": ("--select", "{folder}/part.toml"),
}
SENTENCES = {
    "ranks": f"1 of {RANKS} ranks was recorded; of the others nothing is known",
    "selection": "not to be told: of some ranks calls were recorded, those of others only counted",
}
SELECTION = '[job]\n[call]\nranks = "0"\n'
FILES = '[job]\n[file]\nranks = "0"\n'
# What S3D moves of 16^3 points: 16 numbers of 8 bytes each.
BYTES = 16**3 * 16 * 8


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """S3D under MPICH: rank 0 moves the bytes of all; recorded whole, and rank 0 alone."""
    needs.require(needs.of_mpi("mpich"))
    folder = tmp_path_factory.mktemp("part")
    (folder / "part.toml").write_text(SELECTION)
    runs = {}
    for way, words in {"whole": (), **WAYS}.items():
        runs[way] = record(folder, way, [word.format(folder=folder) for word in words])
    return runs


def record(folder: Path, way: str, options: list[str]) -> Path:
    data, run = folder / f"data.{way}", folder / f"{way}.fathom"
    data.mkdir()
    kernel = paths.PROGRAMS.parent / "kernels" / "s3d_mpiio_mpich"
    command = [paths.FATHOM, "run", "--no-show", *options, "-o", run, "--"]
    command += [*generated.LAUNCH["mpich"], "-n", str(RANKS), kernel]
    command += ["-c", "1", "16", "16", "16", "2", "2", "1", data]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return run


@pytest.fixture(scope="module")
def in_steps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """As --next prepares them: all ranks counted; files of the rank that moves the bytes; each call of it."""
    needs.require(needs.of_mpi("mpich"))
    folder = tmp_path_factory.mktemp("steps")
    runs = [record(folder, "0", ["--level", "job"])]
    while len(runs) < 3:
        command = [paths.PYTHON, "-m", "fathom", "show", str(runs[-1]), "--next"]
        finished = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        words = finished.stdout.split()
        selection = folder / words[words.index("--select") + 1]
        runs.append(record(folder, str(len(runs)), ["--select", str(selection)]))
    return runs


def assert_of_the_ranks_recorded(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of rank 0 alone are known, of the others how often they called what."""
    content = page(run, capsys)
    (sentence,) = content["answers"]["says"]["Which ranks?"]
    assert sentence.startswith(SENTENCES["selection"])
    assert all(row["by_one"] is None and row["shared"] is None for row in content["file_counts"])
    assert main(["show", str(run), "--all"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("  of rank 0 only: those of ranks 1-3 were counted without files\n") >= 2
    assert "  of ranks 1-3: what was read of the system's" in shown  # Ranks
    assert main(["landscape", str(run), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert 0 <= row["bytes_written"] - BYTES < 1000  # and what it says
    assert (row["time_by"], row["bytes_by"]) == ("unknown", "unknown")


def test_files_of_one_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs.require(needs.of_mpi("mpich"))
    (tmp_path / "files.toml").write_text(FILES)
    run = record(tmp_path, "files", ["--select", str(tmp_path / "files.toml")])
    assert_of_the_ranks_recorded(run, capsys)


def test_a_run_in_steps(in_steps: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    counted, files, calls = in_steps
    for run in (counted, calls):
        (sentence,) = page(run, capsys)["answers"]["says"]["Which ranks?"]
        assert sentence.startswith(f"one of {RANKS} ranks, 0: ")
    assert_of_the_ranks_recorded(files, capsys)
    for row in collectives.operations(fathom.open(calls)).to_pylist():
        assert (row["ranks"], row["ranks_seen"], row["domains"]) == (RANKS, 1, "unknown")


def page(run: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["show", str(run), "--json"]) == 0
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    return content


def test_of_the_whole_it_is_known(
    recorded: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = fathom.open(recorded["whole"])
    rows = collectives.functions(run).to_pylist()
    assert rows and all("unknown" not in row["domains"] for row in rows)
    assert accesses.file_counts(run)["shared"].to_pylist() != [None]
    (sentence,) = page(recorded["whole"], capsys)["answers"]["says"]["Which ranks?"]
    assert f"of {RANKS} ranks, 0: 100 % of the bytes" in sentence


@pytest.mark.parametrize("way", WAYS)
def test_collectives_of_which_one_rank_was_seen(recorded: dict[str, Path], way: str) -> None:
    run = fathom.open(recorded[way])
    rows = collectives.operations(run).to_pylist()
    assert rows
    for row in rows:
        assert (row["ranks"], row["ranks_seen"]) == (RANKS, 1)
        assert row["domains"] == "unknown"
        unknown = ("aggregators", "aggregator_ranks", "for_others_bytes", "wait_seconds")
        assert [row[name] for name in unknown] == [None] * len(unknown)
    assert all(row["domains"] == ["unknown"] for row in collectives.functions(run).to_pylist())
    for row in collectives.aggregators(run).to_pylist():
        assert (row["of_ranks"], row["confidence"], row["own_bytes"]) == (None, None, None)


@pytest.mark.parametrize("way", WAYS)
def test_the_page_says_so(
    recorded: dict[str, Path], way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = page(recorded[way], capsys)
    (sentence,) = content["answers"]["says"]["Which ranks?"]
    assert sentence.startswith(SENTENCES[way])
    assert all(row["by_one"] is None and row["shared"] is None for row in content["file_counts"])
    for row in content["collective_functions"]:
        assert (row["wait_seconds"], row["exchange_seconds"]) == (None, None)
    assert main(["show", str(recorded[way]), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "which files they share is not known" in shown
    assert "waiting and exchange are unknown" in shown
    of_one = shown.count("  of rank 0 only: those of ranks 1-3 were counted without files\n")
    assert (of_one >= 3) == ("  of ranks 1-3: what was read of the system's" in shown)
    assert (of_one >= 3) == (way == "selection")


@pytest.mark.parametrize("way", WAYS)
def test_a_landscape_and_a_difference_say_so(
    recorded: dict[str, Path], way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(recorded[way])
    sentences = part.in_part(fathom.open(run), {})
    assert sentences and sentences[0] in SENTENCES[way] + " by operation"
    assert main(["landscape", run, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert (row["time_by"], row["bytes_by"], row["bytes_by_ranks"]) == ("unknown", "unknown", "")
    assert set(sentences) <= set(row["notes"])
    assert main(["diff", str(recorded["whole"]), run]) == 0
    assert f"{way}: {sentences[0]}" in capsys.readouterr().out
    assert part.in_part(fathom.open(recorded["whole"]), {}) == []


def test_files_that_were_chosen_are_said(recorded: dict[str, Path]) -> None:
    """Of --files run.json alone knows."""
    chosen = {"configuration": {"files": ["*.bin", "!*.log"]}}
    (sentence,) = part.in_part(fathom.open(recorded["whole"]), chosen)
    assert sentence == "files were chosen (*.bin !*.log); of calls on others nothing is known"


@pytest.mark.parametrize("way", WAYS)
def test_findings_that_compare_ranks_are_not_asked(recorded: dict[str, Path], way: str) -> None:
    concluded = findings.find(fathom.open(recorded[way]), findings.catalog())
    assert {"one-rank", "few-aggregators", "uneven-ranks"} <= set(concluded.without["ranks"])
    whole = findings.find(fathom.open(recorded["whole"]), findings.catalog())
    assert "ranks" not in whole.without
