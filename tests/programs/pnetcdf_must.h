/* PnetCDF programs under test stop, with a line, when a call fails. */
#ifndef PNETCDF_MUST_H
#define PNETCDF_MUST_H

#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

#define MUST(call)                                                                                 \
	do {                                                                                       \
		const int status_ = (call);                                                        \
		if (status_) {                                                                     \
			fprintf(stderr, "%s: %s\n", #call, ncmpi_strerror(status_));               \
			MPI_Abort(MPI_COMM_WORLD, 1);                                              \
		}                                                                                  \
	} while (0)

#endif
