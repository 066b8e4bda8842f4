/* The same straight line as fast.h, for the catalog's `hot` rows: reads and writes of a descriptor, whose
 * fields are size, offset, bytes, and which have no hooks. A call from a place in the program that made the
 * same one before, on the same object, with as many calls around it, is checked against what was true then
 * and needs no look-up. Nothing of it is kept but the row of the open call. Whatever is not usual goes the
 * general way, and is learnt from. `inside` is a constant: calls inside others cost a little more, and do not
 * make the outermost ones dearer. */
#ifndef FATHOM_HOT_H
#define FATHOM_HOT_H

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/state.h"
#include "core/thread.h"
#include "core/fast.h"
#include "core/count.h"
#include "core/descriptors.h"

struct hot_call {
	struct thread *thread;
	struct usual *usual; /* what it is like; NULL: it is not usual */
};

/* After a call that went the general way: the next one like it may be usual. */
__attribute__((cold)) void hot_learn(const struct call *c, int fd, const void *site);
__attribute__((cold)) int64_t hot_leave_slowly(const struct hot_call h, const int64_t *at,
					       int64_t bytes, const void *frame, uint64_t ended);

/* By address and descriptor. The address's two lowest bits tell little: what is left of it after the mask
 * counts quarters of an entry, which saves a shift. */
static inline struct usual *usual_of(struct thread *t, int fd, const void *site, bool inside)
{
	uint32_t index = ((uint32_t)(uintptr_t)site + 4 * (uint32_t)fd) & 4 * (USUAL - 1);

	return (struct usual *)((char *)t->usual[inside] + index * (sizeof(struct usual) / 4));
}

static inline bool differs(const struct usual *u, uint32_t op, int fd, const void *site)
{
	return unlikely(u->address != site) || unlikely(u->fd != fd) ||
	       unlikely(u->who !=
			(op | (uint64_t)atomic_load_explicit(u->object, memory_order_relaxed)
				      << 32)) ||
	       unlikely(u->gate != gate_now());
}

/* Than where it was learnt, or a Fortran entry may know its site. */
static inline bool stands_elsewhere(struct hot_call h)
{
	return h.usual->depth != h.thread->depth ||
	       h.usual->regions_around != h.thread->regions_around ||
	       (h.usual->site && entry_site.slot);
}

/* A buffer that is not aligned is not usual: the general way tells of it.
 * A usual call's thread is not ready until hot_enter is done: no signal handler changes what was found. */
static inline __attribute__((always_inline)) struct hot_call
hot_find(uint32_t op, int fd, uintptr_t buffer, const void *frame, const void *site, bool inside)
{
	const struct hot_call no = {0};
	struct hot_call h = {.thread = self};

	if (unlikely(!h.thread) || unlikely(buffer & 7) ||
	    unlikely(inside ? h.thread->ready != READY || !h.thread->depth
			    : h.thread->state != READY))
		return no;
	h.usual = usual_of(h.thread, fd, site, inside);
	__asm__("" : "+r"(h.usual)); /* to be kept, not to be computed again after the call */
	h.thread->ready = NOT_READY;
	barrier();
	if (unlikely(differs(h.usual, op, fd, site)) ||
	    unlikely(inside ? stands_elsewhere(h) || !nests(h.thread, op, frame)
			    : entry_site.slot != NULL)) {
		release(h.thread);
		return no;
	}
	return h;
}

/* Depth, the regions around and readiness are one store. */
static inline void release_at_depth(struct thread *t, struct thread_page *page, uint32_t depth,
				    uint32_t regions_around)
{
	barrier();
	atomic_store_explicit(&page->depth, depth, memory_order_relaxed);
	barrier();
	t->state = t->when_ready + (depth << 8) + (regions_around << 16);
}

