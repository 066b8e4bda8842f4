/* Every rank writes collectively and leaves by _exit, without closing the file and without MPI_Finalize. */
#include <unistd.h>

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
	for (int i = 0; i < 10; i++)
		MPI_MUST(MPI_File_write_at_all(file, (i * 4 + rank) * 64, data, 64, MPI_BYTE,
					       MPI_STATUS_IGNORE));
	MPI_Barrier(MPI_COMM_WORLD);
	_exit(0);
}
