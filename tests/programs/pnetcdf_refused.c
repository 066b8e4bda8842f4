/* Data that PnetCDF refuses, and nobody looks: pnetcdf_refused read-only|writable FILE. 20 writes to a file that was opened
 * to be read only, or to be written. */
#include <mpi.h>
#include <pnetcdf.h>
#include <string.h>

enum { SIZE = 100, WRITES = 20 };

static double numbers[SIZE];

int main(int argc, char **argv)
{
	int file, dimension, variable;

	MPI_Init(&argc, &argv);
	if (argc != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	const int mode = strcmp(argv[1], "read-only") ? NC_WRITE : NC_NOWRITE;
	ncmpi_create(MPI_COMM_WORLD, argv[2], NC_CLOBBER, MPI_INFO_NULL, &file);
	ncmpi_def_dim(file, "x", SIZE, &dimension);
	ncmpi_def_var(file, "v", NC_DOUBLE, 1, &dimension, &variable);
	ncmpi_close(file);
	ncmpi_open(MPI_COMM_WORLD, argv[2], mode, MPI_INFO_NULL, &file);
	for (int i = 0; i < WRITES; i++)
		ncmpi_put_var_double_all(file, variable, numbers);
	ncmpi_close(file);
	MPI_Finalize();
	return 0;
}
