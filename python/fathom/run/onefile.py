"""A run as one file: a zip with run.json and the tables in a folder of the run's name, so that `unzip` gives a
run directory again. Streams stay where they are: what they say is in the tables."""

import zipfile
from pathlib import Path

from fathom.errors import DamagedRun, FathomError
from fathom.files import replacing
from fathom.run.database import table_files
from fathom.run.directory import SUFFIX

NONE = "not a run in one file, as fathom pack --one-file makes it"


def write(run: Path, out: Path) -> None:
    """Packs must be done."""
    tables = table_files(run / "tables").values()
    parts = (part for pattern in tables for part in sorted(pattern.parent.glob(pattern.name)))
    files = [run / "run.json", *parts]
    try:
        with replacing(out) as partial, zipfile.ZipFile(partial, "w") as archive:
            for file in files:
                if file.exists():
                    archive.write(file, f"{run.name}/{file.relative_to(run)}")
    except OSError as error:
        raise FathomError(f"{out}: {error.strerror}") from error


def unpack(file: Path, into: Path) -> Path:
    """The run directory that was in this file, below `into`."""
    try:
        with zipfile.ZipFile(file) as archive:
            archive.extractall(into)
    except (OSError, zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise DamagedRun(f"{file}: {NONE}: {error}") from error
    runs = [path for path in into.iterdir() if path.suffix == SUFFIX and (path / "tables").is_dir()]
    if len(runs) != 1:
        raise DamagedRun(f"{file}: {NONE}: no {SUFFIX} folder with tables in it")
    return runs[0]
