"""The header of an HDF5 file, and so of a netCDF-4 file: its datasets and attributes, by h5py."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from fathom.codegen.hints.header import Attribute, Dimension, Header, Variable
from fathom.errors import RunError

TYPES = {
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "f4": "float32",
    "f8": "float64",
}
#: What netCDF-4 and dimension scales keep for themselves.
INTERNAL = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_FillValue"}


def read(path: Path) -> Header:
    """RunError for a file that HDF5 cannot read."""
    try:
        with h5py.File(path, "r") as file:
            return _header(file)
    except (OSError, RuntimeError) as error:
        raise RunError(f"{path}: HDF5 cannot read it: {error}") from error


def _header(file: h5py.File) -> Header:
    header = Header("netCDF-4" if "_NCProperties" in file.attrs else "HDF5")
    header.attributes += _attributes(file, None)

    def visit(name: str, it: Any) -> None:
        if not isinstance(it, h5py.Dataset) or _is_only_scale(it):
            return
        header.variables.append(Variable(name, _type(it.dtype), _what(it), _dimensions(it)))
        header.attributes.extend(_attributes(it, name))

    file.visititems(visit)
    return header


def _is_only_scale(dataset: h5py.Dataset) -> bool:
    """A dimension of netCDF-4 that is no variable."""
    name = dataset.attrs.get("NAME", b"")
    text = name.decode("ascii", errors="replace") if isinstance(name, bytes) else str(name)
    return text.startswith("This is a netCDF dimension but not a netCDF variable")


def _type(of: np.dtype[Any]) -> str | None:
    return TYPES.get(of.str.lstrip("<>|=")) if of.names is None else None


def _what(dataset: h5py.Dataset) -> str:
    return f"{dataset.dtype}, {len(dataset.shape or ())} dimensions"


def _dimensions(dataset: h5py.Dataset) -> tuple[Dimension, ...]:
    """By its scales; a dimension without one is known by its length."""
    dimensions = []
    most = dataset.maxshape or ()
    for at, length in enumerate(dataset.shape or ()):
        grows = at == 0 and most[at] is None
        scales = dataset.dims[at].values()
        if dataset.is_scale and at == 0:
            scales = [dataset]
        if scales:
            scale = scales[0].name or ""
            dimensions.append(Dimension(scale, scale, length, grows))
        else:
            name = f"n{length}_more" if grows else f"n{length}"
            dimensions.append(Dimension(name, name, length, grows))
    return tuple(dimensions)


def _attributes(of: Any, variable: str | None) -> list[Attribute]:
    attributes = []
    for name in of.attrs:
        if name in INTERNAL or name.startswith("_N") or name.startswith("_nc"):
            continue
        try:
            value = of.attrs[name]
        except (OSError, TypeError):  # a type that h5py has not
            continue
        if isinstance(value, bytes):
            value = value.decode("utf-8", errors="replace")
        if isinstance(value, str):
            attributes.append(Attribute(variable, name, None, (value,)))
            continue
        numbers = np.asarray(value)
        kind = _type(numbers.dtype)
        if kind and numbers.size and numbers.ndim < 2:
            attributes.append(Attribute(variable, name, kind, tuple(numbers.ravel().tolist())))
    return attributes
