"""netCDF4 (its wheel brings a private libnetcdf and libhdf5): a netCDF-4 file with groups, and a classic one."""

import sys
from pathlib import Path

import netCDF4
import numpy as np


def four(path: Path) -> None:
    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        file.title = "test"
        file.createDimension("time", None)
        file.createDimension("x", 50)
        ocean = file.createGroup("ocean").createGroup("surface")
        heat = ocean.createVariable("heat", "f8", ("time", "x"), zlib=True, chunksizes=(1, 50))
        heat.units = "J"
        for record in range(4):
            heat[record, :] = np.arange(50) * record
        names = file.createVariable("names", str, ("x",))
        names[3] = "three"
    with netCDF4.Dataset(path) as file:
        heat = file["/ocean/surface/heat"]
        assert heat[2, 10:20:2].tolist() == [20, 24, 28, 32, 36]


def classic(path: Path) -> None:
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("y", 20)
        file.createDimension("x", 30)
        height = file.createVariable("height", "i4", ("y", "x"))
        height[:] = 7
        height[5:10, :] = 8
    with netCDF4.Dataset(path) as file:
        assert int(file["height"][:].sum()) == 7 * 450 + 8 * 150


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    four(folder / "four.nc")
    classic(folder / "classic.nc")
    print("both right")
