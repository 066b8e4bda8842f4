/* Accesses of several ranks as they should not be made, each with the same work done well.
 *
 *	mpi_mistakes WHAT FILE
 *
 * The tests of findings run both under a slow store (tools/slow_store.c) and ask what Fathom concludes of them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "mpi/check.h"
#include "must.h"

enum { KIB = 1 << 10, MIB = 1 << 20, PIECE = 64 * KIB, RANKS = 16, STEPS = 20 };

static char data[4 * MIB];
static int rank, ranks;

/* Made by rank 0, opened by all. */
static int open_shared(const char *path)
{
	int fd = rank ? -1 : open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	if (rank)
		fd = open(path, O_RDWR);
	MUST(fd >= 0);
	return fd;
}

static int open_own(const char *path, int step)
{
	char name[512];

	snprintf(name, sizeof(name), "%s.%d.%d", path, step, rank);
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0);
	return fd;
}

/* Each step each rank makes a file of its own, all at once. */
static void storm(const char *path)
{
	for (int step = 0; step < STEPS; step++) {
		MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
		int fd = open_own(path, step);
		MUST(write(fd, data, PIECE) == PIECE);
		MUST(close(fd) == 0);
	}
}

/* Each step one file, made and written by rank 0 for all. */
static void gathered(const char *path)
{
	static char part[PIECE];

	for (int step = 0; step < STEPS; step++) {
		MPI_MUST(MPI_Gather(part, PIECE, MPI_BYTE, data, PIECE, MPI_BYTE, 0,
				    MPI_COMM_WORLD));
		if (rank)
			continue;
		int fd = open_own(path, step);
		MUST(write(fd, data, (size_t)PIECE * ranks) == (ssize_t)PIECE * ranks);
		MUST(close(fd) == 0);
	}
}

static void fill(int fd)
{
	if (rank == 0)
		MUST(write(fd, data, sizeof(data)) == sizeof(data));
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void all_read_all(const char *path)
{
	int fd = open_shared(path);

	fill(fd);
	for (off_t at = 0; at < (off_t)sizeof(data); at += PIECE)
		MUST(pread(fd, data + at, PIECE, at) == PIECE);
	MUST(close(fd) == 0);
}

static void each_its_part(const char *path)
{
	int fd = open_shared(path);
	long part = (long)sizeof(data) / ranks;

	fill(fd);
	for (long at = rank * part; at < (rank + 1) * part; at += PIECE)
		MUST(pread(fd, data + at, PIECE, at) == PIECE);
	MPI_MUST(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, data, (int)part, MPI_BYTE,
			       MPI_COMM_WORLD));
	MUST(close(fd) == 0);
}

static void lock(int fd, short type)
{
	struct flock all = {.l_type = type, .l_whence = SEEK_SET};

	MUST(fcntl(fd, F_SETLKW, &all) == 0);
}

/* Records of all ranks in turn, the file locked around each; or not, since nobody writes where another does. */
static void records(const char *path, int locked)
{
	int fd = open_shared(path);

	for (int step = 0; step < STEPS; step++) {
		if (locked)
			lock(fd, F_WRLCK);
		off_t at = (off_t)(step * ranks + rank) * PIECE;
		MUST(pwrite(fd, data, PIECE, at) == PIECE);
		if (locked)
			lock(fd, F_UNLCK);
	}
	MUST(close(fd) == 0);
}

static void locked(const char *path)
{
	records(path, 1);
}

static void unlocked(const char *path)
{
	records(path, 0);
}

/* A part of whole blocks for each rank; then records side by side, `distance` bytes from one to the next. */
static void side_by_side(const char *path, long distance)
{
	enum { BYTES = 60000 };
	int fd = open_shared(path);

	for (int step = 0; step < STEPS; step++) {
		off_t at = (off_t)(rank * STEPS + step) * PIECE;
		MUST(pwrite(fd, data, BYTES, at) == BYTES);
	}
	off_t begin = (off_t)ranks * STEPS * PIECE;
	for (int step = 0; step < 4 * STEPS; step++) {
		off_t at = begin + (off_t)(step * ranks + rank) * distance;
		MUST(pwrite(fd, data, BYTES, at) == BYTES);
	}
	MUST(close(fd) == 0);
}

static void touching(const char *path)
{
	side_by_side(path, 60000);
}

static void apart(const char *path)
{
	side_by_side(path, PIECE);
}

static const struct {
	const char *name;
	void (*make)(const char *path);
} works[] = {
	{"storm", storm},
	{"gathered", gathered},
	{"all-read-all", all_read_all},
	{"each-its-part", each_its_part},
	{"locked", locked},
	{"unlocked", unlocked},
	{"touching", touching},
	{"apart", apart},
};

int main(int argc, char **argv)
{
	int known = 0;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	MPI_MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
	MUST(ranks <= RANKS);
	for (size_t i = 0; argc == 3 && i < sizeof(works) / sizeof(*works); i++) {
		if (strcmp(works[i].name, argv[1]) == 0) {
			works[i].make(argv[2]);
			known = 1;
		}
	}
	MPI_MUST(MPI_Finalize());
	if (!known)
		fprintf(stderr, "usage: mpi_mistakes WHAT FILE\n");
	return known ? 0 : 2;
}
