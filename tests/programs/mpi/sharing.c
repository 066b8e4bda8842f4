/* Ranks share a file by POSIX calls; what orders their accesses differs.
 *
 *	overlap FILE       each writes a piece that reaches into the next rank's, all at once
 *	apart FILE         so, but no piece reaches into another
 *	unsynced FILE      rank 0 writes, a barrier, the others read, and nobody closes the file
 *	committed FILE     so, with an fsync before the barrier
 *	closed FILE        so, rank 0 closes before the barrier and the others open after it */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { PIECE = 64 * 1024, TURNS = 8 };

static char piece[PIECE];

static void must(int held)
{
	if (!held)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static int open_file(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR, 0644);

	must(fd >= 0);
	return fd;
}

/* All ranks write at once, time after time. */
static void write_pieces(const char *path, int rank, off_t step)
{
	int fd = open_file(path);

	for (int turn = 0; turn < TURNS; turn++) {
		MPI_Barrier(MPI_COMM_WORLD);
		must(pwrite(fd, piece, PIECE, rank * step) == PIECE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	close(fd);
}

static void write_then_read(const char *path, int rank, const char *mode)
{
	int late = !strcmp(mode, "closed");
	int fd = rank && late ? -1 : open_file(path);

	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		must(pwrite(fd, piece, PIECE, 0) == PIECE);
	if (!rank && !strcmp(mode, "committed"))
		must(!fsync(fd));
	if (!rank && late)
		close(fd);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank && late)
		fd = open_file(path);
	if (rank)
		must(pread(fd, piece, PIECE, 0) == PIECE);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank || !late)
		close(fd);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	must(argc == 3);
	if (!strcmp(argv[1], "overlap"))
		write_pieces(argv[2], rank, PIECE / 2);
	else if (!strcmp(argv[1], "apart"))
		write_pieces(argv[2], rank, PIECE);
	else
		write_then_read(argv[2], rank, argv[1]);
	MPI_Finalize();
	return 0;
}
