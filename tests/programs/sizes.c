/* 40 sizes once each, then 10,000 writes of 4096 bytes: the common size must win. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "must.h"

static char data[4096];

int main(int argc, char **argv)
{
	MUST(argc == 2);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (size_t size = 1; size <= 40; size++)
		MUST(pwrite(fd, data, size, 0) == (ssize_t)size);
	for (off_t i = 0; i < 10000; i++)
		MUST(pwrite(fd, data, sizeof(data), i % 100 * 4096) == sizeof(data));
	return 0;
}
