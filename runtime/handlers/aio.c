/* POSIX asynchronous I/O: the control block is the key; libc keeps state and result in it. */
#include <errno.h>

#include "handlers/aio.h"

/* Before the call: what it posts may be done, and asked for by another thread, before it returns. */
void posix_aio_posting(const struct call *c, const struct aiocb *block, enum aio_action action)
{
	struct aio_post post = {
		.key = (uintptr_t)block,
		.action = action,
		.object = c->object,
		.size = action == AIO_SYNC ? 0 : (int64_t)block->aio_nbytes,
		.offset = block->aio_offset,
		.call = call_reference(c),
	};

	while (aio_take(0, post.key, false, &(struct aio_post){0}))
		; /* the block is used anew: nobody will ask for what was */
	aio_pend(&post);
}

void posix_aio_posted(int result, const struct aiocb *block)
{
	if (result != 0)
		aio_take(0, (uintptr_t)block, false, &(struct aio_post){0});
}

void posix_aio_list_posting(struct aiocb *const *list, int count)
{
	const uint64_t now = ticks_now();

	for (int i = 0; list && i < count; i++) {
		const struct aiocb *block = list[i];
		struct aio_post post;

		if (!block || block->aio_lio_opcode == LIO_NOP)
			continue;
		post = (struct aio_post){
			.key = (uintptr_t)block,
			.action = block->aio_lio_opcode == LIO_READ ? AIO_READ : AIO_WRITE,
			.opcode = block->aio_lio_opcode,
			.object = descriptor_object(block->aio_fildes),
			.size = (int64_t)block->aio_nbytes,
			.offset = block->aio_offset,
		};
		aio_post_row(&post, now);
		aio_pend(&post);
	}
}

void posix_aio_list_posted(int mode, struct aiocb *const *list, int count, uint64_t ended)
{
	if (mode == LIO_WAIT && list)
		posix_aio_list_seen((const struct aiocb *const *)list, count, ended);
}

/* libc stores the result, then the state. */
bool posix_aio_seen(const struct aiocb *block, uint64_t ended)
{
	const int state = __atomic_load_n(&block->__error_code, __ATOMIC_ACQUIRE);

	if (state == EINPROGRESS)
		return false;
	return aio_done(0, (uintptr_t)block, false, state ? -state : block->__return_value, ended);
}

void posix_aio_asked(struct call *c, const struct aiocb *block, uint64_t ended)
{
	c->cancel = !posix_aio_seen(block, ended);
}

void posix_aio_list_seen(const struct aiocb *const *list, int count, uint64_t ended)
{
	for (int i = 0; list && i < count; i++)
		if (list[i])
			posix_aio_seen(list[i], ended);
}
