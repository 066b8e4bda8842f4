/* Writes known pages of mapped files: epochs that end by msync, by munmap, and by the program's end; scattered pages; a
 * private mapping, which is no write; pages written by the kernel (read into the mapping); a child.
 *	map_dirty FILE OTHER */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

enum { PAGE = 4096, PAGES = 1024 };

static char *map(const char *path, int flags, long skip)
{
	int fd = open(path, O_RDWR);
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, fd, skip * PAGE);

	MUST(fd >= 0 && at != MAP_FAILED && close(fd) == 0);
	return at;
}

int main(int count, char **words)
{
	volatile char *at;
	int fd, status;

	MUST(count > 2);
	for (int i = 1; i <= 2; i++) {
		MUST((fd = open(words[i], O_RDWR | O_CREAT | O_TRUNC, 0666)) >= 0);
		MUST(ftruncate(fd, 2 * PAGES * PAGE) == 0 && close(fd) == 0);
	}
	at = map(words[1], MAP_SHARED, 10);
	at[5 * PAGE] = at[5 * PAGE + 1] = at[6 * PAGE + 7] =
		1; /* pages 5, 6 and 9 of the mapping */
	at[9 * PAGE + 4095] = 1;
	MUST(at[100 * PAGE] == 0); /* read only */
	MUST(msync((void *)at, PAGES * PAGE, MS_SYNC) == 0);
	MUST(msync((void *)at, PAGES * PAGE, MS_SYNC) == 0); /* nothing since */
	at[6 * PAGE] = 2;
	MUST((fd = open(words[2], O_RDONLY)) >= 0 &&
	     read(fd, (void *)(at + 20 * PAGE), 2 * PAGE) == 2 * PAGE);
	MUST(munmap((void *)at, PAGES * PAGE) == 0 && close(fd) == 0);
	at = map(words[1], MAP_SHARED, 0);
	for (int i = 0; i < 100; i++)
		at[(2 * i + 1) * PAGE] = 3; /* more ranges than are told one by one */
	MUST(munmap((void *)at, PAGES * PAGE) == 0);
	at = map(words[1], MAP_PRIVATE, 0);
	at[0] = 4;
	MUST(munmap((void *)at, PAGES * PAGE) == 0);
	at = map(words[2], MAP_SHARED, 0);
	for (int i = 3; i < 8; i++)
		at[i * PAGE] = 5;
	if (fork() == 0) {
		at[500 * PAGE] = 6;
		_exit(0);
	}
	MUST(wait(&status) > 0 && status == 0);
	return 0; /* mapped to the end */
}
