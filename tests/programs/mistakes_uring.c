/* A MiB past the page cache by io_uring, in requests each awaited before the next one is posted.
 *	mistakes_uring BYTES FILE	bytes of a request: a power of two, 512 or more */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include "must.h"

enum { MIB = 1 << 20 };

static char data[MIB] __attribute__((aligned(4096)));

static void write_one(struct io_uring *ring, int fd, size_t bytes, size_t at)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(ring);
	struct io_uring_cqe *done;

	MUST(entry);
	io_uring_prep_write(entry, fd, data + at, (unsigned)bytes, at);
	MUST(io_uring_submit(ring) == 1);
	MUST(io_uring_wait_cqe(ring, &done) == 0 && done->res == (int)bytes);
	io_uring_cqe_seen(ring, done);
}

int main(int count, char **words)
{
	size_t bytes = count == 3 ? strtoul(words[1], NULL, 10) : 0;
	struct io_uring ring;
	int fd;

	MUST(bytes >= 512 && MIB % bytes == 0);
	fd = open(words[2], O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0666);
	if (fd < 0) /* a file system without direct I/O */
		MUST((fd = open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0666)) >= 0);
	MUST(io_uring_queue_init(1, &ring, 0) == 0);
	for (size_t at = 0; at < MIB; at += bytes)
		write_one(&ring, fd, bytes, at);
	io_uring_queue_exit(&ring);
	MUST(close(fd) == 0);
	return 0;
}
