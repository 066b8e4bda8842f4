/* A MiB past the page cache by libaio, in requests each awaited before the next one is posted.
 *	mistakes_aio BYTES FILE	bytes of a request: a power of two, 512 or more */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libaio.h>
#include <unistd.h>

#include "must.h"

enum { MIB = 1 << 20 };

static char data[MIB] __attribute__((aligned(4096)));

static void write_one(io_context_t context, int fd, size_t bytes, size_t at)
{
	struct iocb block, *blocks[] = {&block};
	struct io_event done;

	io_prep_pwrite(&block, fd, data + at, bytes, (long long)at);
	MUST(io_submit(context, 1, blocks) == 1);
	MUST(io_getevents(context, 1, 1, &done, NULL) == 1 && done.res == bytes);
}

int main(int count, char **words)
{
	size_t bytes = count == 3 ? strtoul(words[1], NULL, 10) : 0;
	io_context_t context = NULL;
	int fd;

	MUST(bytes >= 512 && MIB % bytes == 0);
	fd = open(words[2], O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0666);
	if (fd < 0) /* a file system without direct I/O */
		MUST((fd = open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0666)) >= 0);
	MUST(io_setup(1, &context) == 0);
	for (size_t at = 0; at < MIB; at += bytes)
		write_one(context, fd, bytes, at);
	MUST(io_destroy(context) == 0 && close(fd) == 0);
	return 0;
}
