/* Ranks share a file, by POSIX calls or MPI-IO; what orders their accesses differs.
 *
 *	overlap FILE       each writes a piece that reaches into the next rank's, all at once
 *	apart FILE         so, but no piece reaches into another
 *	unsynced FILE      rank 0 writes, a barrier, the others read, and nobody closes the file
 *	committed FILE     so, with an fsync before the barrier
 *	closed FILE        so, rank 0 closes before the barrier and the others open after it
 *	mpi FILE           by MPI-IO, each writes and reads the same bytes, all at once
 *	atomic FILE        so, in MPI's atomic mode
 *	pointer FILE       each appends records by the shared file pointer, then reads its part of them */
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

static MPI_File open_mpi(const char *path)
{
	MPI_File file;

	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			       &file));
	return file;
}

static void touch_the_same(const char *path, int atomic)
{
	MPI_File file = open_mpi(path);

	MPI_MUST(MPI_File_set_atomicity(file, atomic));
	for (int turn = 0; turn < TURNS; turn++) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_MUST(MPI_File_write_at(file, 0, piece, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
		MPI_MUST(MPI_File_read_at(file, 0, piece, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_MUST(MPI_File_close(&file));
}

static void share_a_pointer(const char *path)
{
	MPI_File file = open_mpi(path);

	for (int turn = 0; turn < TURNS; turn++)
		MPI_MUST(MPI_File_write_shared(file, piece, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_sync(file));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_MUST(MPI_File_sync(file));
	MPI_MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MPI_MUST(MPI_File_read_ordered(file, piece, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&file));
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
	else if (!strcmp(argv[1], "mpi") || !strcmp(argv[1], "atomic"))
		touch_the_same(argv[2], !strcmp(argv[1], "atomic"));
	else if (!strcmp(argv[1], "pointer"))
		share_a_pointer(argv[2]);
	else
		write_then_read(argv[2], rank, argv[1]);
	MPI_Finalize();
	return 0;
}
