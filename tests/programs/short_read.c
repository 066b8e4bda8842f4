/* Asks for 1 MiB of a 100-byte file, by read and by pread, then reads at its end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "must.h"

static char data[1 << 20];

int main(int argc, char **argv)
{
	MUST(argc == 2);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(write(fd, data, 100) == 100);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(read(fd, data, sizeof(data)) == 100);
	MUST(pread(fd, data, sizeof(data), 40) == 60);
	MUST(read(fd, data, sizeof(data)) == 0);
	MUST(close(fd) == 0);
	return 0;
}
