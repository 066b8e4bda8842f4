/* mpi_memory FILE: each rank writes a vector of memory, and doubles in a row, first to a plain file, then through a
 * view with holes: 10 calls of each. */
#include "mpi/check.h"

enum { CALLS = 10, BLOCKS = 4 };

static void write_all(MPI_File file, MPI_Datatype vector, MPI_Offset from)
{
	static double data[2 * BLOCKS];

	for (int i = 0; i < CALLS; i++) {
		MPI_MUST(MPI_File_write_at(file, from + 2 * i, data, 1, vector, MPI_STATUS_IGNORE));
		MPI_MUST(MPI_File_write_at(file, from + 2 * i + 1, data, BLOCKS, MPI_DOUBLE,
					   MPI_STATUS_IGNORE));
	}
}

int main(int argc, char **argv)
{
	MPI_Datatype vector, view;
	MPI_File file;
	int rank;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	MPI_MUST(MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &vector));
	MPI_MUST(MPI_Type_commit(&vector));
	MPI_MUST(MPI_Type_create_resized(MPI_DOUBLE, 0, 3 * sizeof(double), &view));
	MPI_MUST(MPI_Type_commit(&view));
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	write_all(file, vector, 1000 * rank);
	MPI_MUST(MPI_File_set_view(file, 8 * rank, MPI_DOUBLE, view, "native", MPI_INFO_NULL));
	write_all(file, vector, 0);
	MPI_MUST(MPI_File_close(&file));
	MPI_MUST(MPI_Type_free(&vector));
	MPI_MUST(MPI_Type_free(&view));
	MPI_MUST(MPI_Finalize());
	return 0;
}
