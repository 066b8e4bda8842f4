/* Five collective writes; the last rank goes astray before the fourth. */
#include <mpi.h>
#include <unistd.h>

static void work(int step, int rank, int ranks)
{
	if (step == 3 && rank == ranks - 1)
		pause(); /* stands for a branch that only this rank takes, and that does not end */
}

int main(int argc, char **argv)
{
	int rank, ranks;
	char block[1000] = {0};
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_File_open(MPI_COMM_WORLD, "hang.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
		      &file);
	for (int step = 0; step < 5; step++) {
		work(step, rank, ranks);
		MPI_File_write_at_all(file, (step * ranks + rank) * 1000, block, 1000, MPI_BYTE,
				      MPI_STATUS_IGNORE);
	}
	MPI_File_close(&file);
	MPI_Finalize();
	return 0;
}
