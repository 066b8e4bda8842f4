/* Reads, writes, positions, sizes. */
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "semantics.h"

static void ends(void)
{
	int fd = file_with("f", "text");
	char bytes[10];

	SAY(pread(fd, bytes, 10, 2));
	SAY(pread(fd, bytes, 10, 4));
	SAY(pread(fd, bytes, 10, LONG_MAX - 20));
	SAY(pread(fd, bytes, 10, LONG_MAX));
	SAY(pread(fd, bytes, 10, -1));
}

static void far_writes(void)
{
	int fd = file_with("f", "text");

	SAY(pwrite(fd, "x", 1, -1));
	SAY(pwrite(fd, "x", 1, LONG_MAX));
	SAY(pwrite(fd, "x", 1, 1L << 62));
	SAY(pwrite(fd, "x", 0, 1L << 62));
	say("%ld bytes", size_of("f"));
}

static void holes_are_zeros(void)
{
	int fd = file_with("f", "text");

	SAY(pwrite(fd, "x", 1, 8));
	say_content("f");
}

static void wrong_way(void)
{
	char byte;
	int fd;

	file_with("f", "text");
	fd = (int)MUST(open(in("f"), O_WRONLY));
	SAY(read(fd, &byte, 1));
	fd = (int)MUST(open(in("f"), O_RDONLY));
	SAY(write(fd, "x", 1));
	fd = (int)MUST(open(in("."), O_RDONLY));
	SAY(read(fd, &byte, 1));
	SAY(write(fd, "x", 1));
	SAY(read(99, &byte, 1));
}

static void vectors(void)
{
	static struct iovec many[IOV_MAX + 1];
	static char bytes[16];
	struct iovec v[2] = {{bytes, SSIZE_MAX}, {bytes, SSIZE_MAX}};
	volatile int minus_one = -1; /* a compiler would know */
	int fd = file_with("f", "text");

	for (int i = 0; i <= IOV_MAX; i++)
		many[i] = (struct iovec){bytes + i % 16, 1};
	SAY(writev(fd, many, IOV_MAX));
	SAY(writev(fd, many, IOV_MAX + 1));
	SAY(writev(fd, many, minus_one));
	SAY(writev(fd, many, 0));
	SAY(readv(fd, v, 2));
}

static void bad_memory(void)
{
	int fd = file_with("f", "text");
	char *nowhere = (char *)8;

	__asm__("" : "+r"(nowhere)); /* a compiler would know */
	SAY(read(fd, nowhere, 4));
	SAY(write(fd, nowhere, 4));
}

static void at_position(void)
{
	int fd = file_with("f", "0123456789");
	struct iovec v = {(char[3]){""}, 3};

	SAY(preadv2(fd, &v, 1, -1, 0));
	say("at %ld", (long)lseek(fd, 0, SEEK_CUR));
	SAY(pwritev2(fd, &v, 1, -1, 0));
	say("at %ld", (long)lseek(fd, 0, SEEK_CUR));
	SAY(preadv2(fd, &v, 1, -2, 0));
}

static void flags_of_a_transfer(void)
{
	int fd = file_with("f", "0123456789");
	struct iovec v = {(char[3]){"xy"}, 3};

	SAY(pwritev2(fd, &v, 1, 0, RWF_DSYNC));
	SAY(pwritev2(fd, &v, 1, 0, RWF_SYNC));
	SAY(preadv2(fd, &v, 1, 0, RWF_HIPRI));
	SAY(preadv2(fd, &v, 1, 0, 0x40000000));
}

static void appended_once(void)
{
	int fd = file_with("f", "0123456789");
	struct iovec v = {(char *)"end", 3};

	SAY(pwritev2(fd, &v, 1, 0, RWF_APPEND));
	SAY(pwritev2(fd, &v, 1, -1, RWF_APPEND));
	say("at %ld", (long)lseek(fd, 0, SEEK_CUR));
	say_content("f");
}

static void no_wait(void)
{
	int fd = file_with("f", "0123456789");
	struct iovec v = {(char[3]){""}, 3};

	SAY(preadv2(fd, &v, 1, 0, RWF_NOWAIT));
}

static void seeks(void)
{
	int fd = file_with("f", "text");

	SAY(lseek(fd, -1, SEEK_SET));
	SAY(lseek(fd, 10, SEEK_END));
	SAY(lseek(fd, -20, SEEK_CUR));
	SAY(lseek(fd, 0, 99));
	SAY(lseek(fd, LONG_MAX, SEEK_SET));
	MUST(lseek(fd, 7, SEEK_SET));
	SAY(lseek(fd, LONG_MAX, SEEK_CUR));
	SAY(lseek(fd, 0, SEEK_CUR));
}

static void truncations(void)
{
	int fd = file_with("f", "0123456789"), reader = (int)MUST(open(in("f"), O_RDONLY));

	SAY(ftruncate(fd, 4));
	SAY(ftruncate(fd, 8));
	say_content("f");
	SAY(ftruncate(fd, -1));
	SAY(ftruncate(reader, 0));
	SAY(ftruncate(fd, LONG_MAX));
	say("%ld bytes", size_of("f"));
}

