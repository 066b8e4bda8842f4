"""Files of DFTracer (.pfw, .pfw.gz): lines of JSON, an event each; and where a file is not what it should be."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

from fathom.importing.lines import Damaged

SUFFIXES = (".pfw", ".pfw.gz")
GZIP = b"\x1f\x8b"
# What `ph` says, as of DFTracer 2 and as the letters of Chrome's format that DFTracer 1 has.
COMPLETE, COUNTER, AGGREGATED, METADATA = 1, 2, 3, 4
PHASES = {"X": COMPLETE, "C": COUNTER, "A": AGGREGATED, "M": METADATA}
# The category of what DFTracer says of itself.
OWN = "dftracer"
BEGAN, TOOK = (re.compile(rb'"%s":\s*(\d{1,19})' % key) for key in (b"ts", b"dur"))
NO_EVENT = (b"", b"[", b"]")
# json.loads without its questions, which a million lines would ask.
DECODED = json.JSONDecoder().raw_decode

Event = dict[str, Any]
LARGEST = (1 << 63) - 1


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Says which file was damaged."""
    try:
        yield
    except Damaged as damage:
        damage.log = str(path)
        raise


def traces(named: list[Path]) -> list[Path]:
    """The files; those in a directory where one is named."""
    found: list[Path] = []
    for path in named:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        found += [one for one in inside if one is path or one.name.endswith(SUFFIXES)]
    if not found:
        raise Damaged(f"no {' or '.join(SUFFIXES)} in it: DFTracer writes one for each process")
    return found


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines that have an event, numbered from 1."""
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP
    number = 0
    with gzip.open(path) if packed else path.open("rb") as file:
        try:
            for number, line in enumerate(file, 1):
                # DFTracer 1 puts brackets around all, each in a line of its own.
                if line.startswith(b"{") or line.strip() not in NO_EVENT:
                    yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            # The line at the break is not to be trusted either.
            keep = f"zcat {path.name} | head -n {max(0, number - 1)} > NEW.pfw keeps what is whole"
            raise Damaged(f"breaks off after line {number} ({error}); {keep}") from None


def event(number: int, line: bytes) -> Event:
    """What a line says."""
    text = line.decode(errors="replace").strip()
    try:
        found, end = DECODED(text)
        if end != len(text):
            raise ValueError
    except (ValueError, RecursionError):
        where = "breaks off within" if not line.endswith(b"\n") else "no JSON in"
        keep = "" if line.endswith(b"\n") else f"; head -n {number - 1} keeps what is whole"
        raise Damaged(f"{where} line {number}{keep}") from None
    if not isinstance(found, dict) or not isinstance(found.get("args", {}), dict):
        raise Damaged(f"line {number} is no event")
    return found


def phase(found: Event) -> int:
    """Which kind of event; 0: none that is known."""
    said = found.get("ph")
    if isinstance(said, str):
        return PHASES.get(said, 0)
    return said if isinstance(said, int) else 0


def text(value: object) -> str:
    """As a table can have it."""
    return str(value).encode(errors="replace").decode()


def is_number(value: object) -> TypeGuard[int]:
    """One that a table can have."""
    return type(value) is int and -LARGEST <= value <= LARGEST


def number_of(found: Event, key: str, most: int = LARGEST) -> int:
    """A number that an event must have."""
    value = found.get(key)
    if type(value) is not int or not 0 <= value <= most:
        raise Damaged(f"an event {str(found.get('name'))!r:.40} has {key} {value!r:.40}")
    return value


def rank_of(value: object) -> int:
    """What MPI said."""
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Damaged(f"rank {text!r:.20}")
    return int(text)
