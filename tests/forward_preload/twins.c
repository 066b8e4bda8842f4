/* Random operations on two files, one forwarded and one local: each must do what the other does.
 * twins FORWARDED LOCAL STEPS SEED; prints what differs and ends with 1. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../core/progress.h"

enum { LONGEST = 300000, PIECE = 70000 };

static const char *path[2], *other[2];
static int fd[2], step;
static long done; /* what the forwarded file's operation returned */
static char buffer[2][PIECE], given[PIECE];

static long pick(long below)
{
	return random() % below;
}

static void same(const char *what, long a, int a_errno, long b, int b_errno)
{
	if (a == b && (a >= 0 || a_errno == b_errno))
		return;
	printf("step %d: %s: forwarded %ld (%s), local %ld (%s)\n", step, what, a,
	       a < 0 ? strerror(a_errno) : "", b, b < 0 ? strerror(b_errno) : "");
	exit(1);
}

static void same_bytes(const char *what, long n)
{
	if (n <= 0 || !memcmp(buffer[0], buffer[1], (size_t)n))
		return;
	printf("step %d: %s: other bytes\n", step, what);
	exit(1);
}

/* Runs an expression of `i` on both files. */
#define BOTH(what, expression)                                                                     \
	do {                                                                                       \
		long result[2];                                                                    \
		int failed[2];                                                                     \
		for (int i = 0; i < 2; i++) {                                                      \
			errno = 0;                                                                 \
			result[i] = (long)(expression);                                            \
			failed[i] = errno;                                                         \
		}                                                                                  \
		same(what, result[0], failed[0], result[1], failed[1]);                            \
		done = result[0];                                                                  \
	} while (0)

static void fill(long n)
{
	for (long i = 0; i < n; i++)
		given[i] = (char)('a' + (step + i) % 26);
}

static void write_some(void)
{
	long n = pick(PIECE), at = pick(LONGEST - PIECE);
	struct iovec v[3] = {
		{given, (size_t)n / 3}, {given + n / 3, 0}, {given + n / 3, (size_t)(n - n / 3)}};

	fill(n);
	switch (pick(4)) {
	case 0:
		BOTH("pwrite", pwrite(fd[i], given, (size_t)n, at));
		break;
	case 1:
		BOTH("lseek", lseek(fd[i], at, SEEK_SET));
		BOTH("write", write(fd[i], given, (size_t)n));
		break;
	case 2:
		BOTH("pwritev", pwritev(fd[i], v, 3, at));
		break;
	default:
		BOTH("lseek", lseek(fd[i], at, SEEK_SET));
		BOTH("writev", writev(fd[i], v, 3));
	}
}

static void read_some(void)
{
	long n = pick(PIECE), at = pick(LONGEST + 1000);

	switch (pick(4)) {
	case 0:
		BOTH("pread", pread(fd[i], buffer[i], (size_t)n, at));
		break;
	case 1:
		BOTH("read on", read(fd[i], buffer[i], (size_t)n));
		break;
	case 2:
		BOTH("readv", readv(fd[i],
				    (struct iovec[]){{buffer[i], (size_t)n / 2},
						     {buffer[i] + n / 2, (size_t)(n - n / 2)}},
				    2));
		break;
	default:
		BOTH("preadv", preadv(fd[i], (struct iovec[]){{buffer[i], (size_t)n}}, 1, at));
	}
	same_bytes("read", done);
}

static void reopen(int flags)
{
	BOTH("close", close(fd[i]));
	BOTH("open", (fd[i] = open(path[i], flags | O_CREAT, 0640)) >= 0 ? 0 : -1);
}

static void seek_and_size(void)
{
	static const int from[] = {SEEK_SET, SEEK_CUR, SEEK_END};
	long whence = from[pick(3)], at = pick(LONGEST) - 1000;
	struct stat about;

	BOTH("lseek", lseek(fd[i], at, (int)whence));
	BOTH("size", fstat(fd[i], &about) ? -1 : about.st_size);
	BOTH("mode", stat(path[i], &about) ? -1 : (long)about.st_mode);
	BOTH("position", lseek(fd[i], 0, SEEK_CUR));
}

