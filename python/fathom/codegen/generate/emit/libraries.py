"""What C code must know of each library: headers, types, the line that builds it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """`fields` of the table of variables with `types` as their values; the same of attributes. Of compounds:
    what stands for them in that table, and what their members are to the library."""

    title: str
    headers: tuple[str, ...]
    packages: str  # what pkg-config knows it by; "" for none
    suffix: str
    fields: tuple[str, ...] = ()
    types: dict[str, str] = field(default_factory=dict)
    attribute_fields: tuple[str, ...] = ()
    attribute_types: dict[str, str] = field(default_factory=dict)
    compound: str = ""
    member_types: dict[str, str] = field(default_factory=dict)
    fortran: str = ""  # the library for Fortran, beside the one that pkg-config knows
    besides: tuple[str, ...] = ()  # headers and modules that pkg-config may not know the place of


_NC = {
    "int8": "NC_BYTE",
    "int16": "NC_SHORT",
    "int32": "NC_INT",
    "int64": "NC_INT64",
    "float32": "NC_FLOAT",
    "float64": "NC_DOUBLE",
}
_HDF5 = {
    "int8": "H5T_NATIVE_INT8",
    "int16": "H5T_NATIVE_INT16",
    "int32": "H5T_NATIVE_INT32",
    "int64": "H5T_NATIVE_INT64",
    "float32": "H5T_NATIVE_FLOAT",
    "float64": "H5T_NATIVE_DOUBLE",
}
_MPI = {
    "int8": "MPI_INT8_T",
    "int16": "MPI_INT16_T",
    "int32": "MPI_INT32_T",
    "int64": "MPI_INT64_T",
    "float32": "MPI_FLOAT",
    "float64": "MPI_DOUBLE",
}
#: The classic format has no 8-byte integer of C's `long`; PnetCDF takes the MPI type of the memory.
_NC_MEMORY = {**_MPI, "int8": "MPI_SIGNED_CHAR", "int16": "MPI_SHORT", "int32": "MPI_INT"}
_NC_MEMORY["int64"] = "MPI_LONG_LONG"


def _fields(*tables: dict[str, str]) -> dict[str, str]:
    return {name: "".join(f", {table[name]}" for table in tables) for name in _MPI}


_KIND = {name: f"'{name[0]}'" for name in _MPI}
_NO_TYPES = dict.fromkeys(_MPI, "")

LIBRARIES = {
    "pnetcdf": Library(
        "PnetCDF",
        ("pnetcdf.h",),
        "pnetcdf",
        "nc",
        ("nc_type type", "MPI_Datatype memory"),
        _fields(_NC, _NC_MEMORY),
        ("nc_type type",),
        {**_fields(_NC), "text": ", NC_CHAR"},
        besides=("fortran/gfortran-mod-*/pnetcdf.mod",),
    ),
    "netcdf4": Library(
        "netCDF-4",
        ("netcdf.h", "netcdf_par.h"),
        "netcdf-mpi",
        "nc",
        ("nc_type type",),
        _fields(_NC),
        ("nc_type type",),
        {**_fields(_NC), "text": ", NC_CHAR"},
        ", NC_COMPOUND",
        _NC,
        besides=("netcdf/mpi/include/netcdf_par.h",),
    ),
    "hdf5": Library(
        "HDF5",
        ("hdf5.h",),
        "hdf5",
        "h5",
        ("char kind",),
        _fields(_KIND),
        ("char kind", "size_t size"),
        {
            **{
                name: f", {kind}, {int(name.lstrip('intfloa')) // 8}"
                for name, kind in _KIND.items()
            },
            "text": ", 't', 1",
        },
        ", 'c'",
        _HDF5,
        fortran="hdf5_fortran",
    ),
    "mpiio": Library("MPI-IO", ("limits.h",), "", "bin", ("MPI_Datatype memory",), _fields(_MPI)),
    "posix": Library(
        "POSIX", ("errno.h", "fcntl.h", "sys/stat.h", "unistd.h"), "", "bin", (), _NO_TYPES
    ),
}
CTYPES = {
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
}
