/* 40 writes of 64 elements by index maps: in one piece, with holes in memory, in the file, and in both, 10 times each;
 * then 10 of an MPI datatype with holes. On any number of ranks. */
#include "pnetcdf_must.h"

enum { SIDE = 64, TIMES = 10 };

static double data[2 * SIDE * SIDE];

static void by_map(int file, int variable, int which)
{
	const MPI_Offset apart = which & 1 ? 2 : 1;

	for (MPI_Offset i = 0; i < TIMES; i++) {
		const MPI_Offset row_start[2] = {i, 0}, row[2] = {1, SIDE};
		const MPI_Offset column_start[2] = {0, i}, column[2] = {SIDE, 1};
		const MPI_Offset map[2] = {which & 2 ? apart : SIDE * apart, apart};

		MUST(ncmpi_put_varm_double_all(file, variable, which & 2 ? column_start : row_start,
					       which & 2 ? column : row, NULL, map, data));
	}
}

static void by_datatype(int file, int variable)
{
	MPI_Datatype apart;

	MPI_Type_vector(SIDE, 1, 2, MPI_DOUBLE, &apart);
	MPI_Type_commit(&apart);
	for (MPI_Offset i = 0; i < TIMES; i++) {
		const MPI_Offset start[2] = {i, 0}, count[2] = {1, SIDE};

		MUST(ncmpi_put_vara_all(file, variable, start, count, data, 1, apart));
	}
	MPI_Type_free(&apart);
}

int main(int argc, char **argv)
{
	int file, dimension[2], variable;

	MPI_Init(&argc, &argv);
	if (argc < 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MUST(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER, MPI_INFO_NULL, &file));
	MUST(ncmpi_def_dim(file, "y", SIDE, &dimension[0]));
	MUST(ncmpi_def_dim(file, "x", SIDE, &dimension[1]));
	MUST(ncmpi_def_var(file, "v", NC_DOUBLE, 2, dimension, &variable));
	MUST(ncmpi_enddef(file));
	for (int which = 0; which < 4; which++)
		by_map(file, variable, which);
	by_datatype(file, variable);
	MUST(ncmpi_close(file));
	MPI_Finalize();
	return 0;
}