static void append_some(void)
{
	long n = pick(2000);

	reopen(O_RDWR | O_APPEND);
	fill(n);
	BOTH("flags", fcntl(fd[i], F_GETFL) & (O_ACCMODE | O_APPEND));
	for (int k = 0; k < 3; k++)
		BOTH("append", write(fd[i], given, (size_t)n));
	BOTH("position", lseek(fd[i], 0, SEEK_CUR));
	reopen(O_RDWR);
}

static void cut(void)
{
	long size = pick(LONGEST);

	if (pick(2))
		BOTH("ftruncate", ftruncate(fd[i], size));
	else
		BOTH("truncate", truncate(path[i], size));
}

static void duplicate(void)
{
	int more[2];

	BOTH("dup", (more[i] = dup(fd[i])) >= 0 ? 0 : -1);
	BOTH("lseek", lseek(more[i], 100, SEEK_SET));
	BOTH("read", read(fd[i], buffer[i], 1000));
	same_bytes("read after dup", done);
	BOTH("position", lseek(more[i], 0, SEEK_CUR));
	BOTH("close", close(fd[i]));
	BOTH("dup2", dup2(more[i], fd[i]) == fd[i] ? 0 : -1);
	BOTH("close", close(more[i]));
}

static void map(void)
{
	struct stat about;

	BOTH("size", fstat(fd[i], &about) ? -1 : about.st_size);
	if (done < 1)
		return;
	done = done < PIECE ? done : PIECE;
	for (int i = 0; i < 2; i++) {
		char *at = mmap(NULL, (size_t)done, PROT_READ, MAP_PRIVATE, fd[i], 0);

		if (at == MAP_FAILED) {
			printf("step %d: mmap: %s\n", step, strerror(errno));
			exit(1);
		}
		memcpy(buffer[i], at, (size_t)done);
		munmap(at, (size_t)done);
	}
	same_bytes("mmap", done);
}

static void stream(void)
{
	FILE *f[2];
	long at = pick(LONGEST);

	BOTH("fopen", (f[i] = fopen(path[i], "r+")) ? 0 : -1);
	BOTH("fseek", fseek(f[i], at, SEEK_SET));
	BOTH("fprintf", fprintf(f[i], "step %d\n", step));
	BOTH("ftell", ftell(f[i]));
	BOTH("fseek", fseek(f[i], at / 2, SEEK_SET));
	BOTH("fread", (long)fread(buffer[i], 1, 5000, f[i]));
	same_bytes("fread", done);
	BOTH("fclose", fclose(f[i]));
}

static void names(void)
{
	BOTH("rename", rename(path[i], other[i]));
	BOTH("access", access(path[i], F_OK));
	BOTH("link", link(other[i], path[i]));
	BOTH("unlink", unlink(other[i]));
	BOTH("unlink", unlink(other[i]));
	BOTH("chmod", chmod(path[i], 0600));
	BOTH("open", open(path[i], O_CREAT | O_EXCL | O_RDWR, 0600) >= 0 ? 0 : -1);
	BOTH("rmdir", rmdir(path[i]));
	BOTH("mkdir", mkdir(path[i], 0700));
	BOTH("readlink", readlink(path[i], buffer[i], 100));
}

int main(int argc, char **argv)
{
	static void (*const operations[])(void) = {
		write_some,  write_some, read_some, read_some, read_some, seek_and_size,
		append_some, cut,        duplicate, map,       stream,    names};
	long steps;

	if (argc != 5)
		return 2;
	for (int i = 0; i < 2; i++) {
		char *more;

		path[i] = argv[1 + i];
		if (asprintf(&more, "%s.other", path[i]) < 0)
			return 2;
		other[i] = more;
		fd[i] = open(path[i], O_RDWR | O_CREAT, 0640);
		if (fd[i] < 0) {
			perror(path[i]);
			return 1;
		}
	}
	steps = atol(argv[3]);
	srandom((unsigned)atol(argv[4]));
	for (step = 0; step < steps; step++) {
		progress(step, steps);
		operations[pick(sizeof(operations) / sizeof(*operations))]();
	}
	printf("%ld steps\n", steps);
	return 0;
}
