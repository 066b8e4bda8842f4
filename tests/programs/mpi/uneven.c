/* How ranks share work, and where it goes; all of it in blocks of 64 KiB by POSIX calls.
 *
 *	one DIR          rank 0 writes everything, the others wait
 *	uneven DIR       rank 0 writes half of it
 *	even DIR         each rank writes as much, to a file of its own
 *	servers DIR…     each rank writes a file in each directory
 *	stripes DIR…     so, block after block, each in the next directory
 *	alone DIR…       as servers, one rank after the other
 *	crowd DIR…       rank 0 writes in the first directory; then all do, and each in one of the others
 *	spread DIR…      so, but in the end all have written in their own one only
 *	calm DIR         rank 0 writes a large block again and again
 *	loaded DIR       so, and in the second half processes that compute keep the processors busy */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { BLOCK = 64 * 1024, BLOCKS = 64, LARGE = 4 * 1024 * 1024, REWRITES = 600, BUSY = 16 };

static char block[LARGE];

static int create(const char *directory, int rank)
{
	char path[4096];

	if (mkdir(directory, 0755) && errno != EEXIST)
		MPI_Abort(MPI_COMM_WORLD, 1);
	snprintf(path, sizeof(path), "%s/f.%d", directory, rank);
	int fd = open(path, O_CREAT | O_WRONLY, 0644);
	if (fd < 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return fd;
}

static void write_blocks(const char *directory, int rank, int blocks)
{
	int fd = blocks ? create(directory, rank) : -1;

	for (int i = 0; i < blocks; i++)
		if (pwrite(fd, block, BLOCK, (off_t)i * BLOCK) != BLOCK)
			MPI_Abort(MPI_COMM_WORLD, 1);
	if (blocks)
		close(fd);
}

static void write_stripes(char **directories, int count, int rank)
{
	int fds[64];

	for (int i = 0; i < count; i++)
		fds[i] = create(directories[i], rank);
	for (int i = 0; i < BLOCKS * 8; i++)
		if (pwrite(fds[i % count], block, BLOCK, (off_t)(i / count) * BLOCK) != BLOCK)
			MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

static void rewrite(int fd)
{
	for (int i = 0; i < REWRITES; i++)
		if (pwrite(fd, block, LARGE, 0) != LARGE)
			MPI_Abort(MPI_COMM_WORLD, 1);
}

static void load(const char *directory, int busy)
{
	int fd = create(directory, 0);
	pid_t children[BUSY];

	rewrite(fd);
	for (int i = 0; i < busy; i++) {
		children[i] = fork();
		for (volatile unsigned n = 0; !children[i]; n++)
			;
	}
	rewrite(fd);
	for (int i = 0; i < busy; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	close(fd);
}

static void crowd(char **directories, int count, int rank, bool together)
{
	const char *own = directories[1 + rank % (count - 1)];

	if (!rank)
		write_blocks(directories[0], rank, BLOCKS);
	MPI_Barrier(MPI_COMM_WORLD);
	write_blocks(together ? directories[0] : own, rank, 2 * BLOCKS);
	MPI_Barrier(MPI_COMM_WORLD);
	write_blocks(own, rank, BLOCKS);
}

int main(int argc, char **argv)
{
	int rank, ranks;
	const char *mode = argc > 2 ? argv[1] : "";

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(mode, "one"))
		write_blocks(argv[2], rank, rank ? 0 : BLOCKS * ranks);
	if (!strcmp(mode, "uneven"))
		write_blocks(argv[2], rank,
			     rank ? BLOCKS * ranks / 2 / (ranks - 1) : BLOCKS * ranks / 2);
	if (!strcmp(mode, "even"))
		write_blocks(argv[2], rank, BLOCKS);
	for (int i = 2; !strcmp(mode, "servers") && i < argc; i++)
		write_blocks(argv[i], rank, BLOCKS);
	if (!strcmp(mode, "stripes"))
		write_stripes(argv + 2, argc - 2, rank);
	for (int turn = 0; !strcmp(mode, "alone") && turn < ranks; turn++) {
		for (int i = 2; turn == rank && i < argc; i++)
			write_blocks(argv[i], rank, BLOCKS);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (!strcmp(mode, "crowd") || !strcmp(mode, "spread"))
		crowd(argv + 2, argc - 2, rank, !strcmp(mode, "crowd"));
	if (!rank && (!strcmp(mode, "calm") || !strcmp(mode, "loaded")))
		load(argv[2], !strcmp(mode, "loaded") ? BUSY : 0);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
