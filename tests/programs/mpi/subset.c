/* A file that all ranks but the first open together, and one that each opens alone. */
#include "check.h"

int main(int argc, char **argv)
{
	MPI_File shared, own;
	MPI_Comm some;
	char name[4096];
	char data[100] = {0};
	int rank;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_MUST(MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &some));
	if (rank > 0) {
		snprintf(name, sizeof(name), "%s/shared", argv[1]);
		MPI_MUST(MPI_File_open(some, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
				       &shared));
		MPI_MUST(MPI_File_write_at_all(shared, rank * 100, data, 100, MPI_BYTE,
					       MPI_STATUS_IGNORE));
		MPI_MUST(MPI_File_close(&shared));
	}
	snprintf(name, sizeof(name), "%s/own-%d", argv[1], rank);
	MPI_MUST(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			       &own));
	MPI_MUST(MPI_File_write_at(own, 5, data, 10 + rank, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&own));
	MPI_Comm_free(&some);
	MPI_Finalize();
	return 0;
}
