/* What the page cache has, and what it has not (mistakes.h). */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <time.h>

#include "mistakes.h"

static void reread(const char *path, int times)
{
	int fd = make(path);

	append(fd, MIB, PIECE);
	for (int i = 0; i < times; i++) {
		for (long at = 0; at < MIB; at += PIECE)
			MUST(pread(fd, data, PIECE, at) == PIECE);
	}
	MUST(close(fd) == 0);
}

/* Written long ago: the page cache has none of it; or only just. Four times each MiB is read and worked on. */
static void read_written(const char *path, bool is_cold)
{
	int fd = make(path);
	volatile unsigned sum = 0;

	append(fd, 64l * MIB, MIB);
	MUST(fsync(fd) == 0);
	for (int turn = 0; turn < 4; turn++) {
		MUST(!is_cold || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
		MUST(lseek(fd, 0, SEEK_SET) == 0);
		while (read(fd, data, MIB) == MIB)
			for (long at = 0; at < MIB; at += 4)
				sum += (unsigned char)data[at];
	}
	MUST(close(fd) == 0);
}

/* Each page of a file, through a mapping: nothing of it is in the page cache. `advice` is what the kernel is told. */
static void map_cold(const char *path, int advice)
{
	enum { SIZE = 32 * MIB, PAGE = 4 * KIB };
	int fd = make(path);
	volatile unsigned sum = 0;

	append(fd, SIZE, MIB);
	MUST(fsync(fd) == 0);
	MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	const unsigned char *mapped = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	MUST(mapped != MAP_FAILED);
	MUST(madvise((void *)mapped, SIZE, advice) == 0);
	for (long at = 0; at < SIZE; at += PAGE)
		sum += mapped[at];
	MUST(munmap((void *)mapped, SIZE) == 0);
	MUST(close(fd) == 0);
}

static void map_random(const char *path)
{
	map_cold(path, MADV_RANDOM);
}

static void map_in_order(const char *path)
{
	map_cold(path, MADV_SEQUENTIAL);
}

static void nap(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000l};

	MUST(nanosleep(&time, NULL) == 0);
}

/* 64 MiB, and work of two seconds: after them; or by turns, while storage writes what is there. */
static void write_and_work(const char *path, bool is_burst)
{
	int fd = make(path);

	for (int i = 0; i < 64; i++) {
		append(fd, MIB, MIB);
		if (is_burst)
			continue;
		MUST(sync_file_range(fd, (off_t)i * MIB, MIB, SYNC_FILE_RANGE_WRITE) == 0);
		nap(2000 / 64);
	}
	if (is_burst)
		nap(2000);
	MUST(close(fd) == 0);
}

static void write_burst(const char *path)
{
	write_and_work(path, true);
}

static void write_by_turns(const char *path)
{
	write_and_work(path, false);
}

static void read_cold(const char *path)
{
	read_written(path, true);
}

static void read_warm(const char *path)
{
	read_written(path, false);
}

static void read_again(const char *path)
{
	reread(path, 40);
}

static void read_once(const char *path)
{
	reread(path, 1);
}

static const struct work works[] = {
	{"read-cold", read_cold},     {"read-warm", read_warm},
	{"map-random", map_random},   {"map-in-order", map_in_order},
	{"write-burst", write_burst}, {"write-by-turns", write_by_turns},
	{"read-again", read_again},   {"read-once", read_once},
};

int main(int argc, char **argv)
{
	return work(works, sizeof(works) / sizeof(*works), argc, argv);
}
