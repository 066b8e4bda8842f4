"""A file of netCDF or HDF5: its header, and hints for a file like it."""

from pathlib import Path

from fathom.codegen.hints.header import Dimension, Header, Maker
from fathom.codegen.hints.sketch import Sketch, name_of
from fathom.errors import RunError, needed

PROCESSES = 4  # that a file alone says nothing of


def kind_of(path: Path) -> str:
    """classic, hdf5, or nothing: by the first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError:
        return ""
    if head[:3] == b"CDF" and head[3:4] in (b"\x01", b"\x02", b"\x05"):
        return "classic"
    return "hdf5" if head == b"\x89HDF\r\n\x1a\n" else ""


def read(path: Path) -> Header:
    """RunError for a file that is damaged, or neither of them."""
    kind = kind_of(path)
    if kind == "classic":
        from fathom.codegen.hints import classic

        return classic.read(path)
    if kind == "hdf5":
        with needed(f"reading {path}", "hdf5"):
            from fathom.codegen.hints import hdf5  # h5py takes a while to load

        return hdf5.read(path)
    raise RunError(f"{path}: no file of netCDF or HDF5")


def sketch(path: Path, library: str) -> Sketch:
    """Hints for a file with what this one has, in pieces as even as can be along one dimension."""
    header = read(path)
    remarks = [
        f"From the header of {path} ({header.kind}).",
        f"Cut over {PROCESSES} processes: change that below.",
    ]
    hints = Sketch(name_of(path.stem, set()), library, PROCESSES, remarks)
    maker, names = Maker(hints), {}
    for variable in header.variables:
        if variable.type is None or not variable.dimensions:
            hints.left_out.append(f"{variable.path}: {variable.what}")
            continue
        dims = [maker.of_header(dimension) for dimension in variable.dimensions]
        array = maker.array(variable.path, variable.type, dims)
        names[variable.path] = array.name
        access = _pieces(array.name, dims, variable.dimensions)
        for kind in ("write", "read"):
            hints.points.setdefault(kind, []).append(access)
    if not hints.arrays:
        raise RunError(
            f"{path}: holds no array that hints can describe; left out: {hints.left_out or 'nothing'}"
        )
    for attribute in header.attributes:
        if attribute.variable is None or attribute.variable in names:
            maker.attribute(names[attribute.variable] if attribute.variable else None, attribute)
    return hints


def _pieces(array: str, names: list[str], dims: tuple[Dimension, ...]) -> str:
    """The slowest dimension with room for all is cut; where none has, the longest."""
    able = [at for at, dim in enumerate(dims) if not dim.grows] or [0]
    long = max(able, key=lambda at: dims[at].length)
    cut = next((at for at in able if dims[at].length >= PROCESSES), long)
    parts = []
    for at, (name, one) in enumerate(zip(names, dims, strict=True)):
        length = str(one.length) if one.grows else name
        start = f"div({length} * rank, nprocs)"
        count = f"div({length} * (rank + 1), nprocs) - {start}"
        parts.append(f"{start}, {count}" if at == cut else f"0, {length}")
    return f"array: *, {array}, {', '.join(parts)}, {array};"
