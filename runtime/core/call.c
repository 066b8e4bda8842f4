/* Enter and leave: what every wrapper does, the hot path. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/counters.h"
#include "core/objects.h"
#include "core/ops.h"
#include "core/sites.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/fast.h"
#include "core/count.h"
#include "core/levels.h"
#include "core/raw.h"
#include "core/process.h"

bool layer_on(uint8_t layer)
{
	return levels_now()->layers >> layer & 1;
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
		stream_unfinished(t, &t->page->open[t->depth], t->depth, UNFINISHED_LEFT_BY_JUMP,
				  now);
		atomic_store_explicit(&t->page->depth, t->depth, memory_order_relaxed);
	}
	forget_regions_around(t);
}

/* Does a jump to `stack` leave the call of this frame? On one stack older frames lie higher; a handler's own
 * stack is left as a whole, or not at all. */
static bool is_left(uintptr_t frame, uintptr_t stack, const struct handler_stack *handlers)
{
	bool in_handlers = handlers->begin <= frame && frame < handlers->end;
	bool there = handlers->begin <= stack && stack < handlers->end;

	return in_handlers == there ? frame < stack : in_handlers;
}

void process_jumps(const void *stack)
{
	struct thread *t = self;
	const struct around none = {0};
	struct handler_stack handlers;
	uint32_t depth = 0;

	if (!stack || !t || t->ready <= STALE || !(t->depth || t->around.frame))
		return;
	handlers = handler_stack();
	t->ready = NOT_READY;
	barrier();
	while (depth < t->depth &&
	       !is_left(t->page->open[depth].frame, (uintptr_t)stack, &handlers))
		depth++;
	drop_open(t, depth, ticks());
	if (t->around.frame && is_left(t->around.frame, (uintptr_t)stack, &handlers))
		around_set(t, none);
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
	return o->op != c->op || o->object != (c->object & ~OBJECT_LEFT_OUT) || o->size != size ||
	       (o->offset != offset && !op_of(c->op)->tracked);
}

/* ---- calls that get no row ---- */

static bool is_around(const struct thread *t)
{
	return t->around.frame &&
	       (!t->depth || t->around.frame < t->page->open[t->depth - 1].frame);
}

static void say_inside(struct thread *t, uint32_t seen)
{
	if (likely(t->last_inside == seen))
		return;
	t->last_inside = seen;
	t->inside_used = true;
	stream_inside(t);
}

void around_set(struct thread *t, struct around around)
{
	t->around = around;
	t->when_ready = usual_state(t);
	if (!around.frame)
		say_inside(t, 0);
}

/* Where a call stands that is made now. */
static struct standing standing(const struct thread *t)
{
	const struct standing *s = t->depth ? &t->standing[t->depth - 1] : NULL;

	if (is_around(t))
		return (struct standing){0, t->around.code, t->around.inside};
	if (!s)
		return (struct standing){0, 0, false};
	if (s->seq != (uint32_t)t->page->open[t->depth - 1].seq)
		return (struct standing){0, 0, true}; /* from before anybody asked */
	return *s;
}

static bool is_region(uint32_t op)
{
	return op >= ops_count + OPS_BROUGHT && op < OP_FATHOM;
}

/* What `code` says of a call: by the place of the outermost one, by the regions around it. */
static struct standing stand(struct thread *t, const struct levels *l, const struct call *c,
			     const void *frame, const void *site)
{
	struct standing s = standing(t);

	if (!s.inside)
		s.code |= (uint8_t)site_code(t, l, op_of(c->op), frame, site);
	if (is_region(c->op))
		s.code |= (uint8_t)levels_region(l, op_of(c->op)->name);
	else
		s.inside = true;
	return s;
}

uint32_t left_out_of(const struct thread *t, const struct levels *l, const struct call *c)
{
	if (c->object || !is_around(t) || op_of(t->around.op - 1)->layer != op_of(c->op)->layer)
		return l->files ? objects_left_out(l, c->object) & l->files : 0;
	return t->around.left_out & l->files;
}

struct decision {
	enum level level;
	struct standing stands;
	uint8_t left_out;
};

/* By the selection `l`; once more when it changed under our hands, or is being overwritten already. */
static struct decision decide(struct thread *t, const struct levels *l, const struct call *c,
			      const void *frame, const void *site)
{
	struct decision d = {.stands = {.inside = true}};

	for (;; l = levels_now()) {
		const uint32_t number = atomic_load(&l->number);

		if (l->code)
			d.stands = stand(t, l, c, frame, site);
		d.left_out = (uint8_t)left_out_of(t, l, c);
		d.level = level_of(l, c->op, d.left_out, d.stands.code);
		if (likely(number && atomic_load(&l->number) == number))
			return d;
	}
}

