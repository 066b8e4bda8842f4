/* 1,100 files open at once, each written at an offset that is its own number. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "must.h"

enum { FILES = 1100 };

int main(int argc, char **argv)
{
	struct rlimit limit;
	static int fd[FILES];
	char name[64];

	MUST(argc == 2 && chdir(argv[1]) == 0);
	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		fd[i] = open(name, O_RDWR | O_CREAT, 0644);
		MUST(fd[i] >= 0);
	}
	for (int i = 0; i < FILES; i++)
		MUST(pwrite(fd[i], "12345678", 8, i) == 8);
	for (int i = FILES - 1; i >= 0; i--)
		MUST(close(fd[i]) == 0);
	return 0;
}
