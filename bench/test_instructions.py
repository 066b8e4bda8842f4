"""What a traced empty call and a small forwarded request may take in instructions: the same count on any load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp

import pytest
from fathom.attach import attached
from fathom.run import paths
from forwarding import FORWARD, server
from per_call import EMPTY
from tools import PROGRAMS, fathom_run, run

FEW, MANY = 10, 60  # batches; what start and end cost drops out of the difference
CALLS_IN_BATCH = 2 * 1000  # pwrites and preads
ATTACHED = 1.0  # more or fewer than with preload: the wrappers are the same
LIMIT = 128.0  # a little over what was measured: a rise is a finding
COUNTED_LIMITS = {"file": 220.0, "job": 185.0}
DOOR = PROGRAMS / "libdoor.so"
REQUESTS = 500
REQUEST_LIMITS = {"write": 3300.0, "read": 3400.0, "getattr": 2800.0}

#: What stands before the program, and its environment; made in a directory of its own.
Before = tuple[list[str | Path], dict[str, str]]
Way = Callable[[Path], Before]


def bare(directory: Path) -> Before:
    del directory
    return [], {"LD_PRELOAD": str(EMPTY)}


def preloaded(directory: Path) -> Before:
    return fathom_run(directory / "run.fathom"), {"LD_PRELOAD": str(EMPTY)}


def at_level(level: str) -> Way:
    def way(directory: Path) -> Before:
        return fathom_run(directory / "run.fathom", "--level", level), {"LD_PRELOAD": str(EMPTY)}

    return way


def attached_to(directory: Path) -> Before:
    """Brought in after the start, by the door that `fathom attach` uses."""
    settings_of_attach = attached.create(str(directory / "run"), [])
    settings = directory / "settings"
    settings.write_bytes(
        b"".join(
            f"{name}={value}".encode() + bytes(1) for name, value in settings_of_attach.items()
        )
    )
    return [], {
        "LD_PRELOAD": f"{EMPTY} {DOOR}",
        "DOOR_LIBRARY": str(paths.library()),
        "DOOR_SETTINGS": str(settings),
    }


def instructions(directory: Path, batches: int, way: Way) -> int:
    """Instructions of a whole run of `calls` on empty calls."""
    before, env = way(directory)
    program: list[str | Path] = [PROGRAMS / "calls", "/dev/null", "1", str(batches)]
    return counted(directory / "profile", program, before, env)


def counted(
    profile: Path,
    program: list[str | Path],
    before: Sequence[str | Path] = (),
    env: dict[str, str] | None = None,
) -> int:
    """Instructions of a program, by callgrind."""
    command: list[str | Path] = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    run([*before, *command, *program], env)
    for line in profile.read_text().splitlines():
        if line.startswith("summary:"):
            return int(line.split()[1])
    raise AssertionError(f"{profile} has no summary line")


def per_call(directory: Path, way: Way) -> float:
    few, many = (
        instructions(Path(mkdtemp(dir=directory)), batches, way) for batches in (FEW, MANY)
    )
    return (many - few) / (MANY - FEW) / CALLS_IN_BATCH


def test_instructions_added_to_an_empty_call(tmp_path: Path) -> None:
    before, with_preload, late = (per_call(tmp_path, way) for way in (bare, preloaded, attached_to))
    added = with_preload - before
    assert 20 < added <= LIMIT, f"{added:.1f} instructions added per call"
    more = late - with_preload
    assert abs(more) <= ATTACHED, f"{more:.1f} instructions more when attached"


@pytest.mark.parametrize("level", COUNTED_LIMITS)
def test_instructions_added_to_a_counted_call(tmp_path: Path, level: str) -> None:
    added = per_call(tmp_path, at_level(level)) - per_call(tmp_path, bare)
    assert 20 < added <= COUNTED_LIMITS[level], f"{added:.1f} instructions added per call"


@pytest.mark.parametrize("op", REQUEST_LIMITS)
def test_instructions_of_a_small_request_in_its_client(tmp_path: Path, op: str) -> None:
    with server(tmp_path) as one:
        none, some = (
            counted(tmp_path / str(count), [FORWARD, "round", one.address, op, "64", str(count)])
            for count in (0, REQUESTS)
        )
    each = (some - none) / REQUESTS
    assert 500 < each <= REQUEST_LIMITS[op], f"{each:.0f} instructions a request"
