/* Interleaved blocks of all ranks by collective writes, and one read that is waited for. usage: collective FILE */
#include <mpi.h>

enum { BLOCK = 16, BLOCKS = 64, WRITES = 4, READ = 100 };

int main(int argc, char **argv)
{
	static int data[BLOCK * BLOCKS];
	MPI_Request request;
	MPI_Datatype type;
	MPI_File file;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
		      &file);
	MPI_Type_vector(BLOCKS, BLOCK, BLOCK * ranks, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int) * BLOCK, MPI_INT, type, "native",
			  MPI_INFO_NULL);
	for (int i = 0; i < WRITES; i++)
		MPI_File_write_all(file, data, BLOCK * BLOCKS, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_iread_at(file, 0, data, READ, MPI_INT, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Type_free(&type);
	MPI_File_close(&file);
	return MPI_Finalize();
}
