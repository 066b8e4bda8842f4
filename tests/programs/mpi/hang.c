/* hang KIND FILE [SECONDS]: ranks write collectively, five times; but, by KIND,
 *  stuck   the last rank does not make the fourth write; the others wait in it
 *  opens   the last rank does not open FILE.2; the others wait in the open
 *  closes  the last rank closes the file instead of making the fourth write
 *  dies    the last rank kills itself after SECONDS instead of making the fourth write
 *  busy    all ranks compute after the third write, in no call
 *  alone   the same, but the first is in a read of a pipe that nobody writes to
 *  ends    all is written, then the last rank kills itself after SECONDS
 * Ranks that are to wait say so on stdout just before. */
#include "check.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { WRITES = 5, HUNG = 3, BYTES = 1000 };

static int rank, size, seconds;

static void say(void)
{
	printf("%d waits\n", rank);
	fflush(stdout);
}

static void compute(void)
{
	for (;;)
		pause();
}

static void write_all(MPI_File file, int step)
{
	char block[BYTES] = {0};
	MPI_Offset at = (MPI_Offset)(step * size + rank) * BYTES;

	MPI_MUST(MPI_File_write_at_all(file, at, block, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
}

static MPI_File open_all(const char *name)
{
	MPI_File file;

	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY,
			       MPI_INFO_NULL, &file));
	return file;
}

/* The last rank never comes; the others wait for it. */
static void hang(const char *kind, MPI_File file, const char *second)
{
	const int last = rank == size - 1;

	if (last && strcmp(kind, "closes") == 0)
		MPI_MUST(MPI_File_close(&file));
	if (last && strcmp(kind, "dies") == 0) {
		sleep((unsigned)seconds);
		raise(SIGKILL);
	}
	if (last)
		compute();
	say();
	if (strcmp(kind, "opens") == 0)
		open_all(second);
	else
		write_all(file, HUNG);
}

static void read_for_ever(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) == 0 && read(ends[0], &byte, 1) != 0)
		compute();
}

int main(int argc, char **argv)
{
	char second[4096];
	MPI_File file;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	seconds = argc > 3 ? atoi(argv[3]) : 0;
	snprintf(second, sizeof(second), "%s.2", argv[2]);
	file = open_all(argv[2]);
	for (int step = 0; step < HUNG; step++)
		write_all(file, step);
	if (strcmp(argv[1], "stuck") == 0 || strcmp(argv[1], "opens") == 0 ||
	    strcmp(argv[1], "closes") == 0 || strcmp(argv[1], "dies") == 0)
		hang(argv[1], file, second);
	if (strcmp(argv[1], "ends") == 0) {
		for (int step = HUNG; step < WRITES; step++)
			write_all(file, step);
		sleep((unsigned)seconds);
		if (rank == size - 1)
			raise(SIGKILL);
		compute();
	}
	say();
	if (strcmp(argv[1], "alone") == 0 && rank == 0)
		read_for_ever();
	compute();
}
