/* The kernel's asynchronous I/O by libaio and by number: written, read back, short, failing, and one never fetched.
 *	aio_kernel FILE */
#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "must.h"

enum { BLOCK = 4096, BLOCKS = 6 };

static char bytes[BLOCKS][BLOCK];
static struct iocb block[BLOCKS], *blocks[BLOCKS];
static struct io_event event[BLOCKS];

static void fetch(io_context_t context, int count)
{
	MUST(io_getevents(context, 0, 0, event, NULL) == 0); /* sees nothing: no row */
	for (int got = 0; got < count;) {
		int n = io_getevents(context, 1, BLOCKS, event + got, NULL);

		MUST(n > 0);
		got += n;
	}
}

int main(int count, char **words)
{
	io_context_t context = NULL;
	unsigned long by_number = 0;
	struct iovec vector[2] = {{bytes[0], 100}, {bytes[1], 200}};
	int fd;

	MUST(count > 1 && (fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0666)) >= 0);
	MUST(io_setup(BLOCKS, &context) == 0);
	for (int i = 0; i < BLOCKS; i++) {
		memset(bytes[i], 'a' + i, BLOCK);
		blocks[i] = &block[i];
		io_prep_pwrite(&block[i], fd, bytes[i], BLOCK, (long long)i * BLOCK);
	}
	MUST(io_submit(context, BLOCKS, blocks) == BLOCKS);
	fetch(context, BLOCKS);
	io_prep_pread(&block[0], fd, bytes[0], BLOCK, BLOCK * BLOCKS - 7); /* the file ends */
	io_prep_preadv(&block[1], fd, vector, 2, 50);
	io_prep_fsync(&block[2], fd);
	MUST(io_submit(context, 3, blocks) == 3);
	fetch(context, 3);
	io_prep_pread(&block[0], fd, bytes[0], 10, 0);
	io_prep_pread(&block[1], 999, bytes[1], 10,
		      0); /* no such descriptor: only the first is taken */
	MUST(io_submit(context, 2, blocks) == 1);
	fetch(context, 1);
	io_prep_pread(&block[0], fd, bytes[0], 20, 0);
	MUST(io_submit(context, 1, blocks) == 1 && io_destroy(context) == 0); /* never fetched */
	MUST(syscall(SYS_io_setup, 4, &by_number) == 0);
	io_prep_pread(&block[0], fd, bytes[0], 30, 1);
	MUST(syscall(SYS_io_submit, by_number, 1l, blocks) == 1);
	MUST(syscall(SYS_io_getevents, by_number, 1l, 1l, event, NULL) == 1 && event[0].res == 30);
	MUST(syscall(SYS_io_destroy, by_number) == 0);
	return close(fd);
}
