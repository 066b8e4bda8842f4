/* HDF5 programs under test end the job, with a line, when a call fails. */
#ifndef HDF5_MUST_H
#define HDF5_MUST_H

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) < 0) {                                                                  \
			fprintf(stderr, "%s failed\n", #call);                                     \
			MPI_Abort(MPI_COMM_WORLD, 1);                                              \
		}                                                                                  \
	} while (0)

#endif
