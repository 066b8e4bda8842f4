"""Runs that are damaged, and names that somebody chose: an answer or one line, and nothing done elsewhere."""

from __future__ import annotations

import functools
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from harness import paths, readers

from torture.part import Part, shared

FATHOM = readers.FATHOM
READERS = (
    ("show", "{run}", "--all"), ("show", "{run}", "--findings"), ("show", "{run}", "--json"), ("landscape", "{run}"),
    ("query", "{run}", "--sql", "from files"), ("report", "{run}", "-o", "out.html"), ("patterns", "{run}"),
    ("export", "{run}", "--to", "csv", "-o", "out"), ("explain", "{run}"), ("pack", "{run}", "--force"),
    ("replay", "{run}", "--emit-c", "out.c"), ("view", "{run}", "--prepare"),
)  # fmt: skip
MOST = 1 << 30  # bytes of memory
LONGEST = 600  # seconds, on a busy machine
#: What a terminal would act upon.
RAW = re.compile("[\0-\x08\x0b-\x1f\x7f\x80-\x9f\u2028-\u202e\u2066-\u2069]")
NAMES = (
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'; drop table files; --", "$(touch pwned)",
    "`touch pwned`", "\x1b[31mred\x1b]0;title\x07", "\u009b31m", "two\nlines", "=1+1", "-rf", "a\\b\\0", "%s%n",
    "\u202etxt.exe", "}}{{", "*/ int x; /*", "\udcff\udcfe", "a\ttab", "x" * 240, "??/", "\r", "&lt;", "#{1}", "~",
)  # fmt: skip


def resident(pid: int) -> int:
    """The most memory it had; what getrusage says has that of the process that started it in it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it has just ended
    known = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(known[1]) * 1024 if known else 0


def asked(place: Path, words: tuple[str, ...]) -> tuple[int, str]:
    """Status and all that it wrote, in time and in memory."""
    environment = {**os.environ, "TMPDIR": str(place / "tmp")}
    command = [word.format(run="w.fathom") for word in (*FATHOM, *words)]
    with (place / "said").open("w+b") as said:
        process = subprocess.Popen(
            command, cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        until, used = time.monotonic() + LONGEST, 0
        while process.poll() is None and time.monotonic() < until:
            used = max(used, resident(process.pid))
            time.sleep(0.01)
        process.kill()
        process.wait()
        said.seek(0)
        text = said.read().decode(errors="surrogateescape")
    assert time.monotonic() < until, f"{words[0]}: no end after {LONGEST} s"
    assert used < MOST, f"{words[0]}: {used >> 20} MiB"
    return process.returncode, text


def check(words: tuple[str, ...], status: int, text: str) -> None:
    what = f"{' '.join(words)}: {text[-600:]!r}"
    assert status in (0, 1, 2, 3), f"status {status}: {what}"
    assert "Traceback" not in text and "panicked" not in text, what
    assert status == 0 or "fathom" in text, f"no line: {what}"
    raw = RAW.search(text)
    assert not raw, f"raw {raw and raw.group()!r}: {what}"


def elsewhere(place: Path) -> dict[str, bytes]:
    """What is beside the run, and must stay."""
    files = (path for path in (place / "outside").rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


def laid_out(place: Path, run: Path) -> None:
    for name in ("tmp", "outside/streams", "outside/tables"):
        (place / name).mkdir(parents=True)
    for name in ("run.json", "control", "streams/x.fts", "tables/files.parquet"):
        (place / "outside" / name).write_text("precious")
    shutil.copytree(run, place / "w.fathom")


def disturbed(file: Path, chance: random.Random) -> None:
    """Bytes changed, cut out, put in, or the whole replaced by a link, a folder or nothing."""
    if chance.random() < 0.05:
        file.unlink()
        chance.choice([lambda: file.mkdir(), lambda: file.symlink_to("../outside"), lambda: None])()
        return
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(len(content) + 1)
        how: Callable[[], object] = chance.choice([
            lambda at=at: content.__setitem__(slice(at, at + 1), bytes([chance.randrange(256)])),
            lambda at=at: content.__setitem__(slice(at, at + chance.randrange(100)), b""),
            lambda at=at: content.__setitem__(slice(at, at), chance.randbytes(chance.randrange(20))),
            lambda at=at: content.__setitem__(slice(at, at), content[at : at + 60]),
            lambda at=at: content.__delitem__(slice(at, None)),
            lambda at=at: content.__setitem__(slice(at, at), chance.choice(VALUES)),
        ])  # fmt: skip
        how()
    file.write_bytes(content)


VALUES = (
    b"null",
    b"-1",
    b"1e308",
    b"[[[[",
    b'"\\ud800"',
    b"99999999999999999999",
    b"../../outside",
    b"\0",
    b"true",
)


@functools.cache
def packed() -> Path:
    place = shared() / "place"
    readers.shown_run(place)
    return place / "w.fathom"


def damaged(place: Path, seed: int) -> int:
    chance = random.Random(seed)
    laid_out(place, packed())
    run, before = place / "w.fathom", elsewhere(place)
    if chance.random() < 0.4:
        shutil.rmtree(run / "tables")  # what is disturbed is a stream, or run.json
    files = sorted(path for path in run.rglob("*") if path.is_file())
    small = [
        path
        for path in files
        if path.suffix in (".json", ".jsonl", ".fts") or chance.random() < 0.3
    ]
    for file in {chance.choice(small or files) for _ in range(chance.choice([1, 1, 3]))}:
        disturbed(file, chance)
    words = chance.choice(READERS)
    check(words, *asked(place, words))
    assert elsewhere(place) == before, f"{words[0]}: changed what is outside of the run"
    assert not list((place / "tmp").iterdir()), f"{words[0]}: left something in TMPDIR"
    return 1


class Alive(HTMLParser):
    """What a browser would run, or fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "img") or any(
            name.startswith("on") or (value or "").strip().lower().startswith("javascript:") for name, value in attrs
        ):  # fmt: skip
            self.found.append(tag)


