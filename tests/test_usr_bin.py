"""What a centre switches on for everybody changes no program: those of /usr/bin say the same when they are counted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from harness import paths

BIN = Path("/usr/bin")
WORDS = ("--version", "--help")
#: Of all that are there, in the usual suite.
SAMPLE = 60
#: Without words that they know they go on, or their words are of the moment.
LEFT_OUT = frozenset(("yes", "script", "scriptlive", "reset", "x-www-browser"))
#: Seconds: what takes longer by itself waits for something; and what is counted has any time.
ALONE, COUNTED = 5, 300
#: How often a program is asked once it has said something else: some answer by chance.
TIMES = 6
#: Perl and Python list their tables in another order each time, if nobody asks them not to.
IN_ORDER = os.environ | {"PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0"}

Said = tuple[int, bytes, bytes]


def programs() -> list[str]:
    names = (path.name for path in BIN.iterdir() if path.is_file() and os.access(path, os.X_OK))
    return sorted(name for name in names if name not in LEFT_OUT)


def said(words: list[str], place: Path, patience: int = ALONE) -> Said | None:
    """Status and all that was said; None: it did not end."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=patience, cwd=place,
            env=IN_ORDER, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    lines = done.stderr.splitlines(keepends=True)
    # Where the run is, and that a program is linked statically.
    others = b"".join(line for line in lines if not line.startswith(b"fathom: run"))
    return done.returncode, done.stdout, others


def changed(name: str, place: Path) -> list[str]:
    """What a program says otherwise than it says each time without us, and does so again."""
    found = []
    for number, word in enumerate(WORDS):
        bare = [str(BIN / name), word]

        def counted(run: str, words: list[str] = bare) -> Said | None:
            ours = [str(paths.FATHOM), "run", "--no-show", "--level", "job", "-o", str(place / run)]
            return said([*ours, "--", *words], place, COUNTED)

        alone = said(bare, place)
        if alone is None:
            continue
        with_us = counted(f"{name}.{number}")
        if with_us == alone:
            continue
        if any(said(bare, place) != alone for _ in range(TIMES)):
            continue
        if counted(f"{name}.{number}.again") != alone:
            found.append(f"{name} {word}: {alone} alone, {with_us} when counted")
    return found


def test_some_say_the_same(tmp_path: Path) -> None:
    every = programs()
    some = every[:: max(1, len(every) // SAMPLE)]
    assert [line for name in some for line in changed(name, tmp_path)] == []


@pytest.mark.full
def test_all_say_the_same(tmp_path: Path) -> None:
    every = programs()
    assert len(every) > 500
    assert [line for name in every for line in changed(name, tmp_path)] == []
