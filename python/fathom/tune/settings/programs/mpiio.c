/* Interleaved blocks of all ranks, written and read collectively; or one piece of each rank, independently.
 * mpiio FILE collective|independent */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, BLOCKS = 64, BYTES = BLOCK * BLOCKS };

static void must(int error)
{
	if (error)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(const char *data, int rank)
{
	for (int i = 0; i < BYTES; i++)
		must(data[i] != rank + 1);
}

static void interleaved(MPI_File file, int rank, int ranks, char *data)
{
	MPI_Datatype view;

	MPI_Type_vector(BLOCKS, BLOCK, BLOCK * ranks, MPI_BYTE, &view);
	MPI_Type_commit(&view);
	must(MPI_File_set_view(file, (MPI_Offset)BLOCK * rank, MPI_BYTE, view, "native",
			       MPI_INFO_NULL));
	must(MPI_File_write_at_all(file, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
	memset(data, 0, BYTES);
	must(MPI_File_sync(file));
	must(MPI_Barrier(MPI_COMM_WORLD));
	must(MPI_File_read_at_all(file, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_Type_free(&view);
}

int main(int argc, char **argv)
{
	static char data[BYTES];
	MPI_File file;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	memset(data, rank + 1, BYTES);
	must(argc != 3);
	must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			   &file));
	if (strcmp(argv[2], "collective") == 0)
		interleaved(file, rank, ranks, data);
	else
		must(MPI_File_write_at(file, (MPI_Offset)BYTES * rank, data, BYTES, MPI_BYTE,
				       MPI_STATUS_IGNORE));
	check(data, rank);
	must(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
