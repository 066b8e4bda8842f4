/* Made from catalog/layers.toml by `make facts`. */
#ifndef FATHOM_LAYERS_H
#define FATHOM_LAYERS_H

/* Bits of the gate (docs/control-page.md). */
enum {
	LAYER_POSIX = 0,
	LAYER_MPIIO = 1,
	LAYER_HDF5 = 2,
	LAYER_MPI = 3,
	LAYER_PNETCDF = 4,
	LAYER_NETCDF = 5,
	LAYER_STDIO = 6,
	LAYER_AIO = 7,
	LAYER_THREADS = 8,
	LAYER_USER = 9,
	LAYER_SERVER = 10,
	LAYER_DISK = 11,
	LAYER_FORTRAN = 12,
};

/* clang-format off */
static const char *const layer_names[] = {
	"posix",
	"mpiio",
	"hdf5",
	"mpi",
	"pnetcdf",
	"netcdf",
	"stdio",
	"aio",
	"threads",
	"user",
	"server",
	"disk",
	"fortran",
};
/* clang-format on */
enum { LAYERS = sizeof(layer_names) / sizeof(layer_names[0]) };

/* Whose calls take a run's settings: patched where there are some, recorded or not. */
enum { TUNED_LAYERS = 1 << 1 | 1 << 2 | 1 << 4 };

/* I/O of libraries: a call takes long enough to ask who made it. */
enum { LIBRARY_LAYERS = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 };

/* In a list `NAME:counted` is a layer whose calls are counted, and are no events. */
#define LAYER_COUNTED ":counted"
#define LAYERS_DEFAULT                                                                             \
	"posix,mpiio,hdf5,pnetcdf,netcdf,stdio,aio,user,server,disk,fortran,mpi" LAYER_COUNTED

#endif
