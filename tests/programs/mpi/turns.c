/* Ranks take turns: rank r writes in turn r. After each turn all open a file together, which nobody leaves before all
 * have come: so the order of all writes in true time is known, whatever the ranks' clocks say. */
#include "check.h"

enum { TURNS = 40 };

int main(int argc, char **argv)
{
	MPI_File file, again;
	char data[16] = {0};
	int rank, ranks;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	for (int turn = 0; turn < TURNS; turn++) {
		if (turn % ranks == rank)
			MPI_MUST(MPI_File_write_at(file, turn * 16, data, 16, MPI_BYTE,
						   MPI_STATUS_IGNORE));
		MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
		MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL,
				       &again));
		MPI_MUST(MPI_File_close(&again));
	}
	MPI_MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
