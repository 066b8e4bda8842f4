"""What recording one call costs on this machine: measured, then kept until the next boot or build."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fathom.errors import FathomError
from fathom.files import boot_id, replace_text
from fathom.run import paths

CALLS = 100_000
ROUNDS = 3
# The least time of one empty pwrite over blocks of a thousand: what else runs only ever adds.
PROGRAM = f"""
import os, time
fd = os.open(os.devnull, os.O_WRONLY)
least = float("inf")
for block in range({CALLS // 1000}):
    began = time.perf_counter_ns()
    for call in range(1000):
        os.pwrite(fd, b"", 0)
    least = min(least, time.perf_counter_ns() - began)
print(least / 1000)
"""


def _one(environment: dict[str, str]) -> float:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return float(done.stdout)


def _measure(library: Path) -> float:
    bare = {
        key: value
        for key, value in os.environ.items()
        if key != "LD_PRELOAD" and not key.startswith("FATHOM_")
    }
    with tempfile.TemporaryDirectory(prefix="fathom-cost.") as scratch:
        traced = bare | {
            "LD_PRELOAD": str(library),
            "FATHOM_RUN": f"{scratch}/cost.fathom",
            "FATHOM_RING": f"{scratch}/ring",
            "FATHOM_BUDGET": str(1 << 30),
        }
        for name in ("cost.fathom", "cost.fathom/streams", "ring"):
            Path(scratch, name).mkdir(mode=0o700)
        pairs = [(_one(bare), _one(traced)) for _ in range(ROUNDS)]
    return max(0.0, min(traced for _, traced in pairs) - min(bare for bare, _ in pairs))


def _cache(library: Path) -> tuple[Path, str]:
    """Where the figure is kept, and what it is true for."""
    return paths.user_cache() / "cost.json", f"{boot_id()} {library} {library.stat().st_mtime_ns}"


def per_call() -> float | None:
    """Seconds that recording adds to one empty call here; None where it cannot be measured."""
    try:
        library = paths.library()
        if library is None:
            return None
        path, key = _cache(library)
        if path.is_file():
            cached = json.loads(path.read_text(encoding="utf-8"))
            if cached.get("key") == key:
                return float(cached["nanoseconds"]) / 1e9
        cost = _measure(library)
        if cost <= 0:
            return None  # less than what else runs here takes: another time
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps({"key": key, "nanoseconds": cost}))
        return cost / 1e9
    except (OSError, ValueError, KeyError, subprocess.SubprocessError, FathomError):
        return None
