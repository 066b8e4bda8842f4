/* Layers by number (docs/control-page.md), and which are on unless the user says otherwise: what the library and
 * the `fathom` command must agree on. */
#ifndef FATHOM_LAYERS_H
#define FATHOM_LAYERS_H

static const char *const layer_names[] = {
	"posix", "mpiio", "hdf5",    "mpi",  "pnetcdf", "netcdf",
	"stdio", "aio",   "threads", "user", "server",  "disk",
};
enum { LAYERS = sizeof(layer_names) / sizeof(layer_names[0]) };

/* In a list `NAME:counted` is a layer whose calls are counted, and are no events. */
#define LAYER_COUNTED ":counted"
#define LAYERS_DEFAULT                                                                             \
	"posix,mpiio,hdf5,pnetcdf,netcdf,stdio,aio,user,server,disk,mpi" LAYER_COUNTED

#endif
