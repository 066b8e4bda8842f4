/* Enter and leave: what every wrapper does, the hot path. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "core/raw.h"

bool layer_on(uint8_t layer)
{
	return atomic_load_explicit(&control->gate, memory_order_relaxed) >> layer & 1;
}

uint64_t ticks_now(void)
{
	return ticks();
}

/* A handler on its own stack has frames anywhere: those prove nothing about what was left. */
static bool on_signal_stack(void)
{
	stack_t stack = {0};

	return raw3(SYS_sigaltstack, 0, (long)&stack, 0) == 0 && stack.ss_flags & SS_ONSTACK;
}

/* Drops the open calls above `depth`: a longjmp, an exception or a cancellation left them. */
static void drop_open(struct thread *t, uint32_t depth, uint64_t now)
{
	while (t->depth > depth) {
		t->depth--;
		stream_unfinished(t, &t->page->open[t->depth], t->depth, LEFT_BY_JUMP, now);
		atomic_store_explicit(&t->page->depth, t->depth, memory_order_relaxed);
	}
}

/* There are open calls: were some left without an end, is this the same call again, is it too deep?
 * False: no row. */
static bool enter_inside(struct thread *t, uint32_t op, const void *frame)
{
	uint32_t depth = t->depth;

	while (depth > 0 && t->page->open[depth - 1].frame <= (uintptr_t)frame)
		depth--;
	if (unlikely(depth < t->depth) && !on_signal_stack())
		drop_open(t, depth, ticks());
	if (t->depth == CALL_DEPTH)
		return false;
	return !(t->depth && op_of(op)->absorb && t->page->open[t->depth - 1].op == op);
}

/* The budget is spent: the call is counted when it ends, and has no seq. */
static bool enter_counting(struct thread *t, struct call *c)
{
	c->seq = ~0ull;
	c->depth = t->enclosing;
	t->enclosing = c->op + 1;
	barrier();
	t->ready = 1;
	c->began = ticks();
	return true;
}

bool call_enter(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		const void *frame, const void *site)
{
	uint64_t gate = atomic_load_explicit(&control->gate, memory_order_relaxed);
	struct open_call *o;
	struct thread *t;

	c->thread = NULL;
	if (!(gate >> ops[op].layer & 1) || object & OBJECT_LEFT_OUT)
		return false;
	t = thread_claim();
	if (unlikely(!t))
		return false;
	c->op = op;
	c->object = object;
	c->error = 0;
	c->cancel = false;
	if (unlikely(t->depth) && !enter_inside(t, op, frame)) {
		thread_release(t);
		return false;
	}
	c->thread = t;
	if (unlikely(t->counting))
		return enter_counting(t, c);
	c->depth = t->depth;
	o = &t->page->open[c->depth];
	o->site = c->depth ? 0 : site_of(t, frame, site);
	if (unlikely(t->flush_began))
		stream_flush_row(t);
	o->seq = c->seq = t->next_seq++;
	o->frame = (uintptr_t)frame;
	o->op = op;
	o->object = object;
	o->size = size;
	o->offset = offset;
	o->began = c->began = ticks();
	barrier();
	t->depth = c->depth + 1;
	atomic_store_explicit(&t->page->depth, t->depth, memory_order_relaxed);
	barrier();
	t->ready = 1;
	return true;
}

/* Calls above ours were left by a jump that ended in our original; or ours itself is gone: a fork wiped it. */
static bool leave_out_of_order(struct thread *t, const struct call *c, uint64_t now)
{
	if (!t->alive || t->depth <= c->depth || t->page->open[c->depth].seq != c->seq)
		return false;
	drop_open(t, c->depth + 1, now);
	return true;
}

static void leave_counting(struct thread *t, const struct call *c, uint64_t ended)
{
	if (t->alive) {
		t->enclosing = c->depth;
		counter_add(t, c, ended);
	}
	t->ready = t->alive;
}

void call_leave(struct call *c, uint64_t ended)
{
	struct thread *t = c->thread;

	t->ready = 0;
	barrier();
	if (unlikely(c->seq == ~0ull)) {
		leave_counting(t, c, ended);
		return;
	}
	if (unlikely(t->depth != c->depth + 1) && !leave_out_of_order(t, c, ended)) {
		t->ready = t->alive;
		return;
	}
	stream_row(t, c, t->page->open[c->depth].site, ended);
	t->depth = c->depth;
	atomic_store_explicit(&t->page->depth, t->depth, memory_order_relaxed);
	if (unlikely(t->put > t->limit))
		stream_next_chunk(t, false);
	if (unlikely(t->flush_began))
		stream_flush_row(t);
	barrier();
	t->ready = 1;
}

void call_cancel(struct call *c, uint64_t ended)
{
	struct thread *t = c->thread;

	if (c->seq != ~0ull && (t->next_seq != c->seq + 1 || t->depth != c->depth + 1)) {
		call_leave(c, ended); /* something was recorded inside: its parent must exist */
		return;
	}
	t->ready = 0;
	barrier();
	if (c->seq == ~0ull) {
		t->enclosing = c->depth;
	} else {
		t->next_seq--;
		t->depth = c->depth;
		atomic_store_explicit(&t->page->depth, t->depth, memory_order_relaxed);
	}
	barrier();
	t->ready = 1;
}

struct call_ref call_reference(const struct call *c)
{
	return (struct call_ref){c->thread->stream, c->seq};
}

void call_link(struct call *c, struct call_ref to, enum link_kind kind, uint64_t bytes,
	       unsigned percent)
{
	struct thread *t = c->seq == ~0ull ? NULL : thread_claim();
	struct record r;

	if (!t)
		return;
	r = record_begin(t);
	record_varint(&r, c->seq);
	record_bytes8(&r, to.stream);
	record_varint(&r, to.seq);
	record_varint(&r, kind);
	record_varint(&r, bytes);
	record_varint(&r, percent);
	record_end(&r, RECORD_LINK);
	thread_release(t);
}

void call_text(struct call *c, const char *name, const char *value)
{
	struct thread *t = c->seq == ~0ull ? NULL : thread_claim();
	struct record r;

	if (!t)
		return;
	r = record_begin(t);
	record_varint(&r, c->seq);
	record_string(&r, name);
	record_string(&r, value);
	record_end(&r, RECORD_TEXT);
	thread_release(t);
}

void note(const char *format, ...)
{
	struct thread *t = thread_claim();
	char text[512];
	struct record r;
	va_list list;

	if (!t)
		return;
	if (atomic_fetch_add(&process->marks, 1) < MARKS) {
		va_start(list, format);
		vsnprintf(text, sizeof(text), format, list);
		va_end(list);
		r = record_begin(t);
		record_varint(&r, ticks());
		record_string(&r, "note");
		record_string(&r, text);
		record_varint(&r, 0);
		record_end(&r, RECORD_MARK);
	}
	thread_release(t);
}

void process_rank(uint32_t rank, uint32_t ranks, const char *mpi)
{
	struct thread *t = thread_claim();
	struct record r;

	if (!t)
		return;
	r = record_begin(t);
	record_varint(&r, rank);
	record_varint(&r, ranks);
	record_string(&r, mpi);
	record_end(&r, RECORD_RANK);
	thread_release(t);
}
