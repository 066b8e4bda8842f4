/* 3 blocks of 4 writes of 1,000 bytes; the one in the middle with recording switched off. */
#include <mpi.h>
#include <stdio.h>

static void block(MPI_File file, int n)
{
	static char data[1000];

	for (int i = 0; i < 4; i++)
		MPI_File_write_at(file, (n * 4 + i) * 1000, data, 1000, MPI_BYTE,
				  MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_File file;

	if (MPI_Init(&argc, &argv) || argc != 2)
		return 1;
	MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
		      &file);
	block(file, 0);
	MPI_Pcontrol(0);
	MPI_Pcontrol(0);
	block(file, 1);
	MPI_Pcontrol(1);
	block(file, 2);
	MPI_File_close(&file);
	return MPI_Finalize();
}
