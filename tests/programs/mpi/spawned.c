/* Two ranks that start two more: spawned FILE. Each world opens and writes a file of its own together, FILE.0 and FILE.1,
 * 1,000 bytes a rank of the first, 2,000 of the other, at the same time. */
#include <mpi.h>
#include <stdio.h>

static void write_together(const char *path, int other, int size)
{
	static char data[2000];
	char name[4096];
	int rank;
	MPI_File file;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "%s.%d", path, other);
	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
		      &file);
	MPI_File_write_at_all(file, rank * size, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

int main(int argc, char **argv)
{
	MPI_Comm parent, both;

	MPI_Init(&argc, &argv);
	if (argc != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm_get_parent(&parent);
	if (parent == MPI_COMM_NULL)
		MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both,
			       MPI_ERRCODES_IGNORE);
	else
		both = parent;
	write_together(argv[1], parent != MPI_COMM_NULL, parent == MPI_COMM_NULL ? 1000 : 2000);
	MPI_Barrier(both); /* neither ends before the other */
	MPI_Comm_disconnect(&both);
	return MPI_Finalize();
}
