"""Which stack and which machine a run was made on. Settings mean another thing on another MPI-IO or file system."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.doctor.program import libraries_of
from fathom.run.store import Run
from fathom.tune.search.default_space import stacks

#: Libraries whose releases differ in what settings do.
LIBRARIES = re.compile(r"lib(mpi|mpich|hdf5|pnetcdf|netcdf)(_\w+)?\.so.*")
#: Catalog layers that are an implementation of MPI-IO.
MPI_IO = ("romio", "ompio")
NETWORK = re.compile(r"[a-z][\w.]*:.*")  # key of a file system that is none of this node's alone


@dataclass(frozen=True)
class Stack:
    """What lies between the program and the file system."""

    mpi: str
    layers: tuple[str, ...]  # of the knob catalog
    libraries: tuple[str, ...]  # files, whose names hold the release

    @property
    def mpi_io(self) -> str:
        """Which MPI-IO; empty: none."""
        return next((layer for layer in self.layers if layer in MPI_IO), "")


@dataclass(frozen=True)
class Machine:
    """Nodes and network file systems. Numbers in the names of hosts count nodes, and say nothing of the machine."""

    hosts: tuple[str, ...]
    mhz: int | None  # of the time-stamp counter, as measured
    storage: tuple[str, ...]

    def same(self, other: "Machine") -> bool:
        """The same, as far as can be told; the rate is measured anew by each run."""
        rates = sorted(rate for rate in (self.mhz, other.mhz) if rate)
        far = len(rates) == 2 and rates[1] > 1.01 * rates[0]
        return not far and (self.hosts, self.storage) == (other.hosts, other.storage)


def ranks_of(run: Run) -> int:
    """Of its job; else, where all are processes without MPI, so many."""
    row = run.sql("select coalesce(ranks, processes) as n from runs").to_pylist()[0]
    return int(row["n"])


def stack_of(run: Run) -> Stack:
    """Of a run; libraries are those that its program would load here."""
    program = [str(word) for word in run.manifest.get("command") or ()]
    rows = run.sql(
        "select distinct exe, mpi from processes where rank is not null order by exe, mpi"
    ).to_pylist()
    mpi = next((row["mpi"] for row in rows if row["mpi"]), "")
    libraries = {name for row in rows if row["exe"] for name in _libraries(Path(row["exe"]))}
    return Stack(mpi, tuple(sorted(stacks(run, program))), tuple(sorted(libraries)))


def _libraries(program: Path) -> list[str]:
    if not program.is_file():
        return []
    paths = (path for path in libraries_of(program).values() if path is not None)
    return [real.name for path in paths if LIBRARIES.fullmatch((real := path.resolve()).name)]


def machine_of(run: Run, paths: Sequence[str]) -> Machine:
    """Of a run, and the file systems that these files lie on."""
    nodes = run.manifest.get("nodes") or []
    hosts = {re.sub(r"[0-9]+", "*", str(node.get("host", ""))) for node in nodes}
    clocks = [node["tsc_hz"] for node in nodes if isinstance(node.get("tsc_hz"), int)]
    rows = run.sql("select path, key from files").to_pylist()
    wanted = set(paths)
    keys = {row["key"] for row in rows if row["path"] in wanted and NETWORK.match(row["key"] or "")}
    mhz = round(max(clocks) / 1e6) if clocks else None
    return Machine(tuple(sorted(hosts)), mhz, tuple(sorted(keys)))
