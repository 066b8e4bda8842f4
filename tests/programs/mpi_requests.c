/* Every way to complete a request, I/O and messages mixed, statuses wanted and ignored.
 *
 * What the trace must show: each of the 20 posted writes is completed once, by a link with its own bytes;
 * the waits that completed messages only, and the failing tests, have no row. */
#include "mpi/check.h"

enum { POSTED = 20 };

static MPI_Request posted[POSTED];
/* Not a constant to the compiler, which takes MPICH's for an array that is too small. */
static MPI_Status *volatile ignored = MPI_STATUSES_IGNORE;
static char data[POSTED * 100];

static MPI_Request message(char *byte)
{
	MPI_Request request;

	MPI_MUST(MPI_Irecv(byte, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
	return request;
}

static void wait_all_and_any(void)
{
	char byte[2];
	MPI_Request mixed[4] = {posted[0], message(&byte[0]), posted[1], message(&byte[1])};
	MPI_Status status[4];
	int index;

	MPI_MUST(MPI_Waitall(4, mixed, ignored));
	for (int i = 0; i < 2; i++)
		MPI_MUST(MPI_Waitany(2, &posted[2], &index, i ? &status[0] : MPI_STATUS_IGNORE));
	MPI_MUST(MPI_Waitall(2, &posted[4], status));
	mixed[0] = message(&byte[0]);
	MPI_MUST(MPI_Wait(&mixed[0], MPI_STATUS_IGNORE));
}

static void wait_some(void)
{
	int left = 4, completed, index[4];
	MPI_Status status[4];

	while (left > 0) {
		MPI_MUST(MPI_Waitsome(4, &posted[6], &completed, index,
				      left == 4 ? ignored : status));
		left -= completed;
	}
}

static void test_all_kinds(void)
{
	int done, index, completed, left = 4, some[4];
	MPI_Status status[4];
	char byte[3];
	MPI_Request other = message(&byte[0]);
	/* MPICH's Testall asks a request that is done again, and aborts: one write only. */
	MPI_Request mixed[3] = {message(&byte[1]), posted[13], message(&byte[2])};

	for (int i = 10; i < 13; i++)
		for (done = 0; !done;)
			MPI_MUST(MPI_Test(&posted[i], &done, MPI_STATUS_IGNORE));
	for (done = 0; !done;)
		MPI_MUST(MPI_Testall(3, mixed, &done, ignored));
	for (done = 0; !done;)
		MPI_MUST(MPI_Testany(1, &posted[14], &index, &done, &status[0]));
	while (left > 0) {
		MPI_MUST(MPI_Testsome(4, &posted[15], &completed, some, ignored));
		left -= completed;
	}
	MPI_MUST(MPI_Test(&other, &done, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_Wait(&posted[19], &status[0]));
}

int main(int argc, char **argv)
{
	MPI_File file;
	int rank;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	for (int i = 0; i < POSTED; i++)
		MPI_MUST(MPI_File_iwrite_at(file, (rank * POSTED + i) * 100, data, i + 1, MPI_BYTE,
					    &posted[i]));
	wait_all_and_any();
	wait_some();
	test_all_kinds();
	MPI_MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
