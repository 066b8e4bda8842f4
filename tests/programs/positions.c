/* Where reads and writes without an offset of their own land: dup, O_APPEND, a descriptor shared
 * with a child, one opened twice, seeks, short transfers. The program prints where it truly was. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

static char data[64];

static void put(int fd, size_t size)
{
	MUST(write(fd, data, size) == (ssize_t)size);
}

int main(int argc, char **argv)
{
	MUST(argc == 2 && chdir(argv[1]) == 0);
	int one = open("plain", O_RDWR | O_CREAT | O_TRUNC, 0644);
	int two = open("plain", O_RDWR); /* a position of its own */
	int copy = dup(one);             /* the same position */
	put(one, 10);
	put(copy, 5);
	put(one, 1);
	MUST(read(two, data, 7) == 7);
	MUST(lseek(copy, 40, SEEK_SET) == 40);
	put(one, 2);
	MUST(lseek(one, -12, SEEK_END) == 30);
	MUST(read(copy, data, 64) == 12);
	MUST(dup2(two, 50) == 50);
	MUST(read(50, data, 3) == 3);
	MUST(fcntl(two, F_DUPFD, 60) == 60);
	MUST(read(60, data, 3) == 3);
	int append = open("append", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	put(append, 9);
	put(append, 9);
	pid_t child = fork();
	if (!child) {
		put(one, 4); /* one position for two processes from here on */
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0) == child);
	put(one, 6);
	MUST(lseek(one, 0, SEEK_CUR) == 52);
	put(one, 3);
	return 0;
}
