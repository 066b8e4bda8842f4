/* Every call that moves data between files, once each, with sizes that tell them apart. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "must.h"

static char a[4096], b[4096];

static void vectors(int fd)
{
	const struct iovec parts[2] = {{a, 100}, {b, 23}};

	MUST(writev(fd, parts, 2) == 123);
	MUST(pwritev(fd, parts, 2, 1000) == 123);
	MUST(pwritev2(fd, parts, 2, 2000, 0) == 123);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(readv(fd, parts, 2) == 123);
	MUST(preadv(fd, parts, 2, 1000) == 123);
	MUST(preadv2(fd, parts, 2, 2000, 0) == 123);
	MUST(preadv2(fd, parts, 2, -1, 0) == 123); /* -1: the descriptor's position */
}

static void between(int from, int to)
{
	off_t at = 10;
	loff_t in = 20, out = 30;
	int ends[2];

	MUST(sendfile(to, from, &at, 31) == 31);
	MUST(copy_file_range(from, &in, to, &out, 32, 0) == 32);
	MUST(pipe(ends) == 0);
	MUST(splice(from, &in, ends[1], NULL, 33, 0) == 33);
	MUST(splice(ends[0], NULL, to, &out, 33, 0) == 33);
}

static void mapped(int fd)
{
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	MUST(at != MAP_FAILED);
	at[50] = 'm';
	MUST(msync(at, 4096, MS_SYNC) == 0 && munmap(at, 4096) == 0);
}

int main(int argc, char **argv)
{
	MUST(argc == 2 && chdir(argv[1]) == 0);
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
	int to = openat(AT_FDCWD, "copy", O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0 && to >= 0);
	MUST(write(fd, a, 4000) == 4000 && lseek(fd, 0, SEEK_SET) == 0);
	vectors(fd);
	between(fd, to);
	mapped(fd);
	MUST(syscall(SYS_pwrite64, fd, a, 77l, 7l) == 77);
	int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	MUST(duplicate >= 100 && dup3(fd, 200, O_CLOEXEC) == 200);
	MUST(close(duplicate) == 0 && close(200) == 0);
	MUST(creat("made", 0644) >= 0);
	char name[] = "temporary-XXXXXX";
	MUST(mkstemp(name) >= 0 && unlink(name) == 0);
	return 0;
}
