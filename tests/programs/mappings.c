/* Memory that is a file's beside memory that is none: only the first is I/O, whole or in part, moved or covered.
 *	mappings FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "must.h"

enum { PAGE = 4096 };

static char *memory(size_t pages)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	MUST(at != MAP_FAILED);
	at[0] = 1;
	return at;
}

static void no_io(void)
{
	char *at = memory(2);

	at = mremap(at, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	MUST(at != MAP_FAILED && msync(at, 4 * PAGE, MS_SYNC) == 0 && munmap(at, 4 * PAGE) == 0);
	at = memory(3);
	MUST(syscall(SYS_munmap, at, 3 * PAGE) == 0);
}

int main(int count, char **words)
{
	char *at, *moved, *last;
	int fd;

	MUST(count == 2 && (fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0666)) >= 0);
	MUST(ftruncate(fd, 16 * PAGE) == 0);
	no_io();
	at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(at != MAP_FAILED && munmap(at + 2 * PAGE, PAGE) == 0 && munmap(at, PAGE) == 0);
	/* The pages that are left: 1, and 3 to 7. */
	MUST(mmap(at + 4 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	     at + 4 * PAGE);
	MUST(msync(at + PAGE, 100, MS_ASYNC) == 0 && munmap(at + PAGE, PAGE) == 0);
	moved = mremap(at + 5 * PAGE, 3 * PAGE, 6 * PAGE, MREMAP_MAYMOVE);
	MUST(moved != MAP_FAILED && munmap(moved + 5 * PAGE, 1) == 0);
	last = mremap(moved, 0, PAGE, MREMAP_MAYMOVE); /* a second mapping of the same page */
	MUST(last != MAP_FAILED && munmap(last, PAGE) == 0);
	MUST(munmap(moved + 1, PAGE) == -1 && munmap(moved, 5 * PAGE) == 0);
	last = (char *)syscall(SYS_mmap, NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	MUST(last != MAP_FAILED && syscall(SYS_munmap, last, PAGE) == 0);
	no_io();
	return 0;
}
