"""Libraries that were linked into a program: fathom-engine works out what is written into it so that they are seen."""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

from fathom.catalog.load import load
from fathom.run import elf, engine, paths

#: By library: its layers, a function that every copy has, how functions of its inside begin.
LIBRARIES = {
    "HDF5": (("hdf5",), "H5open", ("H5_", "H5D__", "H5F__", "H5VL_", "H5FD_")),
    "MPI": (("mpiio", "mpi"), "PMPI_File_open", ("ADIO", "MPIR_", "MPIDI_", "MPID_", "mca_io_")),
    "PnetCDF": (("pnetcdf",), "ncmpi_create", ("ncmpio_", "ncmpii_")),
    "netCDF": (("netcdf",), "nc_create", ("NC4_", "nc4_", "NC3_")),
}
#: Symbols that handlers ask a library for.
ASKED = ("H5", "MPI_", "PMPI_", "ompi_", "nc_", "ncmpi_")


def _inside(program: Path) -> list[str]:
    """The libraries, by the program's symbol table; none when it was stripped."""
    image = elf.read(program)
    if image is None or not image.has(".symtab"):
        return []
    return [
        library
        for library, (_, telling, _) in LIBRARIES.items()
        if image.names(telling) and telling in image.defines - image.imports
    ]


_LAYER = re.compile(r'^layer\s*=\s*"(\w+)"', re.MULTILINE)


@functools.cache
def _names(layer: str) -> tuple[str, ...]:
    """Only of this layer's files: to read all takes longer than all the rest."""
    probes = sorted((paths.catalog() / "probes").glob("*.toml"))
    own = [path for path in probes if _LAYER.findall(path.read_text("utf-8"))[:1] == [layer]]
    return tuple(
        symbol
        for api, call in load(own).calls()
        if not api.inside
        for symbol in (*call.symbols(), *call.fortran)
    )


def _wanted(libraries: list[str]) -> Iterator[str]:
    for library in libraries:
        layers, _, inner = LIBRARIES[library]
        for layer in layers:
            # One function has both names, and the event is the one without the P.
            for symbol in sorted(_names(layer), key=lambda name: name.startswith("PMPI_")):
                yield f"name {library} {symbol}"
        for prefix in inner:
            yield f"inner {library} {prefix}"
    for prefix in ASKED:
        yield f"symbol {prefix}"


def prepare(program: Path, output: Path) -> dict[str, int]:
    """Of how many functions of which libraries calls will be seen; `output` is what the runtime reads, if any. Raises
    the line that says why there are none."""
    libraries = _inside(program)
    if not libraries:
        return {}
    lines = "\n".join(_wanted(libraries))
    reply = engine.ask(["hidden", str(program), "-o", str(output)], lines)
    functions: dict[str, int] = json.loads(reply)["libraries"]
    return functions
