/* Holes and space: fallocate, SEEK_HOLE and SEEK_DATA. */
#include <linux/falloc.h>

#include "semantics.h"

enum { BLOCK = 4096, MIB = 1 << 20 };

static void allocate(void)
{
	int fd = file_with("f", "text");
	struct stat about;

	SAY(fallocate(fd, 0, 0, 2 * MIB));
	MUST(fstat(fd, &about));
	say("%ld bytes, %s", (long)about.st_size,
	    about.st_blocks >= 2 * MIB / 512 ? "set aside" : "not set aside");
}

static void keep_size(void)
{
	int fd = file_with("f", "text");
	struct stat about;

	SAY(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 2 * MIB));
	MUST(fstat(fd, &about));
	say("%ld bytes, %s", (long)about.st_size,
	    about.st_blocks >= 2 * MIB / 512 ? "set aside" : "not set aside");
}

static void posix_allocate(void)
{
	int fd = file_with("f", "text");
	struct stat about;

	say("%d", posix_fallocate(fd, 0, 2 * MIB));
	MUST(fstat(fd, &about));
	say("%ld bytes, %s", (long)about.st_size,
	    about.st_blocks >= 2 * MIB / 512 ? "set aside" : "not set aside");
	say("%d", posix_fallocate(fd, -1, 1));
	say("%d", posix_fallocate(fd, 0, 0));
}

static void punch(void)
{
	int fd = file_of("f", 3 * BLOCK);
	struct stat before, after;
	char bytes[4] = "";

	MUST(fsync(fd));
	MUST(fstat(fd, &before));
	SAY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BLOCK, BLOCK));
	MUST(fstat(fd, &after));
	MUST(pread(fd, bytes, 4, BLOCK));
	say("%s, %ld bytes, %s", bytes[0] ? "as it was" : "zeros", (long)after.st_size,
	    after.st_blocks < before.st_blocks ? "fewer blocks" : "no fewer blocks");
}

static void zero(void)
{
	int fd = file_of("f", 3 * BLOCK);
	char bytes[4] = "";

	SAY(fallocate(fd, FALLOC_FL_ZERO_RANGE, 10, BLOCK));
	MUST(pread(fd, bytes, 4, 10));
	say(bytes[0] ? "as it was" : "zeros");
	SAY(fallocate(fd, FALLOC_FL_ZERO_RANGE, 3 * BLOCK, BLOCK));
	say("%ld bytes", size_of("f"));
	SAY(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 5 * BLOCK, BLOCK));
	say("%ld bytes", size_of("f"));
}

static void collapse(void)
{
	int fd = file_of("f", 3 * BLOCK);
	char bytes[4];

	SAY(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, BLOCK, BLOCK));
	MUST(pread(fd, bytes, 4, BLOCK));
	say("%ld bytes, \"%.4s\"", size_of("f"), bytes);
	SAY(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 1, BLOCK));
}

static void insert(void)
{
	int fd = file_of("f", 3 * BLOCK);
	char bytes[4];

	SAY(fallocate(fd, FALLOC_FL_INSERT_RANGE, BLOCK, BLOCK));
	MUST(pread(fd, bytes, 4, 2 * BLOCK));
	say("%ld bytes, \"%.4s\"", size_of("f"), bytes);
}

static void mistakes(void)
{
	int fd = file_of("f", BLOCK), reader = (int)MUST(open(in("f"), O_RDONLY)),
	    dir = (int)MUST(open(in("."), O_RDONLY));

	SAY(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, BLOCK));
	SAY(fallocate(fd, 0, 0, 0));
	SAY(fallocate(fd, 0, -1, 1));
	SAY(fallocate(fd, 0, 1L << 62, 1L << 62));
	SAY(fallocate(reader, 0, 0, BLOCK));
	SAY(fallocate(dir, 0, 0, BLOCK));
	SAY(fallocate(fd, 0x4000, 0, BLOCK));
}

static void appended_after(void)
{
	int fd = file_with("f", "text");

	SAY(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, MIB));
	MUST(fcntl(fd, F_SETFL, O_APPEND));
	SAY(write(fd, "end", 3));
	say("%ld bytes", size_of("f"));
	SAY(fallocate(fd, 0, 0, BLOCK));
	SAY(write(fd, "end", 3));
	say("%ld bytes", size_of("f"));
}

static void holes(void)
{
	int fd = file_with("f", "text");

	MUST(pwrite(fd, "x", 1, MIB));
	SAY(lseek(fd, 0, SEEK_DATA));
	SAY(lseek(fd, 0, SEEK_HOLE));
	SAY(lseek(fd, BLOCK, SEEK_DATA));
	SAY(lseek(fd, MIB, SEEK_HOLE));
	SAY(lseek(fd, MIB + 1, SEEK_DATA));
	SAY(lseek(fd, MIB + 1, SEEK_HOLE));
	SAY(lseek(fd, -1, SEEK_DATA));
	SAY(lseek(fd, 0, SEEK_CUR));
}

static void only_a_hole(void)
{
	int fd = file_with("f", "");

	SAY(lseek(fd, 0, SEEK_HOLE));
	MUST(ftruncate(fd, MIB));
	SAY(lseek(fd, 0, SEEK_DATA));
	SAY(lseek(fd, 10, SEEK_HOLE));
}

const struct check space_checks[] = {
	{"fallocate", "2 MiB: size, space", allocate},
	{"fallocate", "FALLOC_FL_KEEP_SIZE: size, space", keep_size},
	{"fallocate", "posix_fallocate: size, space, at -1, of nothing", posix_allocate},
	{"fallocate", "FALLOC_FL_PUNCH_HOLE", punch},
	{"fallocate", "FALLOC_FL_ZERO_RANGE within, at the end, with KEEP_SIZE", zero},
	{"fallocate", "FALLOC_FL_COLLAPSE_RANGE, of a part of a block", collapse},
	{"fallocate", "FALLOC_FL_INSERT_RANGE", insert},
	{"fallocate",
	 "PUNCH_HOLE alone, no bytes, at -1, too far, O_RDONLY, a directory, an unknown mode",
	 mistakes},
	{"fallocate", "then O_APPEND: behind the size, not behind the space", appended_after},
	{"holes", "SEEK_DATA, SEEK_HOLE of a sparse file, at and beyond its end, at -1; position",
	 holes},
	{"holes", "of an empty file, of nothing but a hole", only_a_hole},
	{0},
};
