"""A run as one file: a zip with run.json and the tables in a folder of the run's name, so that `unzip` gives a
run directory again. Streams stay where they are: what they say is in the tables."""

import re
import shutil
import zipfile
from pathlib import Path

from fathom.errors import DamagedRun, FathomError, printable
from fathom.files import is_folder, is_there, listed, replacing
from fathom.run.database import parts_of, table_files
from fathom.run.directory import SUFFIX

#: What is unpacked; the rest is no part of a run.
PART = re.compile(r"[^/]+\.fathom/(run\.json|tables/([a-z_]+/)?[^/]+\.parquet)")
#: Bytes that any archive may unpack to, and those for each byte of its own: Parquet is compressed by itself.
LEAST, TIMES = 64 << 20, 20
NONE = "not a run in one file, as fathom pack --one-file makes it"


def write(run: Path, out: Path) -> None:
    """Packs must be done."""
    tables = table_files(run / "tables").values()
    parts = (part for pattern in tables for part in parts_of(pattern))
    files = [run / "run.json", *parts]
    try:
        with replacing(out) as partial, zipfile.ZipFile(partial, "w") as archive:
            for file in files:
                if is_there(file):
                    archive.write(file, f"{run.name}/{file.relative_to(run)}")
    except OSError as error:
        raise FathomError(f"{out}: {error.strerror}") from error


def unpack(file: Path, into: Path) -> Path:
    """The run directory that was in this file, below `into`."""
    try:
        with zipfile.ZipFile(file) as archive:
            parts = [one for one in archive.infolist() if PART.fullmatch(one.filename)]
            _check_room(file, sum(one.file_size for one in parts), into)
            archive.extractall(into, parts)
    except FathomError:
        raise
    except OSError as error:
        raise DamagedRun(f"{printable(file)}: {error.strerror or NONE}") from error
    except Exception as error:  # each way to compress has its own for damage
        raise DamagedRun(f"{printable(file)}: {NONE}: {printable(error)}") from error
    runs = [path for path in listed(into, f"*{SUFFIX}") if is_folder(path / "tables")]
    if len(runs) != 1:
        raise DamagedRun(f"{printable(file)}: {NONE}: no {SUFFIX} folder with tables in it")
    return runs[0]


def _check_room(file: Path, size: int, into: Path) -> None:
    """A few bytes can become a disk full. Errors: DamagedRun."""
    most = min(LEAST + TIMES * file.stat().st_size, shutil.disk_usage(into).free)
    if size > most:
        raise DamagedRun(
            f"{printable(file)}: unpacks to {size >> 20:,} MiB, of which {most >> 20:,} MiB may be; it is left alone"
        )
