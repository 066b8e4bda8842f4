/* Enter and leave: what every wrapper does, the hot path. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "core/raw.h"
#include "core/fast.h"
#include "core/process.h"

bool layer_on(uint8_t layer)
{
	uint64_t gate = atomic_load_explicit(&control->gate, memory_order_relaxed);

	return gate_records(gate, layer) || gate_counts(gate, layer);
}

bool call_inside(uint8_t layer)
{
	const struct thread *t = self;
	const uint32_t around = t && t->alive ? enclosing_op(t) : 0;

	return around && op_of(around - 1)->layer == layer;
}

uint64_t ticks_now(void)
{
	return ticks();
}

/* The stack that signal handlers run on, while one does. */
struct handler_stack {
	uintptr_t begin, end; /* equal: none in use */
};

static struct handler_stack handler_stack(void)
{
	stack_t s = {0};

	if (raw3(SYS_sigaltstack, 0, (long)&s, 0) != 0 || !(s.ss_flags & SS_ONSTACK))
		return (struct handler_stack){0, 0};
	return (struct handler_stack){(uintptr_t)s.ss_sp, (uintptr_t)s.ss_sp + s.ss_size};
}

/* A handler on its own stack has frames anywhere: those prove nothing about what was left. */
static bool on_signal_stack(void)
{
	return handler_stack().end != 0;
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

/* Does a jump to `stack` leave the call of this frame? On one stack older frames lie higher; a handler's own
 * stack is left as a whole, or not at all. */
static bool is_left(uintptr_t frame, uintptr_t stack, const struct handler_stack *handlers)
{
	bool here = handlers->begin <= frame && frame < handlers->end;
	bool there = handlers->begin <= stack && stack < handlers->end;

	return here == there ? frame < stack : here;
}

void process_jumps(const void *stack)
{
	struct thread *t = self;
	struct handler_stack handlers;
	uint32_t depth = 0;

	if (!stack || !t || t->ready == NOT_READY || !(t->depth || t->enclosing))
		return;
	handlers = handler_stack();
	t->ready = NOT_READY;
	barrier();
	while (depth < t->depth &&
	       !is_left(t->page->open[depth].frame, (uintptr_t)stack, &handlers))
		depth++;
	drop_open(t, depth, ticks());
	if (t->enclosing && is_left(t->enclosing_frame, (uintptr_t)stack, &handlers))
		t->enclosing = 0;
	release(t);
}

/* There are open calls: were some left without an end, is this the same call again, is it too deep?
 * False: no row. */
static bool enter_inside(struct thread *t, const struct call *c, int64_t size, int64_t offset,
			 const void *frame)
{
	uint32_t depth = t->depth;
	const struct open_call *o;

	while (depth > 0 && t->page->open[depth - 1].frame <= (uintptr_t)frame)
		depth--;
	if (unlikely(depth < t->depth) && !on_signal_stack())
		drop_open(t, depth, ticks());
	if (t->depth == CALL_DEPTH) {
		atomic_fetch_add(&process->calls_too_deep, 1);
		return false;
	}
	if (!t->depth || !op_of(c->op)->absorb)
		return true;
	/* A signal handler's call of the same op is another call: it has its own arguments. */
	o = &t->page->open[t->depth - 1];
	return o->op != c->op || o->object != c->object || o->size != size ||
	       (o->offset != offset && !op_of(c->op)->tracked);
}

/* The call is counted when it ends, and has no seq. What encloses it is kept in depth, marked so that call_leave
 * takes its slow path. */
enum { COUNTED = 0x80000000u, FOR_JOB = 0x40000000u, OUTER = FOR_JOB - 1 };

static void enter_counting(struct thread *t, struct call *c, const void *frame, bool whole_job)
{
	if (t->enclosing && t->enclosing_frame <= (uintptr_t)frame && !on_signal_stack())
		t->enclosing = 0; /* a jump left it */
	c->seq = ~0ull;
	c->object = whole_job ? 0 : c->object;
	c->depth = t->enclosing | COUNTED | (whole_job ? FOR_JOB : 0);
	c->outer_frame = t->enclosing_frame;
	t->enclosing = c->op + 1;
	t->enclosing_frame = (uintptr_t)frame;
	c->began = ticks();
}

/* The same op directly inside itself, where that is one call. */
static bool counted_already(const struct thread *t, uint32_t op, const void *frame)
{
	return t->enclosing == op + 1 && t->enclosing_frame > (uintptr_t)frame && op_of(op)->absorb;
}

bool call_for_job(const struct call *c)
{
	return c->seq == ~0ull && c->depth & FOR_JOB;
}

/* Calls that are counted and calls that are recorded may be inside each other: the younger frame is the inner. */
static uint32_t inner(const struct thread *t, uint32_t depth, uint32_t counted, uint64_t frame)
{
	const struct open_call *o = depth ? &t->page->open[depth - 1] : NULL;

	return !o || (counted && frame < o->frame) ? counted : o->op + 1;
}

uint32_t enclosing_op(const struct thread *t)
{
	return inner(t, t->depth, t->enclosing, t->enclosing_frame);
}

uint32_t call_enclosing(const struct thread *t, const struct call *c)
{
	if (c->seq == ~0ull)
		return inner(t, t->depth, c->depth & OUTER, c->outer_frame);
	return inner(t, c->depth, t->enclosing, t->enclosing_frame);
}

static void leave_counting(struct thread *t, const struct call *c)
{
	t->enclosing = c->depth & OUTER;
	t->enclosing_frame = c->outer_frame;
}

/* What is not usual: no stream yet, a fork, a signal handler, a call left by a jump, a flush to report, a new
 * call site, the budget spent. */
bool call_enter_slowly(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		       const void *frame, const void *site)
{
	uint64_t gate = atomic_load_explicit(&control->gate, memory_order_relaxed);
	const bool recorded = gate_records(gate, op_of(op)->layer);
	struct thread *t;

	c->thread = NULL;
	c->cancel = false;
	if (!(recorded || gate_counts(gate, op_of(op)->layer)) || object & OBJECT_LEFT_OUT)
		return false;
	t = thread_claim();
	if (!t)
		return false;
	begin(c, op, object);
	if (!t->op_seen[op])
		stream_op(t, op); /* should it never end, the reader must know its name */
	if (t->flush_began)
		stream_flush_row(t);
	if ((t->depth && !enter_inside(t, c, size, offset, frame)) ||
	    counted_already(t, op, frame)) {
		c->cancel = t->depth < CALL_DEPTH; /* absorbed */
		release(t);
		return false;
	}
	if (t->counting || !recorded || (gate & LEVEL_CALL) != LEVEL_CALL) {
		c->thread = t;
		enter_counting(t, c, frame, (gate & LEVEL_CALL) == LEVEL_JOB);
	} else {
		if (t->uncut >> op_of(op)->layer & 1)
			counters_cut(t);
		push(t, c, size, offset, frame, t->depth ? 0 : site_of(t, frame, site));
	}
	release(t);
	return true;
}

bool call_enter(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		const void *frame, const void *site)
{
	return call_enter_fast(c, op, op_of(op)->layer, object, size, offset, frame, site);
}

void call_outlives_frame(const struct call *c)
{
	struct thread *t = c->thread;
	const bool counted = c->seq == ~0ull;
	const uint32_t around = counted ? t->depth : c->depth;
	const uint64_t frame = around ? t->page->open[around - 1].frame : UINTPTR_MAX;

	if (!counted)
		t->page->open[c->depth].frame = frame;
	else
		t->enclosing_frame = c->depth & OUTER ? c->outer_frame : frame;
}

/* The row is new in kind, or the chunk is full after it. */
static void leave_with_row(struct thread *t, const struct call *c, uint64_t ended)
{
	stream_row(t, c, t->page->open[c->depth].site, ended);
	set_depth(t, c->depth);
	if (t->put > t->limit) {
		stream_next_chunk(t, false);
		if (t->flush_began)
			stream_flush_row(t);
	}
}

/* Calls above ours were left by a jump that ended in our original; or ours itself is gone: a fork wiped it,
 * or it is counted only. */
void call_leave_slowly(struct thread *t, const struct call *c, uint64_t ended)
{
	if (!t->alive)
		return;
	if (c->seq == ~0ull) {
		leave_counting(t, c);
		counter_add(t, c, ended, call_for_job(c));
	} else if (t->depth > c->depth && t->page->open[c->depth].seq == c->seq) {
		drop_open(t, c->depth + 1, ended);
		leave_with_row(t, c, ended);
	}
	release(t);
}

void call_leave(struct call *c, uint64_t ended)
{
	call_leave_fast(c, ended, op_of(c->op)->nfields);
}

void call_cancel(struct call *c, uint64_t ended)
{
	struct thread *t = c->thread;

	if (!t->alive)
		return; /* a fork wiped it */
	if (c->seq != ~0ull && (t->next_seq != c->seq + 1 || t->depth != c->depth + 1)) {
		call_leave(c, ended); /* something was recorded inside: its parent must exist */
		return;
	}
	t->ready = NOT_READY;
	barrier();
	if (c->seq == ~0ull) {
		leave_counting(t, c);
	} else {
		t->next_seq--;
		set_depth(t, c->depth);
	}
	release(t);
}

void call_count(struct call *c)
{
	struct thread *t = c->thread;

	if (!t->alive || c->seq == ~0ull || t->next_seq != c->seq + 1 || t->depth != c->depth + 1)
		return;
	t->ready = NOT_READY;
	barrier();
	t->depth--; /* what encloses it is below */
	counter_add(t, c, ticks(), false);
	t->depth++;
	release(t);
	c->cancel = true;
}

struct call_ref call_reference(const struct call *c)
{
	return c->thread && c->seq != ~0ull ? (struct call_ref){c->thread->stream, c->seq}
					    : (struct call_ref){0};
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

static void put_text(struct thread *t, const struct call *c, const char *name, const char *value)
{
	struct record r = record_begin(t);

	record_varint(&r, c->seq);
	record_string(&r, name);
	record_string(&r, value);
	record_end(&r, RECORD_TEXT);
	thread_release(t);
}

void call_text(struct call *c, const char *name, const char *value)
{
	struct thread *t = c->seq == ~0ull ? NULL : thread_claim();

	if (t)
		put_text(t, c, name, value);
}

void call_path(struct call *c, const char *name, int dirfd, const char *path)
{
	struct thread *t = c->seq == ~0ull ? NULL : thread_claim();

	if (t)
		put_text(t, c, name, path_absolute(t->path, sizeof(t->path), dirfd, path));
}

void note(const char *format, ...)
{
	struct thread *t = thread_claim();
	struct record r;
	va_list list;

	if (!t)
		return;
	if (atomic_fetch_add(&process->marks, 1) < MARKS) {
		va_start(list, format);
		vsnprintf(t->path, sizeof(t->path), format, list);
		va_end(list);
		r = record_begin(t);
		record_varint(&r, ticks());
		record_string(&r, "note");
		record_string(&r, t->path);
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
