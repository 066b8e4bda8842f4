"""Two private copies of HDF5 in one process, used in turn; each reads back what it wrote."""

import sys
from pathlib import Path

import h5py
import netCDF4
import numpy

directory = Path(sys.argv[1])
with (
    h5py.File(directory / "by-h5py.h5", "w") as file,
    netCDF4.Dataset(directory / "by-netcdf4.nc", "w") as other,
):
    file.create_dataset("a", data=numpy.arange(1000.0))
    other.createDimension("x", 2000)
    other.createVariable("b", "f8", ("x",))[:] = numpy.arange(2000.0)
with (
    h5py.File(directory / "by-h5py.h5") as file,
    netCDF4.Dataset(directory / "by-netcdf4.nc") as other,
):
    right = file["a"][999] == 999.0 and other["b"][1999] == 1999.0
print("both right" if right else "wrong values")