def alive(page: Path) -> list[str]:
    parser = Alive()
    parser.feed(page.read_text(encoding="utf-8", errors="replace"))
    return parser.found


WRITER = """
import os, sys
os.chdir(sys.argv[1])
for name in sys.argv[2:]:
    with open(name, "wb") as file:
        file.write(b"x" * 1000)
    os.stat(name)
"""


def recorded(place: Path, names: list[str]) -> None:
    data = place / "data"
    data.mkdir(parents=True)
    (place / "tmp").mkdir()
    run = (
        paths.FATHOM,
        "run",
        "--no-show",
        "-o",
        place / "w.fathom",
        "--",
        paths.PYTHON,
        "-I",
        "-c",
        WRITER,
        data,
    )
    words = [str(word) for word in run] + names
    subprocess.run(words, check=True, capture_output=True)


@functools.cache
def harmless() -> list[str]:
    place = shared()
    recorded(place, ["one", "two", "three"])
    asked(place, ("report", "{run}", "-o", "out.html"))
    return alive(place / "out.html")


def named(place: Path, seed: int) -> int:
    """Files with names that somebody chose to do harm by."""
    chance = random.Random(seed)
    names = [
        chance.choice(NAMES) + (chance.choice(NAMES) if chance.random() < 0.3 else "")
        for _ in range(3)
    ]
    names = [name.replace("/", "\u2215")[:200] for name in names]
    names = [
        name.encode(errors="surrogateescape")[:250].decode(errors="surrogateescape")
        for name in names
    ]
    recorded(place, names)
    for words in chance.sample(READERS, 3):
        status, text = asked(place, words)
        check(words, status, text)
        assert status == 0 or words[0] in ("replay", "patterns"), (
            f"{' '.join(words)} of {names}: {text[-300:]}"
        )
    if (place / "out.html").exists():
        assert alive(place / "out.html") == harmless(), f"alive in the report of {names}"
    assert not list(place.rglob("pwned")) and not list((place / "tmp").iterdir())
    return len(names)


PARTS = (
    Part(
        "damaged",
        "of a run whose bytes changed: an answer or one line, below 1 GiB, nothing elsewhere",
        "runs",
        damaged,
    ),
    Part(
        "names",
        "of files of any name: nothing raw on a terminal, nothing alive in HTML, nothing is run",
        "names",
        named,
    ),
)
