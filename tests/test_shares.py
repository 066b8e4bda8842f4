"""A run packed in shares: the tables of one process, whoever does them; what goes wrong ends in one line, and the
tables that were there stay."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from fathom.__main__ import main
from fathom.run import paths
from harness import tables

PARTED = "select count(*), md5(string_agg(r::varchar, '' order by r::varchar)) from {} as r"

Doing = Callable[[str, str, int], None]


@pytest.fixture
def run(recorded_chombo: Path, tmp_path: Path) -> Path:
    """A copy, packed by one process."""
    copy = tmp_path / "run.fathom"
    shutil.copytree(recorded_chombo, copy, ignore=shutil.ignore_patterns("tables"))
    subprocess.run([paths.engine(), "pack", "--quiet", copy], check=True)
    return copy


def share(folder: str, step: str, number: int) -> subprocess.CompletedProcess[str]:
    words = [paths.engine(), "pack-share", folder, step, str(number), "--jobs", "1"]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def do(folder: str, step: str, number: int) -> None:
    done = share(folder, step, number)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def pack(run: Path, shares: int, doing: Doing = do, word: str = "done\n") -> tuple[int, str]:
    """Exit status and stderr of a packer whose shares are done so, the last first, and who is then told this word."""
    words = [paths.engine(), "pack", "--quiet", "--force", "--shares", str(shares), run]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as packer:
        assert packer.stdin and packer.stdout and packer.stderr
        for line in packer.stdout:
            step, count, folder = line.split()
            assert int(count) == shares
            for number in reversed(range(shares)):
                doing(str(run / folder), step, number)
            if not word:
                break
            with suppress(BrokenPipeError):  # it has ended before
                packer.stdin.write(word)
                packer.stdin.flush()
        with suppress(BrokenPipeError):
            packer.stdin.close()
        message = packer.stderr.read()
    return packer.returncode, message


def small(run: Path) -> dict[str, bytes]:
    """The tables that are one file."""
    return {file.name: file.read_bytes() for file in sorted((run / "tables").glob("*.parquet"))}


def parted(run: Path) -> dict[str, object]:
    """Count and digest of the rows of those in parts, in whatever parts."""
    connection = tables.opened(run)
    return {name: tables.ask(connection, PARTED.format(name)) for name in tables.PARTED}


def left(run: Path) -> list[str]:
    return sorted(path.name for path in run.glob("tables*"))


@pytest.mark.parametrize("shares", [1, 3, 9])
def test_tables_are_those_of_one_process(run: Path, shares: int) -> None:
    before = small(run), parted(run)
    assert before[1]["calls"][0][0] > 1000  # type: ignore[index]
    shutil.rmtree(run / "tables")
    assert pack(run, shares) == (0, "")
    assert (small(run), parted(run)) == before
    assert left(run) == ["tables"]
    assert len(list((run / "tables" / "calls").iterdir())) == 4  # ranks


def test_a_share_that_is_done_twice_is_one(run: Path) -> None:
    """A worker that was thought to be gone was not."""
    before = parted(run)

    def twice(folder: str, step: str, number: int) -> None:
        do(folder, step, number)
        do(folder, step, number)

    assert pack(run, 2, twice) == (0, "")
    assert parted(run) == before


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("node7: no space left\n", "fathom-engine: node7: no space left\n"),
        ("", "fathom-engine: shares: who gives them to others has gone\n"),
    ],
)
def test_who_gives_shares_says_why_not_or_goes(run: Path, word: str, message: str) -> None:
    before = parted(run)
    assert pack(run, 2, word=word) == (3, message)
    assert parted(run) == before and left(run) == ["tables"]


@pytest.mark.parametrize("step", ["survey", "write"])
def test_what_a_share_left_is_not_whole(run: Path, step: str) -> None:
    before = parted(run)

    def torn(folder: str, step_: str, number: int) -> None:
        do(folder, step_, number)
        file = Path(folder) / f"{step_}.{number}"
        file = file / "sums" if file.is_dir() else file
        if step_ == step:
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    def refused(folder: str, step_: str, number: int) -> None:
        """The packer may have found it first, and be gone."""
        done = share(folder, step_, number)
        assert done.returncode == 3 and done.stderr.count("\n") == 1

    def one(folder: str, step_: str, number: int) -> None:
        (torn if step_ == "survey" or step == "write" else refused)(folder, step_, number)

    status, message = pack(run, 2, one)
    assert status == 3 and message.count("\n") == 1 and "is no share of this version" in message
    assert parted(run) == before and left(run) == ["tables"]


def test_a_node_that_sees_less_of_the_run(run: Path) -> None:
    stream = max(run.glob("streams/*/*.fts"), key=lambda file: file.stat().st_size)
    whole = stream.read_bytes()

    def elsewhere(folder: str, step: str, number: int) -> None:
        stream.write_bytes(whole[:-1])
        done = share(folder, step, number)
        stream.write_bytes(whole)
        assert done.returncode == 3 and done.stderr.count("\n") == 1
        assert "this node sees 3 whole" in done.stderr
        do(folder, step, number)

    assert pack(run, 2, elsewhere) == (0, "")


@pytest.mark.parametrize("shares", [0, 2])
def test_what_a_killed_packer_left_goes(run: Path, shares: int) -> None:
    """With the next pack, in shares or not."""
    words = [paths.engine(), "pack", "--quiet", "--force", "--shares", "2", run]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as packer:
        assert packer.stdout and packer.stdout.readline().startswith("survey 2 tables.shares.")
        packer.kill()
    assert left(run) != ["tables"]
    if shares:
        assert pack(run, shares) == (0, "")
    else:
        subprocess.run([*words[:3], run], check=True)  # though the tables are up to date
    assert left(run) == ["tables"]


def test_names_are_hostile(run: Path) -> None:
    odd = run.rename(run.with_name("a [1]*?\nb.fathom"))
    assert pack(odd, 2) == (0, "")
    assert left(odd) == ["tables"]
    refused = share(str(odd / "none"), "survey", 0)
    assert refused.returncode == 3 and refused.stderr.count("\n") == 1


def test_a_full_disk_is_said(run: Path) -> None:
    before = parted(run)
    words = [paths.engine(), "pack", "--quiet", "--force", "--shares", "2", run]
    done = subprocess.run(
        words, stderr=subprocess.PIPE, text=True, restore_signals=False, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )  # fmt: skip
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "plan: File too large" in done.stderr
    assert parted(run) == before and left(run) == ["tables"]


def test_a_share_that_nobody_told(run: Path, tmp_path: Path) -> None:
    assert share(str(tmp_path / "none"), "survey", 0).returncode == 3

    def other(folder: str, step: str, number: int) -> None:
        done = share(folder, step, 2)
        assert done.returncode == 3 and "no share 2: there are 2" in done.stderr
        do(folder, step, number)

    assert pack(run, 2, other) == (0, "")


def test_a_name_that_tables_cannot_have(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nor DuckDB nor Arrow opens what is no UTF-8."""
    odd = run.rename(run.with_name("a\udcff.fathom"))
    assert main(["pack", str(odd)]) == 3
    assert r"a\udcff.fathom: this path is no UTF-8" in capfd.readouterr().err
