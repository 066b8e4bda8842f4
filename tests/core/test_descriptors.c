/* Positions of descriptors against the kernel's own (lseek), whatever is opened, duplicated, moved and closed;
 * and what must be unknown. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "core/call.h"
#include "core/process.h"

enum { FILES = 4, FDS = 12, STEPS = 20000 };

static uint64_t seed = 7;
static char path[FILES][64];
static int fd_of[FDS];
static uint32_t object_at[FDS];
static struct call none; /* no call around: objects are defined all the same */

static int64_t kernel_position(int fd)
{
	return lseek(fd, 0, SEEK_CUR);
}

/* What a wrapper of read or write does. Returns the offset it would record. */
static int64_t transfer(int fd, bool is_write, size_t size)
{
	static char block[5000];
	int64_t from = descriptor_position(fd);
	ssize_t done = is_write ? write(fd, block, size) : read(fd, block, size);

	return descriptor_advance(fd, from, done);
}

static void open_at(int slot)
{
	int file = (int)random_below(&seed, FILES);
	int flags = O_RDWR | O_CREAT | (random_below(&seed, 8) ? 0 : O_APPEND);

	fd_of[slot] = open(path[file], flags, 0600);
	CHECK(fd_of[slot] >= 0);
	object_at[slot] = descriptor_open(&none, fd_of[slot], AT_FDCWD, path[file], flags);
	CHECK(object_at[slot]);
}

static void close_at(int slot)
{
	descriptor_close(fd_of[slot]);
	CHECK(close(fd_of[slot]) == 0);
	fd_of[slot] = -1;
}

/* dup into a free slot, dup2 over one in use. */
static void dup_at(int from, int to)
{
	if (fd_of[to] < 0) {
		fd_of[to] = dup(fd_of[from]);
	} else {
		CHECK(dup2(fd_of[from], fd_of[to]) == fd_of[to]);
	}
	descriptor_dup(fd_of[from], fd_of[to], false);
	object_at[to] = object_at[from];
}

static void seek_at(int slot)
{
	off_t to = lseek(fd_of[slot], (off_t)random_below(&seed, 100000), SEEK_SET);

	descriptor_seek(fd_of[slot], to);
}

static void step(void)
{
	int slot = (int)random_below(&seed, FDS), other = (int)random_below(&seed, FDS);
	uint64_t what = random_below(&seed, 100);
	int64_t before, recorded;

	if (fd_of[slot] < 0) {
		open_at(slot);
	} else if (what < 4) {
		close_at(slot);
	} else if (what < 8) {
		dup_at(slot, other);
	} else if (what < 20) {
		seek_at(slot);
	} else {
		before = kernel_position(fd_of[slot]);
		recorded = transfer(fd_of[slot], what % 2, random_below(&seed, 5000));
		if (fcntl(fd_of[slot], F_GETFL) & O_APPEND)
			CHECK(recorded == UNKNOWN_OFFSET);
		else
			CHECK(recorded == before);
	}
	if (fd_of[slot] >= 0)
		CHECK(descriptor_object(fd_of[slot]) == object_at[slot]);
}

/* Two transfers of one description at once: neither knows its offset, the next one does. */
static void overlapping(void)
{
	int fd = fd_of[0], twin = fd_of[1];
	int64_t a = descriptor_position(fd), b = descriptor_position(twin);

	CHECK(a == 0 && b == 0);
	CHECK(write(fd, "abc", 3) == 3 && write(twin, "de", 2) == 2);
	CHECK(descriptor_advance(fd, a, 3) == UNKNOWN_OFFSET);
	CHECK(descriptor_advance(twin, b, 2) == UNKNOWN_OFFSET);
	CHECK(transfer(fd, true, 10) == 5 && transfer(twin, true, 1) == 15);
}

static void flags_and_sharing(void)
{
	int fd = fd_of[0], twin = fd_of[1];

	descriptor_flags(fd, O_APPEND);
	CHECK(descriptor_position(twin) == UNKNOWN_OFFSET);
	open_at(2);
	close_at(2);
	fd_of[2] = open(path[0], O_RDWR);
	descriptor_open(&none, fd_of[2], AT_FDCWD, path[0], O_RDWR);
	descriptor_cloexec(fd_of[2], true);
	process_shared_descriptors(true);
	CHECK(transfer(fd_of[2], false, 1) == 0); /* not kept by an exec */
	process_shared_descriptors(false);
	CHECK(transfer(fd_of[2], false, 1) == UNKNOWN_OFFSET);
}

static void odd_descriptors(void)
{
	int ends[2], high;
	uint32_t object;

	CHECK(descriptor_object(-1) == 0 && descriptor_object(INT32_MAX) == 0);
	CHECK(descriptor_object(900) == 0 && descriptor_position(900) == UNKNOWN_OFFSET);
	descriptor_close(-1);
	descriptor_close(INT32_MAX);
	CHECK(pipe(ends) == 0);
	object = descriptor_object(ends[0]); /* that it does not know: asked for */
	CHECK(object && descriptor_object(ends[0]) == object);
	CHECK(descriptor_position(ends[0]) == UNKNOWN_OFFSET);
	high = fcntl(ends[0], F_DUPFD, 1020);
	descriptor_dup(ends[0], high, false);
	CHECK(descriptor_object(high) == object);
	descriptor_close_range(1000, ~0u);
	close(high);
	CHECK(descriptor_object(high) == 0 && descriptor_object(ends[0]) == object);
}

/* Descriptions go from thread to thread: none may be had by two descriptors. */
static void *opens_and_closes(void *file)
{
	for (int i = 0; i < 10000; i++) {
		int fd = open(file, O_RDWR), twin = dup(fd);

		CHECK(descriptor_open(&none, fd, AT_FDCWD, file, O_RDWR));
		descriptor_dup(fd, twin, false);
		descriptor_close(fd);
		close(fd);
		CHECK(transfer(twin, false, 10) == 0);
		CHECK(transfer(twin, false, 20) == 10);
		CHECK(descriptor_position(twin) == 30);
		descriptor_close(twin);
		close(twin);
	}
	return NULL;
}

static void two_threads(void)
{
	pthread_t other;

	CHECK(ftruncate(fd_of[0], 100) == 0);
	CHECK(pthread_create(&other, NULL, opens_and_closes, path[0]) == 0);
	opens_and_closes(path[0]);
	CHECK(pthread_join(other, NULL) == 0);
}

int main(void)
{
	const char *directory = run_begin("call", "gettime");
	size_t bytes;

	for (int i = 0; i < FILES; i++)
		snprintf(path[i], sizeof(path[i]), "%s/file%d", directory, i);
	for (int i = 0; i < FDS; i++)
		fd_of[i] = -1;
	for (int i = 0; i < STEPS; i++)
		step();
	for (int i = 0; i < FDS; i++)
		if (fd_of[i] >= 0)
			close_at(i);
	fd_of[0] = open(path[0], O_RDWR | O_TRUNC);
	descriptor_open(&none, fd_of[0], AT_FDCWD, path[0], O_RDWR);
	dup_at(0, 1);
	overlapping();
	flags_and_sharing();
	odd_descriptors();
	two_threads();
	free(run_end(&bytes));
	return 0;
}
