/* The same straight line as fast.h, for calls that are counted and have no row. A call whose kind was counted
 * before, by this thread, under the same selection and inside the same calls, has its place: its counter is at
 * hand. Whatever is not so goes the general way (call.c), and is learnt from. */
#ifndef FATHOM_COUNT_H
#define FATHOM_COUNT_H

#include "core/base.h"
#include "core/call.h"
#include "core/clock.h"
#include "core/levels.h"
#include "core/state.h"
#include "core/thread.h"
#include "core/fast.h"
#include "core/counters.h"
#include "core/access.h"

/* A call without a row has no depth among the open ones: there stand this and its level. */
enum { NO_ROW = 0x80000000u };

static inline enum level level_without_row(const struct call *c)
{
	return (enum level)(c->depth & ~NO_ROW);
}

/* Both numbers count up: calls of one op on files that were opened one after the other lie apart. */
static inline uint32_t place_number(uint32_t op, uint32_t object)
{
	return (op * 37 + object) % COUNTER_PLACES;
}

/* Is all as it was? A frame that is not inside the one around it: that was left by a jump. */
static inline bool place_holds(const struct thread *t, const struct counter_place *p, uint32_t op,
			       uint32_t object, const void *frame)
{
	const struct levels *l = atomic_load_explicit(&levels_in_force, memory_order_acquire);

	return likely(p->who == (op | (uint64_t)object << 32)) && likely(p->resets == t->resets) &&
	       likely(p->outer == t->around.what) &&
	       likely((uintptr_t)frame <= t->around.frame - 1) &&
	       likely(p->levels == atomic_load_explicit(&l->number, memory_order_relaxed)) &&
	       likely(l->gate == gate_now());
}

/* A call that has its place; NULL: it has none. */
struct counting {
	struct thread *thread;
	const struct counter_place *place;
	uint64_t began, who;
	uint64_t frame, what; /* of what is around it */
	uint32_t changes, level;
};

/* If it has its place, the thread is not ready until count_begin is done: a signal handler that comes in the midst
 * of it has another thread's places. */
static inline __attribute__((always_inline)) struct counting
count_find(uint32_t op, uint32_t object, const void *frame)
{
	struct counting e = {.thread = self, .who = op | (uint64_t)object << 32};
	struct thread *t = e.thread;
	const struct counter_place *p;

	if (unlikely(!t) || unlikely(t->state != READY_COUNTS) || unlikely(object == OBJECT_NEVER))
		return e;
	t->ready = NOT_READY;
	barrier();
	p = &t->place[place_number(op, object & t->objects)];
	__asm__("" : "+r"(p)); /* to be kept, not to be computed again after the call */
	if (unlikely(!place_holds(t, p, op, object & t->objects, frame))) {
		release(t);
		return e;
	}
	e.place = p;
	e.changes = t->changes;
	e.level = p->level;
	e.frame = t->around.frame;
	e.what = p->outer;
	t->around.frame = (uintptr_t)frame;
	t->around.what = p->inside;
	return e;
}

static inline void count_begin(struct counting *e)
{
	e->began = ticks_raw();
	release(e->thread);
}

/* As a call that goes the general way has it. */
static inline void count_call(struct call *c, const struct counting *e)
{
	c->thread = e->thread;
	c->seq = ~0ull;
	c->began = e->began;
	memcpy(&c->op, &e->who, sizeof(e->who)); /* and c->object */
	c->depth = NO_ROW | e->level;
	c->cancel = false;
	c->outer.frame = e->frame;
	c->outer.what = e->what;
	c->place = e->place;
	c->changes = e->changes;
}

/* What is asked of a place's accesses: anything; their sizes; also their order, where size, offset and bytes are
 * all there is. */
enum plain { NOT_PLAIN, PLAIN_SIZES, PLAIN_ALL };

/* An access that follows the one before as that did its own: next to it, or at the same distance. */
static inline bool goes_on(const struct order *o, const struct run *stride, int64_t offset)
{
	const int64_t distance = (int64_t)((uint64_t)offset - (uint64_t)o->last_offset);

	return likely(o->located >= 2) &&
	       (likely(offset == o->last_end) ||
		(distance != 0 && distance == o->distance && distance == stride->value));
}

static inline void count_order(struct data_counter *n, int64_t offset, int64_t bytes)
{
	struct order *o = &n->order;

	if (offset % FILE_BLOCK)
		n->count[UNALIGNED_FILE]++;
	if (likely(offset == o->last_end)) {
		n->count[SEQUENTIAL]++;
		n->count[CONSECUTIVE]++;
	} else {
		n->count[SEQUENTIAL] += offset > o->last_end;
		n->count[STRIDED]++;
		n->stride.calls++;
	}
	o->located++;
	o->distance = (int64_t)((uint64_t)offset - (uint64_t)o->last_offset);
	o->last_offset = offset;
	o->last_end = offset + bytes;
}

/* The usual access: all about it is as it was with the one before. False: nothing was done. No call is made, so no
 * register is saved. */
static inline __attribute__((always_inline)) bool
count_at_once(struct thread *t, const struct counter_place *p, int64_t size, int64_t offset,
	      int64_t bytes, uint64_t began, uint64_t ended)
{
	struct data_counter *n = p->data;
	struct heat_bin *bin = (struct heat_bin *)((char *)p->heat + t->heat_at);

	if (unlikely((size | bytes) < 0) || unlikely(ended < began) ||
	    unlikely(began < t->heat_from) || unlikely(ended >= t->heat_until) ||
	    unlikely(n->size.value != size))
		return false;
	if (p->plain != PLAIN_SIZES) {
		if (unlikely(p->plain != PLAIN_ALL) || unlikely(n->extent.value != bytes) ||
		    unlikely(p->home->turn != p->direction) || unlikely(offset < 0) ||
		    unlikely(!goes_on(&n->order, &n->stride, offset)))
			return false;
		n->count[CONTIGUOUS]++;
		n->extent.calls++;
		count_order(n, offset, bytes);
		t->uncut |= p->uncut;
	}
	n->size.calls++;
	counter_sum(&n->sum, (uint64_t)bytes, false, began, ended);
	bin->calls++;
	bin->bytes += (uint64_t)bytes;
	bin->ticks += ended - began;
	return true;
}

/* No row, no reset came since it began, and its place is no other's. */
static inline bool has_place(const struct thread *t, uint32_t changes)
{
	return likely(t->changes == changes) && likely(t->when_ready == READY_COUNTS);
}

/* The end of a call without a row, whose thread is not ready. False: nothing was done, it has no place any more. */
bool count_leave(struct thread *t, const struct call *c, uint64_t ended);
/* After such a call went the general way: where it was counted. */
void count_learn(struct thread *t, const struct call *c, enum level level, struct counter *sum);

#endif
