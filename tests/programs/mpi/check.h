/* MPI programs under test end the job when an MPI call fails. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MPI_MUST(call)                                                                             \
	do {                                                                                       \
		int error_ = (call);                                                               \
		if (error_ != MPI_SUCCESS) {                                                       \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call,        \
				error_);                                                           \
			MPI_Abort(MPI_COMM_WORLD, 99);                                             \
		}                                                                                  \
	} while (0)

#endif
