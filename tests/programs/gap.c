/* 100 writes; the faked clock jumps somewhere between them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "must.h"

int main(int argc, char **argv)
{
	MUST(argc == 2);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 100; i++)
		MUST(pwrite(fd, "x", 1, i) == 1);
	return 0;
}
