"""Joules of this node, packages and memory, by the counters of Linux's powercap (RAPL: Intel, AMD from Zen on)."""

import re
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from fathom.errors import FathomError
from fathom.files import boot_id
from fathom.run.store import Run

POWERCAP = Path("/sys/class/powercap")
#: Other zones count the same joules again: intel-rapl-mmio, the whole board (psys), cores and graphics of a package.
ZONE, COUNTED = re.compile(r"intel-rapl:\d+(:\d+)?"), re.compile(r"package-.*|dram")
#: Seconds between two readings: the shortest range known, 65 kJ, lasts a minute at 1 kW.
OFTEN = 15.0
INSTEAD = (
    "--objective energy=ACTIVE,INACTIVE estimates by watts, or give a command that prints joules"
)


@dataclass(frozen=True)
class Zone:
    """A counter of microjoules, which begins anew above its range."""

    counter: Path
    range: int

    def read(self) -> int:
        """As it is now."""
        return _number(self.counter)

    def used(self, before: int, now: int) -> int:
        """Between two readings."""
        return now - before if now >= before else now + self.range - before


def _number(file: Path) -> int:
    try:
        return int(_text(file))
    except ValueError as error:
        raise FathomError(f"tune: energy: {file} has no number; {INSTEAD}") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except PermissionError as error:
        line = f"tune: energy: {file} may not be read: as root, chmod a+r it and its like; or {INSTEAD}"
        raise FathomError(line) from error
    except OSError as error:
        raise FathomError(f"tune: energy: {file}: {error.strerror}; {INSTEAD}") from error


def zones(root: Path) -> list[Zone]:
    """Of packages and memory. Errors: FathomError where there is none, or one may not be read."""
    named = (place for place in sorted(root.glob("intel-rapl:*")) if ZONE.fullmatch(place.name))
    counters = [
        Zone(place / "energy_uj", _number(place / "max_energy_range_uj"))
        for place in named
        if COUNTED.fullmatch(_text(place / "name"))
    ]
    if not counters:
        line = f"tune: energy: no RAPL counters in {root}, as in most virtual machines"
        raise FathomError(f"{line}; {INSTEAD}")
    for zone in counters:
        zone.read()
    return counters


class Meter:
    """Counts while it is entered: `joules` afterwards. Reads often enough that no counter goes round unseen."""

    def __init__(self, root: Path | None = None, often: float = OFTEN) -> None:
        self.zones, self.often = zones(root or POWERCAP), often
        self.joules = 0.0
        self._before: list[int] = []

    def __enter__(self) -> None:
        self.joules, self._over = 0.0, threading.Event()
        self._before = [zone.read() for zone in self.zones]
        self._reader = threading.Thread(target=self._go_on, daemon=True)
        self._reader.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        self._over.set()
        self._reader.join()
        self._add()

    def _go_on(self) -> None:
        try:
            while not self._over.wait(self.often):
                self._add()
        except FathomError:
            return  # the last reading meets it too, and says it

    def _add(self) -> None:
        now = [zone.read() for zone in self.zones]
        used = zip(self.zones, self._before, now, strict=True)
        self.joules += sum(zone.used(*pair) for zone, *pair in used) / 1e6
        self._before = now


def check_single_node(run: Run) -> None:
    """Errors: FathomError where the run had processes on other nodes, whose counters nobody read."""
    nodes = run.sql("select distinct host, boot_id from nodes").to_pylist()
    others = sorted({node["host"] for node in nodes if node["boot_id"] != boot_id()})
    if others:
        line = f"energy: processes ran on {', '.join(others[:3])}, and only this node's counters are read"
        raise FathomError(f"{line}; {INSTEAD}")
