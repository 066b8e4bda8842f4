/* One rank comes late to each collective write, because of an access of its own: who holds the others up?
 *
 *	late DIR
 *
 * DIR/board is shared memory, kept by who asks: which rank is slow (writes into DIR/slow first), whether to end. Rank 0
 * writes the step that it begins. At the end DIR/waited.RANK has, for each step, who was slow and the nanoseconds of the
 * rank's collective write. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { SIZE = 4096, END = -2, STEPS = 100000 };

struct board {
	_Atomic int64_t slow, stop, step;
};

static struct {
	int64_t slow, ns;
} waited[STEPS];

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void keep_account(const char *directory, int rank, int steps)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/waited.%d", directory, rank);
	file = fopen(path, "w");
	if (!file || fwrite(waited, sizeof(*waited), (size_t)steps, file) != (size_t)steps ||
	    fclose(file) != 0)
		MPI_Abort(MPI_COMM_WORLD, 96);
}

static struct board *map_board(const char *directory)
{
	char path[4096];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/board", directory);
	fd = open(path, O_RDWR);
	at = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || at == MAP_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 98);
	close(fd);
	return at;
}

/* Rank 0 looks, so that all know the same. */
static int who_is_slow(struct board *board, int rank)
{
	int slow = END;

	if (rank == 0) {
		if (!atomic_load(&board->stop))
			slow = (int)atomic_load(&board->slow);
		atomic_fetch_add(&board->step, 1);
	}
	MPI_MUST(MPI_Bcast(&slow, 1, MPI_INT, 0, MPI_COMM_WORLD));
	return slow;
}

int main(int argc, char **argv)
{
	char path[4096], data[SIZE];
	struct board *board;
	MPI_File file;
	int rank, slow, own, steps = 0;
	int64_t began;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	board = map_board(argv[1]);
	memset(data, rank, sizeof(data));
	snprintf(path, sizeof(path), "%s/slow/own.%d", argv[1], rank);
	own = open(path, O_RDWR | O_CREAT, 0644);
	snprintf(path, sizeof(path), "%s/shared", argv[1]);
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			       &file));
	while (steps < STEPS && (slow = who_is_slow(board, rank)) != END) {
		if (slow == rank && pwrite(own, data, SIZE, 0) != SIZE)
			MPI_Abort(MPI_COMM_WORLD, 97);
		began = now_ns();
		MPI_MUST(MPI_File_write_at_all(file, (MPI_Offset)rank * SIZE, data, SIZE, MPI_BYTE,
					       MPI_STATUS_IGNORE));
		waited[steps].slow = slow;
		waited[steps++].ns = now_ns() - began;
	}
	MPI_MUST(MPI_File_close(&file));
	keep_account(argv[1], rank, steps);
	MPI_Finalize();
	return 0;
}