/* It has no seq. What was around it is kept in it, until it ends. */
static void enter_without_row(struct thread *t, struct call *c, const struct decision *d,
			      const void *frame)
{
	struct around around = {
		.frame = (uintptr_t)frame,
		.op = (uint16_t)(c->op + 1),
		.seen = (uint16_t)(d->level ? c->op + 1 : enclosing_op(t)),
		.beyond = (uint16_t)(d->level ? enclosing_op(t) : beyond_enclosing_op(t)),
		.left_out = d->left_out,
		.code = d->stands.code,
		.inside = d->stands.inside,
	};

	c->thread = t;
	c->seq = ~0ull;
	c->depth = NO_ROW | d->level;
	c->place = NULL;
	c->outer = t->around;
	around_set(t, around);
	c->began = ticks();
}

static void enter_with_row(struct thread *t, struct call *c, const struct decision *d, int64_t size,
			   int64_t offset, const void *frame, const void *site)
{
	const uint32_t object = c->object,
		       where = is_own(t) ? site_of(t, op_of(c->op), frame, site) : 0;

	if (t->uncut >> op_of(c->op)->layer & 1)
		counters_cut(t);
	if (t->counts) {
		t->counts = false;
		t->when_ready = usual_state(t);
	}
	if (is_around(t))
		say_inside(t, op_of(c->op)->beside ? t->around.beyond : t->around.seen);
	else
		say_inside(t, 0);
	while (t->flush_began) /* of what was just said, too: it began before this call does */
		stream_flush_row(t);
	t->standing[t->depth] = d->stands;
	t->standing[t->depth].seq = (uint32_t)t->next_seq;
	c->object &= ~OBJECT_LEFT_OUT;
	push(t, c, size, offset, frame, where);
	c->object = object;
}

bool call_for_job(const struct call *c)
{
	return c->seq == ~0ull && level_without_row(c) <= LEVEL_JOB;
}

bool calls_for_job(const struct call *c)
{
	return call_for_job(c) && !(levels_now()->in_play >> LEVEL_JOB);
}

/* Calls with and without a row may be inside each other: the younger frame is the inner. */
static uint32_t inner(const struct thread *t, uint32_t depth, const struct around *around)
{
	const struct open_call *o = depth ? &t->page->open[depth - 1] : NULL;

	if (around->frame && (!o || around->frame < o->frame))
		return around->seen;
	return o ? o->op + 1 : 0;
}

uint32_t enclosing_op(const struct thread *t)
{
	return inner(t, t->depth, &t->around);
}

uint32_t beyond_enclosing_op(const struct thread *t)
{
	if (is_around(t))
		return t->around.beyond;
	return t->depth ? inner(t, t->depth - 1, &t->around) : 0;
}

uint32_t call_enclosing(const struct thread *t, const struct call *c)
{
	const bool has_row = c->seq != ~0ull;

	return inner(t, has_row ? c->depth : t->depth, has_row ? &t->around : &c->outer);
}

/* The same op directly inside itself, where that is one call. */
static bool absorbed(const struct thread *t, uint32_t op, const void *frame)
{
	return t->around.frame > (uintptr_t)frame && t->around.op == op + 1 && op_of(op)->absorb &&
	       is_around(t);
}

static void drop_around(struct thread *t, const void *frame)
{
	const struct around none = {0};

	if (t->around.frame && t->around.frame <= (uintptr_t)frame && !on_signal_stack())
		around_set(t, none); /* a jump left it */
}

/* What is not usual: no stream yet, a fork, a signal handler, a call left by a jump, a flush to report, a new
 * call site, the budget spent, a selection that must be asked. */
static __attribute__((noinline)) bool enter_slowly(struct call *c, uint32_t op, uint32_t object,
						   int64_t size, int64_t offset, const void *frame,
						   const void *site)
{
	const struct levels *l = levels_now();
	struct decision d;
	struct thread *t;

	c->thread = NULL;
	c->cancel = false;
	if (!(l->layers >> op_of(op)->layer & 1) || object == OBJECT_NEVER)
		return false;
	t = thread_claim();
	if (!t)
		return false;
	begin(c, op, object);
	if (unlikely(process->levels_unsaid))
		levels_say(t);
	drop_around(t, frame);
	if ((t->depth && !enter_inside(t, c, size, offset, frame)) || absorbed(t, op, frame)) {
		c->cancel = t->depth < CALL_DEPTH; /* absorbed */
		release(t);
		return false;
	}
	d = decide(t, l, c, frame, site);
	if (d.level && !t->op_seen[op])
		stream_op(t, op); /* should it never end, the reader must know its name */
	if (d.level == LEVEL_EVENT && !t->counting) {
		enter_with_row(t, c, &d, size, offset, frame, site);
	} else {
		if (t->flush_began)
			stream_flush_row(t);
		enter_without_row(t, c, &d, frame);
	}
	release(t);
	return true;
}

