/* POSIX asynchronous I/O: writes, reads, one that is cut by the end of the file, one that fails, a list, a sync.
 *	aio_posix FILE */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

enum { BLOCK = 1000, BLOCKS = 8 };

static char bytes[BLOCKS][BLOCK];
static struct aiocb block[BLOCKS];

static void set(int i, int fd, int opcode)
{
	memset(&block[i], 0, sizeof(block[i]));
	block[i].aio_fildes = fd;
	block[i].aio_buf = bytes[i];
	block[i].aio_nbytes = BLOCK;
	block[i].aio_offset = (off_t)i * BLOCK;
	block[i].aio_lio_opcode = opcode;
}

static ssize_t finish(int i)
{
	const struct aiocb *const list[] = {&block[i]};

	while (aio_error(&block[i]) == EINPROGRESS)
		MUST(aio_suspend(list, 1, NULL) == 0 || errno == EINTR);
	return aio_return(&block[i]);
}

int main(int count, char **words)
{
	struct aiocb *list[BLOCKS];
	int fd;

	MUST(count > 1 && (fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0666)) >= 0);
	for (int i = 0; i < BLOCKS; i++) {
		memset(bytes[i], 'a' + i, BLOCK);
		set(i, fd, LIO_WRITE);
		MUST(aio_write(&block[i]) == 0);
	}
	for (int i = BLOCKS - 1; i >= 0; i--)
		MUST(finish(i) == BLOCK);
	set(0, fd, 0);
	MUST(aio_fsync(O_DSYNC, &block[0]) == 0 && finish(0) == 0);
	for (int i = 0; i < BLOCKS; i++) {
		set(i, fd, i % 2 ? LIO_READ : LIO_NOP);
		list[i] = &block[i];
	}
	MUST(lio_listio(LIO_WAIT, list, BLOCKS, NULL) == 0 && aio_return(&block[7]) == BLOCK);
	set(1, fd, 0);
	block[1].aio_offset = BLOCK * BLOCKS - 10;
	MUST(aio_read(&block[1]) == 0 && finish(1) == 10); /* the file ends */
	set(2, 999, 0);
	MUST(aio_read(&block[2]) == 0 && finish(2) == -1); /* no such descriptor */
	block[3].aio_reqprio = -1;
	MUST(aio_write(&block[3]) == -1); /* refused at once */
	return close(fd);
}
