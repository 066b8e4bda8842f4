/* The kernel's asynchronous I/O (io_submit and its kin), through libaio or by number: the control block's address is the
 * key, and comes back in the event. */
#include <errno.h>
#include <linux/aio_abi.h>

#include "handlers/aio.h"
#include "handlers/posix.h"

uint32_t libaio_object(uintptr_t context)
{
	return aio_queue_object(context);
}

void libaio_made(struct call *c, int64_t result, const uintptr_t *context)
{
	if (result == 0)
		aio_queue_made(c, *context);
}

void libaio_gone(uintptr_t context)
{
	aio_queue_gone(context);
}

static enum aio_action action_of(const struct iocb *block)
{
	switch (block->aio_lio_opcode) {
	case IOCB_CMD_PREAD:
	case IOCB_CMD_PREADV:
		return AIO_READ;
	case IOCB_CMD_PWRITE:
	case IOCB_CMD_PWRITEV:
		return AIO_WRITE;
	case IOCB_CMD_FSYNC:
	case IOCB_CMD_FDSYNC:
		return AIO_SYNC;
	}
	return AIO_NO_FILE; /* it polls, or does nothing */
}

static int64_t size_of(const struct iocb *block)
{
	switch (block->aio_lio_opcode) {
	case IOCB_CMD_PREADV:
	case IOCB_CMD_PWRITEV:
		return posix_vector_bytes((const struct iovec *)(uintptr_t)block->aio_buf,
					  posix_int(block->aio_nbytes));
	case IOCB_CMD_PREAD:
	case IOCB_CMD_PWRITE:
		return (int64_t)block->aio_nbytes;
	}
	return 0;
}

/* Before the call: what it posts may be done, and fetched by another thread, before it returns. */
void libaio_posting(uintptr_t context, int64_t count, struct iocb *const *blocks)
{
	const uint64_t now = ticks_now();

	for (int64_t i = 0; posix_readable(blocks) && i < count; i++) {
		const struct iocb *block = blocks[i];
		struct aio_post post = {.queue = context, .key = (uintptr_t)block};

		if (!posix_readable(block))
			return; /* the kernel stops here too */
		post.action = action_of(block);
		post.opcode = block->aio_lio_opcode;
		post.size = size_of(block);
		post.offset = block->aio_offset;
		if (post.action != AIO_NO_FILE)
			post.object = descriptor_object((int)block->aio_fildes);
		aio_post_row(&post, now);
		aio_pend(&post);
	}
}

void libaio_posted(uintptr_t context, int64_t count, struct iocb *const *blocks, int64_t taken,
		   uint64_t ended)
{
	const int64_t error = taken < 0 ? taken : -EAGAIN;

	for (int64_t i = taken < 0 ? 0 : taken; posix_readable(blocks) && i < count; i++)
		aio_done(context, (uintptr_t)blocks[i], false, error, ended);
}

bool libaio_seen(uintptr_t context, const struct io_event *events, int64_t count, uint64_t ended)
{
	bool seen = false;

	for (int64_t i = 0; i < count; i++)
		seen |= aio_done(context, events[i].obj, false, events[i].res, ended);
	return seen;
}

void libaio_fetched(struct call *c, uintptr_t context, const struct io_event *events, int64_t count,
		    uint64_t ended)
{
	c->cancel = !libaio_seen(context, events, count, ended) && count == 0;
}
