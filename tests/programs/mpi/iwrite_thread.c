/* Non-blocking writes posted by the main thread and waited for by another, in reverse order, one of
 * them found by MPI_Test after several failing tests. */
#include <pthread.h>

#include "check.h"

enum { POSTED = 8 };
static MPI_Request request[POSTED];

static void *wait_for_all(void *argument)
{
	int done = 0;

	for (int i = POSTED - 1; i > 0; i--)
		MPI_MUST(MPI_Wait(&request[i], MPI_STATUS_IGNORE));
	while (!done)
		MPI_MUST(MPI_Test(&request[0], &done, MPI_STATUS_IGNORE));
	return argument;
}

int main(int argc, char **argv)
{
	static char data[POSTED][1000];
	pthread_t thread;
	MPI_File file;
	int level, rank;

	MPI_MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
	if (level < MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 98);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	for (int i = 0; i < POSTED; i++)
		MPI_MUST(MPI_File_iwrite_at(file, (rank * POSTED + i) * 1000, data[i], 1000,
					    MPI_BYTE, &request[i]));
	if (pthread_create(&thread, NULL, wait_for_all, NULL) || pthread_join(thread, NULL))
		MPI_Abort(MPI_COMM_WORLD, 97);
	MPI_MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
