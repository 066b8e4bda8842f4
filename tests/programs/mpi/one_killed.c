/* one_killed DIRECTORY WRITES: each rank writes 8 bytes WRITES times into a file of its own; when all have,
 * rank 1 is killed, and the others wait for what their launcher does about it. */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char name[4096];
	int rank, fd;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "%s/%d", argv[1], rank);
	fd = open(name, O_WRONLY | O_CREAT, 0644);
	for (int64_t i = 0; i < atoi(argv[2]); i++)
		if (pwrite(fd, &i, 8, 8 * i) != 8)
			return 1;
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	usleep(500000); /* time for some samples */
	if (rank == 1)
		raise(SIGKILL);
	for (;;)
		pause();
}
