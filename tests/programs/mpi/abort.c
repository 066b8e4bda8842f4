/* All ranks write; then rank 1 calls MPI_Abort while the others wait in a barrier. */
#include "check.h"

int main(int argc, char **argv)
{
	MPI_File file;
	char data[64] = {0};
	int rank;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	for (int i = 0; i < 50; i++)
		MPI_MUST(MPI_File_write_at(file, (i * 4 + rank) * 64, data, 64, MPI_BYTE,
					   MPI_STATUS_IGNORE));
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		MPI_Abort(MPI_COMM_WORLD, 9);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_close(&file);
	MPI_Finalize();
	return 0;
}
