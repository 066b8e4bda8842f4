/* io_uring: data by descriptor and by registered file and buffer, open, statx and close, a short read, an error, equal
 * user data, a ring that goes round many times, and one operation whose end nobody sees.
 *	aio_uring FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "must.h"

enum { BLOCK = 4096, BLOCKS = 8, ROUNDS = 100 };

static char bytes[BLOCKS][BLOCK];
static struct io_uring ring;

static struct io_uring_sqe *next(unsigned long key)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(&ring);

	MUST(entry);
	memset(entry, 0, sizeof(*entry));
	entry->user_data = key;
	return entry;
}

static int finish(void)
{
	struct io_uring_cqe *done;
	int result;

	MUST(io_uring_wait_cqe(&ring, &done) == 0);
	result = done->res;
	io_uring_cqe_seen(&ring, done);
	return result;
}

static void prepare(int opcode, int fd, void *buf, unsigned size, long offset, unsigned long key)
{
	struct io_uring_sqe *entry = next(key);

	io_uring_prep_rw(opcode, entry, fd, buf, size, (__u64)offset);
	entry->user_data = key;
}

static int one(int opcode, int fd, void *buf, unsigned size, long offset)
{
	prepare(opcode, fd, buf, size, offset, 1000);
	MUST(io_uring_submit(&ring) == 1);
	return finish();
}

static void write_all(int fd)
{
	for (int i = 0; i < BLOCKS; i++) {
		memset(bytes[i], 'a' + i, BLOCK);
		prepare(IORING_OP_WRITE, fd, bytes[i], BLOCK, (long)i * BLOCK, (unsigned long)i);
	}
	MUST(io_uring_submit_and_wait(&ring, BLOCKS) == BLOCKS);
	for (int i = 0; i < BLOCKS; i++)
		MUST(finish() == BLOCK);
}

static void registered(int fd)
{
	struct iovec buffer = {bytes[0], BLOCK};

	MUST(io_uring_register_files(&ring, &fd, 1) == 0);
	MUST(io_uring_register_buffers(&ring, &buffer, 1) == 0);
	prepare(IORING_OP_READ_FIXED, 0, bytes[0], 100, 5000, 2000);
	ring.sq.sqes[(ring.sq.sqe_tail - 1) & *ring.sq.kring_mask].flags |= IOSQE_FIXED_FILE;
	MUST(io_uring_submit(&ring) == 1 && finish() == 100 && bytes[0][0] == 'b');
	MUST(io_uring_unregister_buffers(&ring) == 0 && io_uring_unregister_files(&ring) == 0);
}

static void names(const char *path)
{
	struct statx facts;
	int fd;

	io_uring_prep_openat(next(1), AT_FDCWD, path, O_RDONLY, 0);
	MUST(io_uring_submit(&ring) == 1 && (fd = finish()) >= 0);
	MUST(pread(fd, bytes[0], 3, 0) == 3);
	io_uring_prep_statx(next(1), AT_FDCWD, path, 0, STATX_SIZE, &facts);
	MUST(io_uring_submit(&ring) == 1 && finish() == 0 && facts.stx_size == BLOCK * BLOCKS);
	io_uring_prep_close(next(1), fd);
	MUST(io_uring_submit(&ring) == 1 && finish() == 0);
}

int main(int count, char **words)
{
	struct io_uring_cqe *done[BLOCKS];
	struct iovec vector[2] = {{bytes[0], 10}, {bytes[1], 20}};
	int fd;

	MUST(count > 1 && (fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0666)) >= 0);
	MUST(io_uring_queue_init(BLOCKS, &ring, 0) == 0);
	write_all(fd);
	MUST(one(IORING_OP_READ, fd, bytes[0], 50, BLOCK * BLOCKS - 7) == 7); /* the file ends */
	MUST(one(IORING_OP_READV, fd, vector, 2, BLOCK) == 30);
	MUST(one(IORING_OP_READ, 999, bytes[0], 60, 0) == -9); /* no such descriptor */
	MUST(one(IORING_OP_NOP, -1, NULL, 0, 0) == 0);
	io_uring_prep_fsync(next(3), fd, IORING_FSYNC_DATASYNC);
	MUST(io_uring_submit(&ring) == 1 && finish() == 0);
	registered(fd);
	names(words[1]);
	for (int i = 0; i < ROUNDS; i++) { /* all of one key, taken in one go */
		prepare(IORING_OP_READ, fd, bytes[0], 11, i, 7);
		prepare(IORING_OP_READ, fd, bytes[1], 11, i, 7);
		MUST(io_uring_submit_and_wait(&ring, 2) == 2);
		MUST(io_uring_peek_batch_cqe(&ring, done, BLOCKS) == 2);
		io_uring_cq_advance(&ring, 2);
	}
	MUST(io_uring_peek_batch_cqe(&ring, done, BLOCKS) == 0);
	{
		int ends[2];

		MUST(pipe(ends) == 0);
		prepare(IORING_OP_READ, ends[0], bytes[2], 5, -1, 8); /* nobody writes */
		MUST(io_uring_submit(&ring) == 1);
	}
	io_uring_queue_exit(&ring);
	return close(fd);
}
