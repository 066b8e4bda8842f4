/* Layers by number (docs/control-page.md), and which are on unless the user says otherwise: what the library and
 * the `fathom` command must agree on. */
#ifndef FATHOM_LAYERS_H
#define FATHOM_LAYERS_H

static const char *const layer_names[] = {
	"posix", "mpiio", "hdf5",    "mpi",  "pnetcdf", "netcdf",
	"stdio", "aio",   "threads", "user", "server",  "disk",
};
enum { LAYERS = sizeof(layer_names) / sizeof(layer_names[0]) };

/* Whose opens, creations and transfers take a run's settings: patched where there are some, recorded or not. */
enum { TUNED_LAYERS = 1 << 1 | 1 << 2 | 1 << 4 }; /* mpiio, hdf5, pnetcdf */

/* In a list `NAME:counted` is a layer whose calls are counted, and are no events. */
#define LAYER_COUNTED ":counted"
#define LAYERS_DEFAULT                                                                             \
	"posix,mpiio,hdf5,pnetcdf,netcdf,stdio,aio,user,server,disk,mpi" LAYER_COUNTED

#endif
