/* pnetcdf_hang stuck FILE: ranks write a variable collectively, three times; the last rank does not make the fourth write,
 * and the others, which say so on stdout just before, wait in it. */
#include <unistd.h>

#include "pnetcdf_must.h"

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
	MUST(ncmpi_create(MPI_COMM_WORLD, argv[2], NC_CLOBBER, MPI_INFO_NULL, &file));
	MUST(ncmpi_def_dim(file, "x", (MPI_Offset)size * SIZE, &dimension));
	MUST(ncmpi_def_var(file, "v", NC_DOUBLE, 1, &dimension, &variable));
	MUST(ncmpi_enddef(file));
	for (int step = 0;; step++) {
		const MPI_Offset start = (MPI_Offset)rank * SIZE, count = SIZE;

		while (step == HUNG && rank == size - 1)
			pause();
		if (step == HUNG && printf("%d waits\n", rank))
			fflush(stdout);
		MUST(ncmpi_put_vara_double_all(file, variable, &start, &count, numbers));
	}
}
