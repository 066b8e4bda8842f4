"""The first screen of `fathom show` of logs that never change, as files that somebody looked at: `tests/golden`.

`make golden` writes them anew; look at the difference before it is committed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from test_import_darshan import sample

from harness import paths, wild

PAGES = paths.ROOT / "tests/golden"
SAMPLES = paths.ROOT / "tests/samples"
WIDTHS = (60, 80, 120)
#: Logs of real jobs (harness/wild.py) with pages that differ.
WILD = (
    "aiio-ior-read-strided-1k",
    "aiio-ior-write-1k",
    "aiio-openpmd-collective",
    "aiio-openpmd-independent",
    "aiio-tmatch-many-files",
    "darshan-logs-e3sm-pnetcdf",
    "darshan-logs-imbalanced",
    "e2e-pathological",
)
#: Traces in this repository -> whose they are.
STORED = {
    "recorder": ("recorder", SAMPLES / "recorder", "merged"),
    "recorder-hdf5": ("recorder", SAMPLES / "recorder/v3", "hdf5"),
    "strace": ("strace", SAMPLES / "dftracer", "strace.log"),
}
#: That comes with PyDarshan.
SAMPLE = "ior_hdf5_example"
NAMES = (*WILD, *STORED, SAMPLE)


def page(name: str, folder: Path) -> str:
    """The screens at all widths, below one another. Skips the test where the log is not there."""
    run = _log(name) if name not in STORED else _imported(name, folder)
    return "\n".join(f"==== {width} columns\n\n{_shown(run, folder, width)}" for width in WIDTHS)


def _log(name: str) -> Path:
    return sample(f"{name}.darshan") if name == SAMPLE else wild.log(name)


def _imported(name: str, folder: Path) -> Path:
    tool, place, pattern = STORED[name]
    run = folder / f"{name}.fathom"
    printed("import", tool, *sorted(place.glob(pattern)), "-o", run, folder=folder)
    return run


def _shown(run: Path, folder: Path, width: int) -> str:
    return printed("show", run, folder=folder, COLUMNS=str(width))


def printed(*words: object, folder: Path, **more: str) -> str:
    """By a command, which keeps what it imports in this folder."""
    done = subprocess.run(
        [paths.FATHOM, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300,
        check=True, env={**os.environ, "XDG_CACHE_HOME": str(folder), **more},
    )  # fmt: skip
    return done.stdout


def main() -> None:
    """Writes them all."""
    for name in NAMES:
        with tempfile.TemporaryDirectory() as place:
            (PAGES / f"{name}.txt").write_text(page(name, Path(place)), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
