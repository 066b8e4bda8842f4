"""What of a run is recorded, changed while its processes run (docs/control-page.md)."""

import contextlib
import ctypes
import fcntl
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from fathom.errors import RunError

MAGIC = b"FATHOMCP"
RING_MAGIC = b"FATHOMRG"
#: Bytes of the page, and of the gate in the header of a process's ring.
GATE, GENERATION, SELECTION, RING_GATE, RUN, PAGE = 16, 24, 40, 64, 1024, 4096


def run_of(pid: int) -> Path | None:
    """The run that a process is recorded in, by the page that it has mapped; None: in none, or nobody can tell."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_bytes().splitlines():
            path = line.split(maxsplit=5)[5:]
            if not path or not path[0].endswith(b"/control"):
                continue
            page = Path(os.fsdecode(path[0])).read_bytes()
            if page[: len(MAGIC)] == MAGIC and len(page) == PAGE:
                name = page[RUN:].partition(b"\0")[0]
                return Path(os.fsdecode(name)) if name else None
    return None


class Node:
    """The processes of one run on this node, by its folder of rings."""

    def __init__(self, rings: Path) -> None:
        """Of a folder that `fathom run` made."""
        self.rings = rings

    def processes(self) -> list[int]:
        """Those that live and have made a call that is seen."""
        pids = (path.name.partition(".")[0] for path in self.rings.glob("*.ring"))
        return [int(pid) for pid in pids if pid.isdigit() and Path(f"/proc/{pid}").is_dir()]

    def programs(self) -> list[Path]:
        """What they run."""
        found = set()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                found.add(Path(f"/proc/{pid}/exe").readlink())
        return sorted(path for path in found if path.is_file())

    def change(self, compiled: str) -> int:
        """Puts the compiled selection in force. Returns its number."""
        with self._alone(), _words(self.rings / "control", MAGIC) as page:
            number = page(GENERATION).value + 1
            aside = self.rings / f"selection.{number}.{os.getpid()}"
            aside.write_text(compiled, encoding="utf-8")
            aside.replace(self.rings / f"selection.{number}")
            page(SELECTION).value = number
            page(GENERATION).value = number
            page(GATE).value = 0
            self._ask_anew()
            for old in self.rings.glob("selection.*"):
                if old.name != f"selection.{number}":
                    old.unlink(missing_ok=True)
        return number

    def _ask_anew(self) -> None:
        """Every process looks at the page before its next call."""
        for ring in [*self.rings.glob("*.ring"), *self.rings.glob("*.exec")]:
            with contextlib.suppress(OSError, ValueError, RunError), _words(ring, RING_MAGIC) as at:
                at(RING_GATE).value = 0

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            lock = os.open(self.rings / "select.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise RunError(f"{self.rings}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


class _At:
    """A number of 64 bits at a byte of a mapped page, stored in one piece."""

    def __init__(self, page: mmap.mmap) -> None:
        self.page = page

    def __call__(self, byte: int) -> ctypes.c_uint64:
        return ctypes.c_uint64.from_buffer(self.page, byte)


@contextlib.contextmanager
def _words(path: Path, magic: bytes) -> Iterator[_At]:
    """The first page of a file that others have mapped."""
    try:
        with path.open("r+b") as file:
            page = mmap.mmap(file.fileno(), PAGE)
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}") from error
    if page[: len(magic)] != magic:
        page.close()
        raise RunError(f"{path} is not as fathom wrote it")
    yield _At(page)
    # The numbers point into the mapping: it goes with the last of them.
