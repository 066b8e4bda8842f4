/* For each byte on standard input one barrier and five collective writes; says how many of both.
 * usage: linked_in_mpi FILE */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int barriers, writes;

static void write_some(MPI_File file)
{
	char data[64] = "";

	MPI_Barrier(MPI_COMM_WORLD);
	barriers++;
	for (int i = 0; i < 5; i++, writes++)
		MPI_File_write_at_all(file, 64 * writes, data, 64, MPI_BYTE, MPI_STATUS_IGNORE);
}

int main(int count, char **arguments)
{
	MPI_File file;
	char byte;

	MPI_Init(&count, &arguments);
	if (count != 2 || MPI_File_open(MPI_COMM_WORLD, arguments[1],
					MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
		return 1;
	while (read(0, &byte, 1) == 1) {
		write_some(file);
		printf("%d %d\n", barriers, writes);
		fflush(stdout);
	}
	MPI_File_close(&file);
	MPI_Finalize();
	return 7;
}
