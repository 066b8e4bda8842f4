"""Hourly fields in netCDF-4, and the series of some stations out of it.

station.py FILE NT NY NX: the chunks of the variable
"""

import sys

import netCDF4
import numpy as np

HOURS, NY, NX = 2000, 128, 128
STATIONS = [(12 * (n // 5), 12 * (n % 5)) for n in range(20)]


def write(path, chunks):
    with netCDF4.Dataset(path, "w") as data:
        data.createDimension("time", HOURS)
        data.createDimension("y", NY)
        data.createDimension("x", NX)
        field = data.createVariable(
            "t2m", "f4", ("time", "y", "x"), zlib=True, complevel=1, chunksizes=chunks
        )
        day = np.sin(np.arange(HOURS) * np.pi / 12)[:, None, None]
        field[:] = (280 + 10 * day + np.arange(NX) / 64 + np.arange(NY)[:, None] / 32).round(1)


def series(path):
    with netCDF4.Dataset(path) as data:
        field = data["t2m"]
        return [field[:, y, x] for y, x in STATIONS]


if __name__ == "__main__":
    write(sys.argv[1], tuple(int(word) for word in sys.argv[2:5]))
    print(f"last hour: {series(sys.argv[1])[0][-1]}")
