"""Every function of a library that looks like I/O is a row, an alias of one, or left out with a reason."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fathom.catalog.model import Api
from probes import LIBRARIES, Library, api_of, catalog, shared_objects


@cache
def exported(library: Library) -> frozenset[str]:
    """Functions that a program can import; not those private to the library's own parts."""
    names = set()
    for part in shared_objects(library):
        nm = subprocess.run(
            ["nm", "-D", "--defined-only", str(part)], capture_output=True, text=True, check=True
        )
        for line in nm.stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind in "TWiI" and not name.endswith("GLIBC_PRIVATE"):
                names.add(name.split("@")[0])
    return frozenset(names)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda one: f"{one.layer}-{one.name}")
def test_nothing_that_looks_like_io_is_forgotten(library: Library) -> None:
    api = api_of(library.layer)
    assert api.looks_like, (
        f"{api.path.name}: [api] looks_like must say which functions look like I/O"
    )
    known = {symbol for call in api.calls for symbol in call.symbols()}
    pattern = re.compile("|".join(f"(?:{one})" for one in api.looks_like))
    forgotten = [
        name
        for name in sorted(exported(library) - known)
        if pattern.search(name)
        and not any(fnmatch.fnmatchcase(name, glob) for glob in api.left_out)
    ]
    assert not forgotten, f"{len(forgotten)} neither a row nor in left_out: {' '.join(forgotten)}"


@pytest.mark.parametrize("layer", sorted({one.layer for one in LIBRARIES}))
def test_each_symbol_is_in_some_library(layer: str) -> None:
    """A slip in a symbol's name would never be seen otherwise."""
    api = api_of(layer)
    there: set[str] = set()
    for library in LIBRARIES:
        if library.layer == layer:
            there |= exported(library)
    missing = [
        symbol
        for call in api.calls
        for symbol in call.symbols()
        if symbol not in there and symbol not in call.newer()
    ]
    assert not missing, f"no library has {' '.join(missing)}"


@pytest.mark.parametrize("layer", sorted({one.layer for one in LIBRARIES}))
def test_each_reason_is_needed(layer: str) -> None:
    """left_out names functions that exist; a pattern that fits none is a slip or has outlived its use."""
    api = api_of(layer)
    there: set[str] = set()
    for library in LIBRARIES:
        if library.layer == layer:
            there |= exported(library)
    idle = [glob for glob in api.left_out if not fnmatch.filter(there, glob)]
    assert not idle, f"fits no function: {' '.join(idle)}"


def slots(part: Path) -> set[str]:
    """Functions that a library calls through a slot, its own among them."""
    readelf = subprocess.run(
        ["readelf", "-rW", str(part)], capture_output=True, text=True, check=True
    )
    return set(re.findall(r"_JUMP_SLO\w*\s+[0-9a-f]+ ([^@\s]+)", readelf.stdout))


def modules_inside(api: Api) -> list[Path]:
    """Installed modules that the file names: libraries, and the plugins in folders below them."""
    folders = {part.parent for library in LIBRARIES for part in shared_objects(library)}
    is_named = {}
    for folder in folders:
        for path in (*folder.glob("*.so*"), *folder.glob("openmpi/**/*.so")):
            for glob in api.inside:
                if fnmatch.fnmatchcase(path.name, glob.removeprefix("!")):
                    is_named[path.resolve()] = not glob.startswith("!")
    return sorted(path for path, named in is_named.items() if named)


def test_functions_inside_a_library_have_slots_there() -> None:
    """A library that calls itself without slots would never be heard."""
    inside = [api for api in catalog().apis if api.inside]
    assert inside
    for api in inside:
        rows = [call for call in api.calls if call.row and not call.borrowed and not call.since]
        wanted = {symbol for call in rows for symbol in call.symbols()}
        have = set().union(*(slots(part) for part in modules_inside(api)))
        assert wanted <= have, f"{api.path.name}: {' '.join(sorted(wanted - have))}"


@pytest.mark.parametrize("module", ["libmpich.so.12", "mca_io_romio321.so"])
def test_romio_exchanges_through_slots(module: str) -> None:
    """What two-phase I/O is made of, in each library that has ROMIO."""
    (api,) = (api for api in catalog().apis if api.path.stem == "romio")
    parts = [part for part in modules_inside(api) if part.name.startswith(module)]
    if not parts:
        pytest.skip(f"{module} is not installed")
    known = {symbol for call in api.calls for symbol in call.symbols()}
    exchange = "Isend Irecv Waitall Alltoall Allgather Allreduce Bcast Barrier Gather Comm_dup"
    wanted = {f"PMPI_{name}" for name in exchange.split()}
    assert wanted <= slots(parts[0]) & known
    # Nothing that waits for other ranks and has a slot there is forgotten.
    mpi = {symbol for call in api_of("mpi").calls for symbol in call.symbols()}
    local = re.compile(r"P?MPI_(Win_|Comm_(create|split)|Request_free|Cancel|Start)")
    forgotten = [name for name in slots(parts[0]) & mpi - known if not local.match(name)]
    assert not forgotten


def test_fortran_entries_inside_a_library_exist() -> None:
    """Where the binding is part of the library, a slip in an entry's name can be found, too."""
    for library in LIBRARIES:
        api = api_of(library.layer)
        if api.bindings_inside:
            entries = {name for call in api.calls for name in call.fortran}
            assert entries and entries <= exported(library)
