/* Ranks without MPI that go in step, one of them slow at a time: who is critical, and are its calls all there?
 *
 *	critical launch N DIR   starts N of the other with ranks from 0, and waits for them
 *	critical work DIR       one rank
 *
 * DIR/board is shared memory, kept by who asks: which rank is slow (writes into DIR/slow), whether to end. Rank 0 writes
 * the step that all have begun. Each rank's n-th pwrite is at offset 8 n; at the end DIR/log.RANK has, for each step,
 * the number of its pwrites so far. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

enum { WRITES = 200, STEPS = 100000 };

struct board {
	_Atomic int64_t slow, stop, step, ranks, here;
};

static struct board *board;
static uint32_t done[STEPS];

static int open_in(const char *directory, const char *name, int rank)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%d", directory, name, rank);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0);
	return fd;
}

static void map_board(const char *directory)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/board", directory);
	fd = open(path, O_RDWR);
	MUST(fd >= 0);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(board != MAP_FAILED);
	close(fd);
}

/* The last one of each step lets the others go on. False: it was the last step. */
static int wait_for_all(int64_t step)
{
	if (atomic_fetch_add(&board->here, 1) + 1 == atomic_load(&board->ranks) * (step + 1))
		atomic_store(&board->step,
			     atomic_load(&board->stop) || step == STEPS - 2 ? -1 : step + 1);
	while (atomic_load(&board->step) == step)
		usleep(1000);
	return atomic_load(&board->step) >= 0;
}

static void work(const char *directory)
{
	const int rank = atoi(getenv("PMI_RANK"));
	char slow_directory[4096];
	uint32_t count = 0;
	int64_t step = 0;
	int usual, slow, log;

	map_board(directory);
	snprintf(slow_directory, sizeof(slow_directory), "%s/slow", directory);
	usual = open_in(directory, "data", rank);
	slow = open_in(slow_directory, "data", rank);
	do {
		const int is_slow = atomic_load(&board->slow) == rank;

		for (int i = 0; i < WRITES; i++, count++)
			MUST(pwrite(is_slow && i == 0 ? slow : usual, "12345678", 8, 8l * count) ==
			     8);
		done[step] = count;
	} while (wait_for_all(step++));
	log = open_in(directory, "log", rank);
	MUST(write(log, done, 4 * (size_t)step) == 4 * (ssize_t)step);
	close(log);
}

static void launch(int ranks, const char *directory)
{
	char text[16];
	int status;

	map_board(directory);
	atomic_store(&board->ranks, ranks);
	snprintf(text, sizeof(text), "%d", ranks);
	setenv("PMI_SIZE", text, 1);
	for (int rank = 0; rank < ranks; rank++) {
		snprintf(text, sizeof(text), "%d", rank);
		setenv("PMI_RANK", text, 1);
		if (fork() == 0) {
			execl("/proc/self/exe", "critical", "work", directory, (char *)NULL);
			_exit(127);
		}
	}
	while (wait(&status) > 0)
		MUST(status == 0);
}

int main(int argc, char **argv)
{
	MUST(argc > 2);
	if (strcmp(argv[1], "launch") == 0)
		launch(atoi(argv[2]), argv[argc - 1]);
	else
		work(argv[2]);
	return 0;
}
