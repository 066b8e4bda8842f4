/* regular: N calls of the most regular kind, to measure bytes per event and read-back.
 *
 *	regular FILE N
 *
 * Checkpoint and restart over and over: 8-byte pwrites up to 8 MiB, then preads of the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 8, SWEEP = 1 << 20 }; /* calls from the file's begin to its end */

static int fail(const char *what)
{
	fprintf(stderr, "regular: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) : 0;
	uint64_t value = 0;
	int fd;

	if (n < 1) {
		fprintf(stderr, "usage: regular FILE N (number of calls, 1..)\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return fail(argv[1]);
	for (long i = 0; i < n; i++) {
		off_t offset = i % SWEEP * BYTES;
		ssize_t done = i / SWEEP % 2 ? pread(fd, &value, BYTES, offset)
					     : pwrite(fd, &value, BYTES, offset);

		if (done < 0)
			return fail(argv[1]);
	}
	return close(fd) ? fail(argv[1]) : 0;
}