bool call_enter_slowly(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		       const void *frame, const void *site)
{
	struct counting e = count_find(op, object, frame);

	if (!e.place)
		return enter_slowly(c, op, object, size, offset, frame, site);
	c->error = 0;
	count_begin(&e);
	count_call(c, &e);
	return true;
}

bool call_enter(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		const void *frame, const void *site)
{
	return call_enter_fast(c, op, op_of(op)->layer, object, size, offset, frame, site);
}

/* A frame just inside the innermost one around it. */
void call_outlives_frame(const struct call *c)
{
	struct thread *t = c->thread;
	const bool has_row = c->seq != ~0ull;
	const struct around *around = has_row ? &t->around : &c->outer;
	const uint32_t depth = has_row ? c->depth : t->depth;
	uint64_t frame = depth ? t->page->open[depth - 1].frame : UINTPTR_MAX;

	if (around->frame && around->frame < frame)
		frame = around->frame;
	*(has_row ? &t->page->open[c->depth].frame : &t->around.frame) = frame - 1;
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

/* A call whose file was known only when it was made (mkstemp, pipe): what it is after all. */
static enum level level_after(const struct call *c, enum level was, unsigned code)
{
	const struct levels *l = levels_now();
	const uint32_t out = c->object >> OBJECT_LEFT_OUT_SHIFT & l->files;
	const enum level is = out ? level_of(l, c->op, out, code) : was;

	return is < was ? is : was;
}

static struct counter *count_at(struct thread *t, struct call *c, enum level level, uint64_t ended)
{
	c->object &= ~OBJECT_LEFT_OUT;
	return level != LEVEL_UNSEEN ? counter_add(t, c, ended, level == LEVEL_JOB) : NULL;
}

static void leave_without_row(struct thread *t, struct call *c, uint64_t ended)
{
	enum level level = level_without_row(c);
	const uint32_t object = c->object;
	struct counter *sum;

	if (unlikely(c->object & OBJECT_LEFT_OUT))
		level = level_after(c, level, t->around.code);
	around_set(t, c->outer);
	sum = count_at(t, c, level, ended);
	c->object = object;
	count_learn(t, c, level, sum);
	c->object &= ~OBJECT_LEFT_OUT;
}

/* Rows inside it need theirs. */
static bool leave_left_out(struct thread *t, struct call *c, uint64_t ended)
{
	const enum level level = level_after(c, LEVEL_EVENT, t->standing[c->depth].code);

	if (level == LEVEL_EVENT || t->next_seq != c->seq + 1 || t->depth != c->depth + 1)
		return false;
	t->next_seq--;
	set_depth(t, c->depth);
	count_at(t, c, level, ended);
	return true;
}

/* Calls above ours were left by a jump that ended in our original; or ours itself is gone: a fork wiped it,
 * or it has no row; or the file that it opened is one of those that some of the selection leaves out. */
static __attribute__((noinline)) void leave_slowly(struct thread *t, struct call *c, uint64_t ended)
{
	if (!t->alive)
		return;
	if (c->seq == ~0ull) {
		leave_without_row(t, c, ended);
	} else if (t->depth > c->depth && t->page->open[c->depth].seq == c->seq &&
		   !(c->object & OBJECT_LEFT_OUT && leave_left_out(t, c, ended))) {
		c->object &= ~OBJECT_LEFT_OUT;
		drop_open(t, c->depth + 1, ended);
		leave_with_row(t, c, ended);
	}
	release(t);
}

void call_leave_slowly(struct thread *t, struct call *c, uint64_t ended)
{
	if (c->seq != ~0ull || !count_leave(t, c, ended))
		leave_slowly(t, c, ended);
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
		around_set(t, c->outer);
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
	c->object &= ~OBJECT_LEFT_OUT;
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
	va_list list;

	if (!t)
		return;
	if (atomic_fetch_add(&process->marks, 1) < MARKS) {
		va_start(list, format);
		vsnprintf(t->path, sizeof(t->path), format, list);
		va_end(list);
		stream_mark(t, "note", t->path, 0);
	}
	thread_release(t);
}

void process_rank(uint32_t rank, uint32_t ranks, const char *mpi)
{
	struct thread *t;
	struct record r;

	if (!config.rank) {
		config.ranks = ranks;
		config.rank = rank + 1;
		levels_rank_known();
	}
	t = levels_see_nothing() ? NULL : thread_claim();
	if (!t)
		return;
	r = record_begin(t);
	record_varint(&r, rank);
	record_varint(&r, ranks);
	record_string(&r, mpi);
	record_end(&r, RECORD_RANK);
	thread_release(t);
}
