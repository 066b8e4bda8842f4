/* Made from catalog/libraries.toml by `make facts`. */
#ifndef FATHOM_PACKAGES_H
#define FATHOM_PACKAGES_H

/* Packages of Python that move data; from SCRIPTS on those that are Python alone. */
/* clang-format off */
static const char *const packages[] = {
	"adios2",
	"h5py",
	"lmdb",
	"mpi4py",
	"netCDF4",
	"numcodecs",
	"numpy",
	"pandas",
	"pyarrow",
	"rasterio",
	"tables",
	"tensorflow",
	"torch",
	"dask",
	"fsspec",
	"h5netcdf",
	"xarray",
	"zarr",
};
/* clang-format on */
enum { SCRIPTS = 13, PACKAGES = sizeof(packages) / sizeof(packages[0]) };

#endif