static void truncations_by_name(void)
{
	file_with("f", "0123456789");
	SAY(truncate(in("f"), 2));
	SAY(truncate(in("f"), -1));
	SAY(truncate(in("."), 0));
	SAY(truncate(in("nowhere"), 0));
	SAY(truncate(in("f/"), 0));
	say("%ld bytes", size_of("f"));
}

static void limited(void)
{
	static const struct rlimit limit = {8, 8};
	int fd = file_with("f", "0123");

	signal(SIGXFSZ, SIG_IGN);
	MUST(setrlimit(RLIMIT_FSIZE, &limit));
	SAY(pwrite(fd, "abcdefgh", 8, 4));
	SAY(pwrite(fd, "x", 1, 8));
	SAY(ftruncate(fd, 9));
	say("%ld bytes", size_of("f"));
}

static void limited_append(void)
{
	static const struct rlimit limit = {8, 8};
	int fd = file_with("f", "0123");

	signal(SIGXFSZ, SIG_IGN);
	MUST(fcntl(fd, F_SETFL, O_APPEND));
	MUST(setrlimit(RLIMIT_FSIZE, &limit));
	SAY(write(fd, "abcdefgh", 8));
	SAY(write(fd, "x", 1));
	say("%ld bytes", size_of("f"));
}

static void limited_signal(void)
{
	static const struct rlimit limit = {8, 8};
	int fd = file_with("f", "0123");

	MUST(setrlimit(RLIMIT_FSIZE, &limit));
	SAY(pwrite(fd, "x", 1, 8));
}

static void syncs(void)
{
	int fd = file_with("f", "text"), dir = (int)MUST(open(in("."), O_RDONLY));

	SAY(fsync(fd));
	SAY(fdatasync(fd));
	SAY(syncfs(fd));
	SAY(fsync(dir));
	fd = (int)MUST(open(in("f"), O_RDONLY));
	SAY(fsync(fd));
	SAY(fsync((int)MUST(open(in("f"), O_PATH))));
}

static void ranges_synced(void)
{
	int fd = file_with("f", "text");

	SAY(sync_file_range(fd, 0, 4, SYNC_FILE_RANGE_WRITE));
	SAY(sync_file_range(fd, 0, 0, 7));
	SAY(sync_file_range(fd, -1, 4, SYNC_FILE_RANGE_WRITE));
	SAY(sync_file_range(fd, 0, 4, 8));
}

static void advice(void)
{
	int fd = file_with("f", "text");

	say("%d", posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	say("%d", posix_fadvise(fd, 0, 0, 99));
	say("%d", posix_fadvise(fd, 0, -1, POSIX_FADV_NORMAL));
	SAY(readahead(fd, 0, 4));
	SAY(readahead((int)MUST(open(in("f"), O_WRONLY)), 0, 4));
}

const struct check data_checks[] = {
	{"read, write",
	 "reads over the end, at it, far beyond, to the last offset and over it, at -1", ends},
	{"read, write", "pwrite at -1, at the last offset, at 2^62, of nothing there; size",
	 far_writes},
	{"read, write", "beyond the end leaves zeros", holes_are_zeros},
	{"read, write",
	 "read of O_WRONLY, write of O_RDONLY, read and write of a directory, of no file",
	 wrong_way},
	{"read, write", "vectors of 1,024 pieces, 1,025, -1, none; of 2^63 bytes and more",
	 vectors},
	{"read, write", "into and from memory that is not there", bad_memory},
	{"read, write", "preadv2, pwritev2 at -1 (the position), preadv2 at -2", at_position},
	{"read, write", "RWF_DSYNC, RWF_SYNC, RWF_HIPRI, an unknown flag", flags_of_a_transfer},
	{"read, write", "RWF_APPEND at 0, at the position; position", appended_once},
	{"read, write", "RWF_NOWAIT of cached bytes", no_wait},
	{"size, position", "lseek to -1, end + 10, before 0, by 99, to the last, beyond it", seeks},
	{"size, position", "ftruncate shorter, longer, to -1, with O_RDONLY, to the last offset",
	 truncations},
	{"size, position", "truncate by name, to -1, of a directory, of nothing, of f/",
	 truncations_by_name},
	{"size, position", "RLIMIT_FSIZE 8, file of 4: write 8 at 4, 1 at 8, ftruncate 9", limited},
	{"size, position", "RLIMIT_FSIZE 8, file of 4, O_APPEND: write 8, then 1", limited_append},
	{"size, position", "RLIMIT_FSIZE: the signal", limited_signal},
	{"sync", "fsync, fdatasync, syncfs, of a directory, with O_RDONLY, with O_PATH", syncs},
	{"sync", "sync_file_range: 4 bytes, all, at -1, with an unknown flag", ranges_synced},
	{"sync", "posix_fadvise, with an unknown advice, a length of -1; readahead, with O_WRONLY",
	 advice},
	{0},
};
