/* Operations that were posted and are not yet known to be done: one bounded table for all queues of the process. */
#include <fcntl.h>
#include <stdatomic.h>

#include "core/hash.h"
#include "handlers/forget.h"
#include "handlers/aio.h"
#include "ops.h"

enum { PENDING = 8192 };
enum slot_state { FREE, TAKEN, READY };

static struct {
	_Atomic uint32_t order; /* counts posts */
	_Atomic uint32_t reach; /* no operation lies further from its first slot */
	_Atomic bool full;      /* said once */
	struct slot {
		_Atomic uint32_t state; /* whoever sets TAKEN owns the rest */
		uint32_t order;
		struct aio_post post;
	} slot[PENDING];
} pending;

static uint32_t first_slot(uint64_t queue, uint64_t key)
{
	uint64_t hash = (key ^ queue * 0xff51afd7ed558ccdu) * HASH_FACTOR;

	return (uint32_t)(hash >> 40) % PENDING;
}

static void reach_to(uint32_t distance)
{
	uint32_t reach = atomic_load(&pending.reach);

	while (reach < distance && !atomic_compare_exchange_weak(&pending.reach, &reach, distance))
		;
}

void aio_pend(const struct aio_post *post)
{
	const uint32_t first = first_slot(post->queue, post->key);

	for (uint32_t i = 0; i < PENDING; i++) {
		struct slot *s = &pending.slot[(first + i) % PENDING];
		uint32_t state = FREE;

		if (!atomic_compare_exchange_strong(&s->state, &state, TAKEN))
			continue;
		s->post = *post;
		s->order = atomic_fetch_add(&pending.order, 1);
		reach_to(i);
		atomic_store_explicit(&s->state, READY, memory_order_release);
		return;
	}
	if (!atomic_exchange(&pending.full, true))
		note("more than %d asynchronous operations pending: further completions are not "
		     "told",
		     PENDING);
}

static struct slot *oldest(uint64_t queue, uint64_t key)
{
	const uint32_t first = first_slot(queue, key), reach = atomic_load(&pending.reach);
	struct slot *first_post = NULL;

	for (uint32_t i = 0; i <= reach; i++) {
		struct slot *s = &pending.slot[(first + i) % PENDING];

		if (atomic_load_explicit(&s->state, memory_order_acquire) != READY ||
		    s->post.queue != queue || s->post.key != key)
			continue;
		if (first_post)
			first_post->post.twin = s->post.twin = true;
		if (!first_post || (int32_t)(s->order - first_post->order) < 0)
			first_post = s;
	}
	return first_post;
}

bool aio_take(uint64_t queue, uint64_t key, bool keep, struct aio_post *post)
{
	struct slot *s;
	uint32_t state;

	do {
		s = oldest(queue, key);
		state = READY;
	} while (s && !atomic_compare_exchange_strong(&s->state, &state, TAKEN));
	if (!s)
		return false;
	*post = s->post;
	atomic_store_explicit(&s->state, keep ? READY : FREE, memory_order_release);
	return true;
}

uint32_t aio_forget(uint64_t queue)
{
	uint32_t forgotten = 0;

	for (uint32_t i = 0; i < PENDING; i++) {
		struct slot *s = &pending.slot[i];
		uint32_t state = READY;

		if (atomic_load_explicit(&s->state, memory_order_acquire) != READY ||
		    s->post.queue != queue ||
		    !atomic_compare_exchange_strong(&s->state, &state, TAKEN))
			continue;
		forgotten += s->post.action != AIO_NO_FILE;
		atomic_store_explicit(&s->state, FREE, memory_order_release);
	}
	return forgotten;
}

/* ---- rows, inside the call that is open ---- */

/* The frame must be a younger one than the wrapper's: never inlined. */
static __attribute__((noinline)) bool enter(struct call *c, uint32_t op, const struct aio_post *p)
{
	return call_enter(c, op, p->object, p->size, p->offset, __builtin_frame_address(0),
			  __builtin_return_address(0));
}

void aio_post_row(struct aio_post *post, uint64_t at)
{
	static const uint32_t ops[] = {
		[AIO_READ] = OP_AIO_POST_READ,  [AIO_WRITE] = OP_AIO_POST_WRITE,
		[AIO_SYNC] = OP_AIO_POST_SYNC,  [AIO_OTHER] = OP_AIO_POST_OTHER,
		[AIO_OPEN] = OP_AIO_POST_OTHER,
	};
	struct call c;

	post->call = (struct call_ref){0};
	if (post->action == AIO_NO_FILE || !enter(&c, ops[post->action], post))
		return;
	c.began = at;
	c.field[0] = post->size;
	c.field[1] = post->offset;
	c.field[2] = post->opcode;
	post->call = call_reference(&c);
	call_leave(&c, at);
}

bool aio_done(uint64_t queue, uint64_t key, bool keep, int64_t result, uint64_t at)
{
	struct aio_post post;
	static const uint32_t ops[] = {
		[AIO_READ] = OP_AIO_DONE_READ, [AIO_WRITE] = OP_AIO_DONE_WRITE,
		[AIO_SYNC] = OP_AIO_DONE,      [AIO_OTHER] = OP_AIO_DONE,
		[AIO_OPEN] = OP_AIO_DONE,
	};
	struct call c;

	if (!aio_take(queue, key, keep, &post))
		return false;
	if (post.action == AIO_NO_FILE || !enter(&c, ops[post.action], &post))
		return false;
	c.began = at;
	c.field[0] = post.action <= AIO_WRITE ? post.offset : UNKNOWN_OFFSET;
	c.field[1] = result > 0 && post.action <= AIO_WRITE ? result : 0;
	c.field[2] = result;
	if (result < 0)
		c.error = (int32_t)-result;
	if (post.action == AIO_OPEN && result >= 0)
		c.object = descriptor_open(&c, (int)result, AT_FDCWD, NULL, post.opcode);
	if (post.call.stream)
		call_link(&c, post.call, LINK_COMPLETES, (uint64_t)c.field[1],
			  post.twin ? 50 : 100);
	call_leave(&c, at);
	return true;
}

/* ---- queues ---- */

uint32_t aio_queue_object(uint64_t queue)
{
	return (uint32_t)handle_get(&queues, 0, queue);
}

void aio_queue_made(struct call *c, uint64_t queue)
{
	const struct object_def def = {0};

	c->object = object_define(c, OBJECT_QUEUE, &def);
	handle_put(&queues, 0, queue, c->object);
}

void aio_queue_gone(uint64_t queue)
{
	handle_take(&queues, 0, queue);
}

void aio_posts_forget(void)
{
	memory_wipe(&pending, sizeof(pending));
}
