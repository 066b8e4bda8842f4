/* Two fixed variables and a record variable in rows of all ranks; written, closed, opened, read.
 * pnetcdf FILE collective */
#include <mpi.h>
#include <pnetcdf.h>
#include <string.h>

enum { ROWS = 16, COLUMNS = 128, VARIABLES = 3 };

static void must(int error)
{
	if (error)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static void move(int file, int variable, int rank, int writes)
{
	static double data[ROWS * COLUMNS];
	const MPI_Offset start[3] = {0, (MPI_Offset)ROWS * rank, 0}, count[3] = {1, ROWS, COLUMNS};
	const int skip = variable < 2;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		data[i] = writes ? rank + 1 : 0;
	if (writes)
		must(ncmpi_put_vara_double_all(file, variable, start + skip, count + skip, data));
	else
		must(ncmpi_get_vara_double_all(file, variable, start + skip, count + skip, data));
	for (int i = 0; i < ROWS * COLUMNS; i++)
		must(data[i] != rank + 1);
}

static void make(const char *name, int rank, int ranks)
{
	int file, dims[3], variable;

	must(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
	must(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
	must(ncmpi_def_dim(file, "y", (MPI_Offset)ROWS * ranks, &dims[1]));
	must(ncmpi_def_dim(file, "x", COLUMNS, &dims[2]));
	must(ncmpi_def_var(file, "a", NC_DOUBLE, 2, dims + 1, &variable));
	must(ncmpi_def_var(file, "b", NC_DOUBLE, 2, dims + 1, &variable));
	must(ncmpi_def_var(file, "r", NC_DOUBLE, 3, dims, &variable));
	must(ncmpi_enddef(file));
	for (int v = 0; v < VARIABLES; v++)
		move(file, v, rank, 1);
	must(ncmpi_close(file));
}

int main(int argc, char **argv)
{
	int rank, ranks, file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	must(argc != 3);
	make(argv[1], rank, ranks);
	must(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
	for (int v = 0; v < VARIABLES; v++)
		move(file, v, rank, 0);
	must(ncmpi_close(file));
	MPI_Finalize();
	return 0;
}
