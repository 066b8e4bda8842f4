/* The usual call, from enter to row, in one straight line: what call_enter and call_leave are. Whatever is not
 * usual goes to call.c. */
#ifndef FATHOM_FAST_H
#define FATHOM_FAST_H

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/row.h"
#include "edges/edges.h"

bool call_enter_slowly(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		       const void *frame, const void *site);
void call_leave_slowly(struct thread *t, struct call *c, uint64_t ended);

static inline void release(struct thread *t)
{
	barrier();
	t->ready = t->when_ready;
}

static inline void set_depth(struct thread *t, uint32_t depth)
{
	t->depth = (uint8_t)depth;
	barrier();
	atomic_store_explicit(&t->page->depth, depth, memory_order_relaxed);
}

/* Does the program itself make the call that begins now? Then nothing is open but its regions. */
static inline bool is_own(const struct thread *t)
{
	return t->depth == t->regions_around;
}

_Static_assert(offsetof(struct call, object) == offsetof(struct call, op) + 4, "stored as one");

static inline void begin(struct call *c, uint32_t op, uint32_t object)
{
	uint64_t who = op | (uint64_t)object << 32;

	/* One store: pattern_who reads both at once, and would wait for two. */
	memcpy(&c->op, &who, sizeof(who));
	c->error = 0;
	c->cancel = false;
}

static inline void push(struct thread *t, struct call *c, int64_t size, int64_t offset,
			const void *frame, uint32_t site)
{
	struct open_call *o = &t->page->open[t->depth];

	o->seq = c->seq = t->next_seq++;
	o->frame = (uintptr_t)frame;
	o->op = c->op;
	o->object = c->object;
	o->size = size;
	o->offset = offset;
	o->site = site;
	c->thread = t;
	c->depth = t->depth;
	o->began = c->began = ticks();
	set_depth(t, c->depth + 1);
}

/* Is all in order for a call inside another: an older frame, not the same call (MPI_X over PMPI_X), and its op
 * known to the stream? (An outermost call's is, if its site is.) */
static inline bool nests(const struct thread *t, uint32_t op, const void *frame)
{
	const struct open_call *o = &t->page->open[t->depth - 1];

	return o->frame > (uintptr_t)frame && o->op != op && t->depth < CALL_DEPTH &&
	       t->op_seen[op];
}

static inline __attribute__((always_inline)) bool
call_enter_fast(struct call *c, uint32_t op, uint8_t layer, uint32_t object, int64_t size,
		int64_t offset, const void *frame, const void *site)
{
	struct thread *t = self;
	const struct site_entry *e;
	uint32_t known = 0;

	if (unlikely(~gate_now() & (1ull << layer | LEVEL_CALL)) ||
	    unlikely(!t || t->ready != READY || object & OBJECT_LEFT_OUT))
		return call_enter_slowly(c, op, object, size, offset, frame, site);
	if (t->depth && unlikely(!nests(t, op, frame)))
		return call_enter_slowly(c, op, object, size, offset, frame, site);
	if (is_own(t)) {
		e = &t->site[(uintptr_t)site / 4 % SITES];
		if (unlikely(e->address != site || entry_site.slot))
			return call_enter_slowly(c, op, object, size, offset, frame, site);
		known = e->site;
	}
	t->ready = NOT_READY;
	barrier();
	begin(c, op, object);
	push(t, c, size, offset, frame, known);
	release(t);
	return true;
}

static inline __attribute__((always_inline)) void call_leave_fast(struct call *c, uint64_t ended,
								  uint32_t n)
{
	struct thread *t = c->thread;
	uint64_t who, where;
	struct pattern *p;
	uint8_t slot;

	t->ready = NOT_READY;
	barrier();
	if (unlikely(t->depth != c->depth + 1 || t->put > t->limit ||
		     c->object & OBJECT_LEFT_OUT)) {
		call_leave_slowly(t, c, ended);
		return;
	}
	who = pattern_who(c);
	where = pattern_where(t, c->depth, t->page->open[c->depth].site);
	slot = pattern_slot(who, where);
	p = &t->pattern[slot];
	if (unlikely(p->who != who || p->where != where)) {
		call_leave_slowly(t, c, ended);
		return;
	}
	if (likely(!c->error && as_predicted(p, c->field, n)))
		put_usual_row(t, slot, c->began, ended);
	else
		stream_surprising_row(t, slot, c, ended);
	set_depth(t, c->depth);
	release(t);
}

#endif
