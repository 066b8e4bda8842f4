"""A log of another tool where a run is asked for: imported when it is first named, kept, and anew when it changes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fathom.run import importing
from harness import needs, paths
from test_import_darshan import SMALL, sample

SEEN = "imported from a Darshan log of version"


@pytest.fixture(autouse=True)
def _package() -> None:
    needs.require(["python:darshan"])


def fathom(*words: object, cache: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (paths.FATHOM, *words)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=240, check=False, env=environment, **more
    )


def cached_runs(cache: Path) -> list[Path]:
    return sorted((cache / "fathom" / "imported").glob("*/*/*.fathom"))


def test_a_log_is_imported_once_and_anew_when_it_changes(tmp_path: Path) -> None:
    log, cache = tmp_path / "job.darshan", tmp_path / "cache"
    shutil.copy(sample(SMALL), log)
    shown = fathom("show", log, "--all", cache=cache)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("job: ")
    assert SEEN in shown.stdout
    (first,) = cached_runs(cache)
    inode = (first / "run.json").stat().st_ino
    again = fathom("query", log, "--sql", "select ranks from runs", cache=cache)
    assert again.stdout.split() == ["ranks", "4"], again.stderr
    assert cached_runs(cache) == [first]
    assert (first / "run.json").stat().st_ino == inode
    shutil.copy(sample("noposixopens"), log)
    changed = fathom("query", log, "--sql", "select ranks from runs", cache=cache)
    assert changed.returncode == 0, changed.stderr
    (second,) = cached_runs(cache)
    assert second != first
    assert sorted(tmp_path.iterdir()) == [cache, log]


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "command",
    [
        ("show", "{}", "--findings"), ("view", "{}", "--prepare"), ("diff", "{}", "{}"), ("landscape", "{}"),
        ("report", "{}", "-o", "page.html"), ("export", "{}", "-o", "out.csv", "--to", "csv"),
    ],
)  # fmt: skip
def test_commands_that_take_a_run_take_a_log(tmp_path: Path, command: tuple[str, ...]) -> None:
    log, cache = tmp_path / "job.darshan", tmp_path / "cache"
    shutil.copy(sample(SMALL), log)
    done = fathom(*(word.format(log) for word in command), cache=cache, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(cached_runs(cache)) == 1


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr


def test_where_nothing_can_be_kept_one_line_says_so(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.write_text("no folder")
    message = one_line(fathom("show", sample(SMALL), cache=cache))
    assert "cannot be stored there" in message
    assert "XDG_CACHE_HOME" in message


def test_a_full_cache_gets_one_line_and_keeps_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    limited = f"ulimit -f 2; exec {paths.FATHOM} show {sample(SMALL)}"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        ["bash", "-c", limited], capture_output=True, text=True, timeout=240, check=False, env=environment
    )  # fmt: skip
    assert "File too large" in one_line(done)
    assert not cached_runs(cache)


def test_a_damaged_log_gets_the_line_of_import_and_keeps_nothing(tmp_path: Path) -> None:
    log, cache = tmp_path / "job.darshan", tmp_path / "cache"
    log.write_bytes(sample(SMALL).read_bytes()[:900])
    assert str(log) in one_line(fathom("show", log, cache=cache))
    assert not cached_runs(cache)
    assert not list((cache / "fathom" / "imported").iterdir())


def unprivileged() -> list[str]:
    """What takes a superuser's right to read everything from a command."""
    if os.geteuid():
        return []
    needs.require(["setpriv"])
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]


@pytest.mark.parametrize("what", ["a log", "a directory", "a log in a directory", "a run"])
def test_a_permission_that_lacks_is_named(tmp_path: Path, what: str) -> None:
    place = tmp_path / ("closed.fathom" if what == "a run" else "closed")
    if what == "a log":
        place.write_text("")
    else:
        place.mkdir()
        (place / "run.json").write_text("{}")
    place.chmod(0)
    named = place / "log" if what == "a log in a directory" else place
    words = [*unprivileged(), str(paths.FATHOM), "show", str(named)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    place.chmod(0o700)
    message = one_line(done)
    assert message.startswith(f"fathom: {named}") and "Permission denied" in message


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a directory to somebody else")
def test_a_run_of_somebody_else_is_not_the_newest_of_ours(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours.fathom", tmp_path / "other.fathom"
    words = [str(paths.FATHOM), "run", "--no-show", "-o", str(ours), "--", "cat", "/dev/null"]
    subprocess.run(words, check=True, timeout=240, capture_output=True)
    shutil.copytree(ours, other)
    other.chmod(0)
    os.chown(other, 65534, 65534)
    words = [*unprivileged(), str(paths.FATHOM), "show"]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=240, cwd=tmp_path, check=False
    )
    assert done.returncode == 0 and "fathom: ours.fathom, the newest run here" in done.stderr


def readers() -> list[int]:
    """Children of this process that read logs of Darshan."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    words = {int(one): Path("/proc", one, "cmdline").read_bytes() for one in children}
    return [one for one, line in words.items() if b"fathom.interop.imports.darshan" in line]


def test_one_process_reads_log_after_log(tmp_path: Path) -> None:
    """A damaged one ends no more than its own child; who reads may be killed, and the next log gets another."""
    log, damaged = sample(SMALL), tmp_path / "damaged.darshan"
    damaged.write_bytes(log.read_bytes()[:700])
    reader = "fathom.interop.imports.darshan"
    importing.importing(reader, log, tmp_path / "one.fathom")
    (process,) = readers()
    with pytest.raises(importing.NoLog):
        importing.importing(reader, damaged, tmp_path / "none.fathom")
    importing.importing(reader, log, tmp_path / "two.fathom")
    assert readers() == [process]
    os.kill(process, signal.SIGKILL)
    with pytest.raises(importing.NoLog, match="SIGKILL"):
        importing.importing(reader, log, tmp_path / "none.fathom")
    importing.importing(reader, log, tmp_path / "three.fathom")
    made = ["one.fathom", "three.fathom", "two.fathom"]
    assert sorted(one.name for one in tmp_path.glob("*.fathom")) == made