static inline __attribute__((always_inline)) void
hot_enter(struct hot_call h, int64_t size, int64_t offset, const void *frame, bool inside)
{
	struct thread_page *page = h.thread->page;
	const uint32_t depth = inside ? h.usual->depth : 0;
	struct open_call *o = &page->open[depth];

	o->seq = h.thread->next_seq++;
	o->frame = (uintptr_t)frame;
	memcpy(&o->op, &h.usual->who, sizeof(h.usual->who)); /* and o->object */
	o->size = size;
	o->offset = offset;
	o->site = h.usual->site;
	o->began = ticks_raw();
	release_at_depth(h.thread, page, depth + 1, inside ? h.usual->regions_around : 0);
}

/* In a pattern with a user the sizes stay, and no call fails: link_pattern sees to that. */
static inline bool hot_as_predicted(struct pattern *p, int64_t size, int64_t offset, int64_t bytes)
{
	if (unlikely((uint64_t)size != p->next[0] || (uint64_t)offset != p->next[1] ||
		     (uint64_t)bytes != p->next[2]))
		return false;
	p->next[1] = (uint64_t)offset + p->slope[1];
	return true;
}

/* `at`: the offset where it is tracked, else NULL: as given. Returns `bytes`: what is not usual is a jump. */
static inline __attribute__((always_inline)) int64_t hot_leave(struct hot_call h, const int64_t *at,
							       int64_t bytes, const void *frame,
							       uint64_t ended, bool inside)
{
	struct thread *t = h.thread;
	struct usual *u = h.usual;
	const uint32_t depth = inside ? u->depth : 0;
	struct thread_page *page;
	const struct open_call *o;

	t->ready = NOT_READY;
	barrier();
	if (unlikely(t->depth != depth + 1))
		return hot_leave_slowly(h, at, bytes, frame, ended);
	page = t->page;
	o = &page->open[depth];
	if (unlikely(o->frame != (uintptr_t)frame || t->put > t->limit || t->user[u->slot] != u ||
		     !hot_as_predicted(u->pattern, o->size, at ? *at : o->offset, bytes)))
		return hot_leave_slowly(h, at, bytes, frame, ended);
	put_usual_row(t, (uint8_t)u->slot, o->began, ended);
	release_at_depth(t, page, depth, inside ? u->regions_around : 0);
	return bytes;
}

/* ---- the same calls where they are counted: count.h ---- */

/* 0: descriptor_object knows. */
static inline uint32_t hot_object(int fd)
{
	struct descriptor_table *all = atomic_load_explicit(&descriptors, memory_order_relaxed);
	struct descriptor *page;

	if (unlikely(!all || (unsigned)fd >= FDS_PER_PAGE * FD_PAGES))
		return 0;
	page = atomic_load_explicit(&all->page[(unsigned)fd / FDS_PER_PAGE], memory_order_acquire);
	return likely(page) ? atomic_load_explicit(&page[(unsigned)fd % FDS_PER_PAGE].object,
						   memory_order_relaxed)
			    : 0;
}

static inline __attribute__((always_inline)) struct counting
hot_count_find(uint32_t op, int fd, uintptr_t buffer, const void *frame)
{
	const struct counting no = {0};
	const uint32_t object = likely(!(buffer & 7)) ? hot_object(fd) : 0;

	return likely(object) ? count_find(op, object, frame) : no;
}

__attribute__((cold)) int64_t hot_count_slowly(struct counting e, int64_t size, int64_t offset,
					       int64_t bytes, uint64_t ended);

/* Returns `bytes`: what is not usual is a jump. */
static inline __attribute__((always_inline)) int64_t
hot_count_leave(struct counting e, int64_t size, int64_t offset, int64_t bytes, uint64_t ended)
{
	struct thread *t = e.thread;

	t->ready = NOT_READY;
	barrier();
	if (unlikely(!has_place(t, e.changes)) || unlikely(!e.place->plain) ||
	    unlikely(!count_at_once(t, e.place, size, offset, bytes, e.began, ended)))
		/* A copy: what is passed as a whole would lie in memory all the time. */
		return hot_count_slowly((struct counting){t, e.place, e.began, e.who, e.frame,
							  e.what, e.changes, e.level},
					size, offset, bytes, ended);
	t->around.frame = e.frame;
	t->around.what = e.what;
	release(t);
	return bytes;
}

#endif
