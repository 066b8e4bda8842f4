/* The same straight line as fast.h, for the catalogue's `hot` rows: reads and writes of a descriptor, whose op
 * and layer are constants, whose fields are size, offset, bytes, and which have no hooks. Nothing is kept but
 * the row of the open call. hot_enter says no to whatever is not usual; the wrapper then goes the general way. */
#ifndef FATHOM_HOT_H
#define FATHOM_HOT_H

#include "core/fast.h"

struct hot_call {
	struct thread *thread;
	struct open_call *open; /* NULL: not usual */
	uint64_t seq;
};

__attribute__((cold)) void hot_leave_slowly(const struct hot_call *h, uint32_t op, int64_t size,
					    int64_t offset, int64_t bytes, uint64_t ended);

/* What fd is open on; 0 or OBJECT_LEFT_OUT, which is negative: not usual. */
static inline int32_t hot_object(int fd)
{
	struct descriptor_table *all = atomic_load_explicit(&descriptors, memory_order_relaxed);
	struct descriptor *page;

	if (unlikely(!all || (unsigned)fd >= FDS_PER_PAGE * FD_PAGES))
		return 0;
	page = atomic_load_explicit(&all->page[(unsigned)fd / FDS_PER_PAGE], memory_order_acquire);
	if (unlikely(!page))
		return 0;
	return (int32_t)atomic_load_explicit(&page[(unsigned)fd % FDS_PER_PAGE].object,
					     memory_order_relaxed);
}

static inline __attribute__((always_inline)) struct hot_call
hot_enter(uint32_t op, uint8_t layer, int fd, int64_t size, int64_t offset, const void *frame,
	  const void *site)
{
	const struct hot_call no = {0};
	struct hot_call h = {.thread = self};
	const uint64_t on = 1ull << layer | LEVEL_CALL;
	const struct site_entry *e;
	int32_t object = hot_object(fd);
	uint32_t known = 0, depth;

	if (unlikely(~atomic_load_explicit(&control->gate, memory_order_relaxed) & on) ||
	    unlikely(!h.thread || h.thread->ready != READY || object <= 0))
		return no;
	depth = h.thread->depth;
	if (depth) {
		if (unlikely(!nests(h.thread, op, frame)))
			return no;
	} else {
		e = &h.thread->site[(uintptr_t)site / 4 % SITES];
		if (unlikely(e->address != site || entry_site.slot))
			return no;
		known = e->site;
	}
	h.thread->ready = NOT_READY;
	barrier();
	h.open = &h.thread->page->open[depth];
	h.open->seq = h.seq = h.thread->next_seq++;
	h.open->frame = (uintptr_t)frame;
	h.open->op = op;
	h.open->object = (uint32_t)object;
	h.open->size = size;
	h.open->offset = offset;
	h.open->site = known;
	h.open->began = ticks_raw();
	set_depth(h.thread, depth + 1);
	release(h.thread);
	return h;
}

static inline bool hot_as_predicted(struct pattern *p, int64_t size, int64_t offset, int64_t bytes)
{
	if (unlikely(((uint64_t)size ^ p->next[0]) | ((uint64_t)offset ^ p->next[1]) |
		     ((uint64_t)bytes ^ p->next[2])))
		return false;
	p->next[0] += p->slope[0];
	p->next[1] += p->slope[1];
	p->next[2] += p->slope[2];
	return true;
}

static inline __attribute__((always_inline)) void hot_leave(const struct hot_call *h, uint32_t op,
							    int64_t size, int64_t offset,
							    int64_t bytes, uint64_t ended)
{
	struct thread *t = h->thread;
	const struct open_call *o = h->open;
	uint32_t depth = t->depth - 1;
	uint64_t who, where;
	struct pattern *p;
	uint8_t slot;

	t->ready = NOT_READY;
	barrier();
	who = op | (uint64_t)o->object << 32;
	where = o->site | (uint64_t)depth << 32 | (uint64_t)t->generation << 40;
	slot = pattern_slot(who, where);
	p = &t->pattern[slot];
	if (unlikely(bytes == -1 || t->put > t->limit || o != &t->page->open[depth] ||
		     o->seq != h->seq || p->who != who || p->where != where ||
		     !hot_as_predicted(p, size, offset, bytes))) {
		hot_leave_slowly(h, op, size, offset, bytes, ended);
		return;
	}
	put_usual_row(t, slot, o->began, ended);
	set_depth(t, depth);
	release(t);
}

#endif
