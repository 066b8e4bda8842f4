/* A file for each step, FOLDER/step.N, that all ranks open, write by a collective call, in turns of 4 KiB, and close; with
 * a third argument it is one file, FOLDER/steps, that stays open: "set_info" gives it (no) hints anew before each step by that
 * call, "set_view" sets its view anew. Before each step the ranks wait until FOLDER/go.N is there. */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { BLOCK = 4096, BLOCKS = 64, NAME = 4096 };

static void wait_for(const char *folder, int step, int rank)
{
	char name[NAME];

	snprintf(name, sizeof(name), "%s/go.%d", folder, step);
	while (rank == 0 && access(name, F_OK) != 0)
		usleep(20000);
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void write_step(const char *folder, int step, int rank, int ranks)
{
	static char data[BLOCK * BLOCKS];
	char name[NAME];
	MPI_Datatype turns;
	MPI_File file;

	snprintf(name, sizeof(name), "%s/step.%d", folder, step);
	MPI_MUST(MPI_Type_vector(BLOCKS, BLOCK, BLOCK * ranks, MPI_BYTE, &turns));
	MPI_MUST(MPI_Type_commit(&turns));
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY,
			       MPI_INFO_NULL, &file));
	MPI_MUST(MPI_File_set_view(file, (MPI_Offset)rank * BLOCK, MPI_BYTE, turns, "native",
				   MPI_INFO_NULL));
	MPI_MUST(MPI_File_write_all(file, data, sizeof(data), MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&file));
	MPI_Type_free(&turns);
}

/* Every call writes the next BLOCKS turns of each rank. */
static void write_again(const char *folder, int steps, const char *how, int rank, int ranks)
{
	static char data[BLOCK * BLOCKS];
	const MPI_Offset first = (MPI_Offset)rank * BLOCK;
	const MPI_Offset bytes = (MPI_Offset)ranks * sizeof(data);
	char name[NAME];
	MPI_Datatype block, turns;
	MPI_File file;
	MPI_Info none;

	MPI_MUST(MPI_Info_create(&none));
	snprintf(name, sizeof(name), "%s/steps", folder);
	MPI_MUST(MPI_Type_contiguous(BLOCK, MPI_BYTE, &block));
	MPI_MUST(MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * ranks, &turns));
	MPI_MUST(MPI_Type_commit(&turns));
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY,
			       MPI_INFO_NULL, &file));
	MPI_MUST(MPI_File_set_view(file, first, MPI_BYTE, turns, "native", MPI_INFO_NULL));
	for (int step = 0; step < steps; step++) {
		wait_for(folder, step, rank);
		if (strcmp(how, "set_info") == 0)
			MPI_MUST(MPI_File_set_info(file, none));
		else
			MPI_MUST(MPI_File_set_view(file, step * bytes + first, MPI_BYTE, turns,
						   "native", MPI_INFO_NULL));
		MPI_MUST(MPI_File_write_all(file, data, sizeof(data), MPI_BYTE, MPI_STATUS_IGNORE));
	}
	MPI_MUST(MPI_File_close(&file));
	MPI_Type_free(&turns);
	MPI_Type_free(&block);
	MPI_Info_free(&none);
}

int main(int argc, char **argv)
{
	int rank, ranks, steps;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	steps = argc > 2 ? atoi(argv[2]) : 0;
	for (int step = 0; argc == 3 && step < steps; step++) {
		wait_for(argv[1], step, rank);
		write_step(argv[1], step, rank, ranks);
	}
	if (argc == 4)
		write_again(argv[1], steps, argv[3], rank, ranks);
	MPI_Finalize();
	return 0;
}
