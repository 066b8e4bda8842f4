"""Is what a trial wrote what the program writes without settings? What differs never wins."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from fathom.errors import FathomError, UsageError, needed
from fathom.files import files_below
from fathom.run import programs

WAYS = ("checksum", "h5diff", "none")


class Reference:
    """The output of the program as it is."""

    def __init__(self, way: str, folder: Path, seconds: float | None) -> None:
        """`way` is one of WAYS or a command; `folder` is where the output is kept."""
        self.way, self.folder, self.seconds = way, folder, seconds
        if way == "h5diff":
            with needed("tune: --verify h5diff", "hdf5"):
                import h5py
            self._is_hdf5 = h5py.is_hdf5
            if not shutil.which("h5diff"):
                raise UsageError("tune: --verify h5diff: there is no h5diff; install hdf5-tools")

    def take(self, out: Path) -> None:
        """This output is right."""
        if self.way != "none":
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.move(out, self.folder)

    def wrong(self, out: Path) -> str | None:
        """What is wrong with that of a trial; None: nothing."""
        if self.way == "none":
            return None
        if self.way not in WAYS:
            return self._by_command(out)
        right, written = _files(self.folder), _files(out)
        if right != written:
            name = min(right ^ written)
            return f"{name}: {'is not there' if name in right else 'is there besides'}"
        differ = (name for name in sorted(right) if not self._same(self.folder / name, out / name))
        name = next(differ, "")
        return f"{name}: differs from the default's" if name else None

    def _same(self, right: Path, written: Path) -> bool:
        if self.way == "h5diff" and self._is_hdf5(right):
            done = subprocess.run(
                ["h5diff", "-q", right, written], capture_output=True, check=False
            )
            return done.returncode == 0
        return _digest(right) == _digest(written)

    def _by_command(self, out: Path) -> str | None:
        words = {"TUNE_REFERENCE": str(self.folder), "TUNE_OUT": str(out)}
        environment = {**os.environ, **words}
        done = programs.run(["/bin/sh", "-c", self.way], self.seconds, environment=environment)
        if done is None:
            return "--verify's command did not end in time"
        return (
            f"--verify's command ended with status {done.returncode}" if done.returncode else None
        )


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in files_below(folder)}


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as data:
            return hashlib.file_digest(data, "blake2b").hexdigest()
    except OSError as error:
        raise FathomError(f"{path}: {error.strerror}") from error
