/* See spans.h. The struct call of one lies in its thread, for no wrapper holds it. */
#include "core/spans.h"

#include "core/base.h"
#include "core/call.h"
#include "core/ops.h"
#include "core/thread.h"

struct thread *span_thread(void)
{
	struct thread *t = self;

	while (t && t->alive && t->ready <= STALE)
		t = t->side;
	return t && t->alive ? t : NULL;
}

/* A counted call (seq ~0) is on no stack that could tell. */
static bool is_open(const struct thread *t, const struct call *c)
{
	return c->seq == ~0ull || (t->depth > c->depth && t->page->open[c->depth].seq == c->seq);
}

void spans_forget_left(struct thread *t)
{
	while (t->spans.depth && !is_open(t, &t->spans.call[t->spans.depth - 1]))
		t->spans.depth--;
}

/* The first of a thread, or of a fork's child: there is nowhere to put it before it is entered. */
static struct call *begin_first(uint32_t op, uint32_t object, const void *frame, const void *site)
{
	struct call c, *first;

	if (!call_enter(&c, op, object, 0, UNKNOWN_OFFSET, frame, site))
		return NULL;
	call_outlives_frame(&c);
	first = &c.thread->spans.call[0];
	*first = c;
	c.thread->spans.depth = 1;
	return first;
}

static struct call *begin_next(struct thread *t, uint32_t op, uint32_t object, const void *frame,
			       const void *site)
{
	struct call *c;

	spans_forget_left(t);
	if (t->spans.depth == CALL_DEPTH)
		return NULL;
	c = &t->spans.call[t->spans.depth++]; /* a signal handler's go above it */
	c->seq = ~0ull;
	barrier();
	if (!call_enter(c, op, object, 0, UNKNOWN_OFFSET, frame, site)) {
		t->spans.depth--;
		return NULL;
	}
	call_outlives_frame(c);
	return c;
}

struct call *span_begin(uint32_t op, uint32_t object, uint64_t key, const void *frame,
			const void *site)
{
	struct thread *t = span_thread();
	struct call *c =
		t ? begin_next(t, op, object, frame, site) : begin_first(op, object, frame, site);

	if (c) {
		c->scratch[0] = key;
		c->scratch[1] = 0;
	}
	return c;
}

struct call *span_find(uint8_t layer, uint64_t key)
{
	struct thread *t = span_thread();

	if (!t)
		return NULL;
	spans_forget_left(t);
	for (uint32_t i = t->spans.depth; i > 0; i--) {
		struct call *c = &t->spans.call[i - 1];

		if (c->scratch[0] == key && op_of(c->op)->layer == layer)
			return c;
	}
	return NULL;
}

void span_end(struct call *c, uint64_t ended)
{
	struct thread *t = c->thread;
	struct spans *s = &t->spans;

	while (s->depth &&
	       &s->call[s->depth - 1] != c) /* recorded ones become unfinished as it ends */
		if (s->call[--s->depth].seq == ~0ull)
			call_leave(&s->call[s->depth], ended);
	call_leave(c, ended);
	forget_regions_around(t);
	s->depth = (uint32_t)(c - s->call);
}
