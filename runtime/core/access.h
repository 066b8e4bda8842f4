/* What one more call changes in its counter, in a straight line: for counters.c, accesses.c and count.c. */
#ifndef FATHOM_ACCESS_H
#define FATHOM_ACCESS_H

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/counters.h"
#include "core/thread.h"

enum { FILE_BLOCK = 4096 }; /* what an offset is a multiple of when it is aligned */

/* An access as counters see it. Of what is not known -1; amount: bytes moved, extent: from its first to its last
 * in the file, pieces: of memory, more than one. */
struct access {
	int64_t asked, offset, amount, extent;
	bool pieces;
	uint8_t direction, layer;
};

/* Another value follows: the run that ends goes into the histogram, if it has one, and into the tally. */
void access_next_run(struct thread *t, struct data_counter *n, struct run *run, uint64_t *bins,
		     enum tallied what, int64_t value);
void access_hole(struct thread *t, struct data_counter *n, int64_t extent);
void access_first_turn(struct thread *t, struct data_counter *n);

static inline void counter_sum(struct counter *n, uint64_t bytes, bool failed, uint64_t began,
			       uint64_t ended)
{
	const uint64_t took = ended > began ? ended - began : 0;

	n->calls++;
	n->errors += failed;
	n->bytes += bytes;
	n->ticks += took;
	if (unlikely(took < n->min))
		n->min = took;
	if (unlikely(took > n->max))
		n->max = took;
	if (unlikely(n->first - 1 >= began)) /* 0: none yet; calls may nest */
		n->first = began;
	if (likely(ended > n->last))
		n->last = ended;
}

static inline void access_size(struct thread *t, struct data_counter *n, int64_t size)
{
	if (likely(n->size.value == size))
		n->size.calls++;
	else
		access_next_run(t, n, &n->size, n->sizes, TALLY_SIZE, size);
}

/* Of extents only those with holes are tallied: the others are sizes. */
static inline void access_shape(struct thread *t, struct data_counter *n, int64_t extent,
				bool holes, bool pieces)
{
	n->count[(holes ? HOLES_FILE : CONTIGUOUS) + pieces]++;
	if (likely(n->extent.value == extent))
		n->extent.calls++;
	else
		access_next_run(t, n, &n->extent, n->extents, TALLY_EXTENT, extent);
	if (unlikely(holes))
		access_hole(t, n, extent);
}

static inline void access_turn(struct thread *t, struct data_counter *n, uint32_t direction)
{
	struct data_counter *home;

	if (unlikely(!n->home))
		access_first_turn(t, n);
	home = &t->data->entry[n->home - 1];
	n->count[SWITCHES] += home->turn && home->turn != direction;
	home->turn = direction;
}

static inline void access_distance(struct thread *t, struct data_counter *n, int64_t distance)
{
	if (likely(n->stride.value == distance))
		n->stride.calls++;
	else
		access_next_run(t, n, &n->stride, NULL, TALLY_STRIDE, distance);
}

static inline void access_place(struct thread *t, struct data_counter *n, int64_t offset,
				int64_t end)
{
	struct order *o = &n->order;
	const int64_t distance = (int64_t)((uint64_t)offset - (uint64_t)o->last_offset);

	n->count[UNALIGNED_FILE] += offset % FILE_BLOCK != 0;
	if (unlikely(o->located < 2)) {
		if (o->located == 0) {
			o->first_offset = offset;
			o->first_end = end;
		}
		o->second_offset = offset;
	}
	if (likely(o->located)) {
		n->count[SEQUENTIAL] += offset >= o->last_end;
		if (offset == o->last_end) {
			n->count[CONSECUTIVE]++;
		} else if (distance != 0) {
			n->count[STRIDED] += o->located > 1 && distance == o->distance;
			access_distance(t, n, distance);
		}
		o->distance = distance;
	}
	o->located++;
	o->last_offset = offset;
	o->last_end = end;
}

/* An access is a call that moved data and did not fail. */
static inline __attribute__((always_inline)) void
access_count(struct thread *t, struct data_counter *n, const struct access *a)
{
	if (a->asked >= 0 || a->amount >= 0)
		access_size(t, n, a->asked >= 0 ? a->asked : a->amount);
	if (n->sum.zero != COUNTER_ALL)
		return;
	if (a->amount >= 0 && a->extent >= 0)
		access_shape(t, n, a->extent, a->extent > a->amount, a->pieces);
	if (!n->sum.object)
		return;
	access_turn(t, n, a->direction);
	if (a->offset < 0)
		return;
	access_place(t, n, a->offset,
		     a->offset + (a->amount <= 0   ? 0
				  : a->extent >= 0 ? a->extent
						   : a->amount));
	t->uncut |= 1u << a->layer;
}

#endif
