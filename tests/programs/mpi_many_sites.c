/* A new call site for each of many calls with calls inside them: what is said of sites fills the stream's chunks too. */

/* The optimiser needs a minute of processor time for a function of so many calls. */
#pragma GCC optimize("O0")

#include "mpi/check.h"

#define TEN(call) call call call call call call call call call call
#define WRITE     MPI_MUST(MPI_File_write_at(file, at++, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
#define THOUSAND(name)                                                                             \
	static void name(MPI_File file, MPI_Offset at)                                             \
	{                                                                                          \
		TEN(TEN(TEN(WRITE)))                                                               \
	}

THOUSAND(first)
THOUSAND(second)
THOUSAND(third)
THOUSAND(fourth)

int main(int argc, char **argv)
{
	MPI_File file;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_MUST(MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY,
			       MPI_INFO_NULL, &file));
	first(file, 0);
	second(file, 1000);
	third(file, 2000);
	fourth(file, 3000);
	MPI_MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
