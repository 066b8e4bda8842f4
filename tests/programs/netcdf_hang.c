/* netcdf_hang stuck FILE: ranks write a variable collectively, three times; the last rank does not make the fourth write, and
 * the others, which say so on stdout just before, wait in it. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <unistd.h>

#include "netcdf_must.h"

enum { HUNG = 3, SIZE = 100 };

static double numbers[SIZE];

int main(int argc, char **argv)
{
	int rank, size, file, dimension, variable;

	MPI_Init(&argc, &argv);
	if (argc != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MUST(nc_create_par(argv[2], NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
	MUST(nc_def_dim(file, "x", (size_t)size * SIZE, &dimension));
	MUST(nc_def_var(file, "v", NC_DOUBLE, 1, &dimension, &variable));
	MUST(nc_enddef(file));
	MUST(nc_var_par_access(file, variable, NC_COLLECTIVE));
	for (int step = 0;; step++) {
		const size_t start = (size_t)rank * SIZE, count = SIZE;

		while (step == HUNG && rank == size - 1)
			pause();
		if (step == HUNG && printf("%d waits\n", rank))
			fflush(stdout);
		MUST(nc_put_vara_double(file, variable, &start, &count, numbers));
	}
}
