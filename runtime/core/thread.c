/* A thread's stream: made at its first call, written out at its end, apart for signal handlers and vfork. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/ops.h"
#include "core/ring.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/counters.h"
#include "core/levels.h"
#include "core/process.h"
#include "core/raw.h"

__thread struct thread *self;

/* Of threads that have no stream and get none: their calls pass through. */
static struct thread nobody = {.broken = 1};

/* Made so early that setting it needs no memory. */
static pthread_key_t end_key;
static bool end_key_made;

void thread_begin(void)
{
	end_key_made = pthread_key_create(&end_key, thread_end) == 0;
}

static size_t thread_bytes(void)
{
	size_t bytes = sizeof(struct thread) + op_index(OP_FATHOM_END) * sizeof(uint32_t);

	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static struct thread_page *make_page(struct thread *t)
{
	struct thread_page *page = ring_page();

	if (!page)
		return NULL;
	page->stream = t->stream;
	page->tid = t->tid;
	atomic_store(&page->depth, 0);
	barrier();
	memcpy(page->magic, "FATHOMTH", 8);
	return page;
}

static void thread_free(struct thread *t)
{
	struct spare *spare = (struct spare *)t;
	uint64_t mask;

	if (t == &nobody)
		return;
	if (!raw_closed()) {
		raw3(SYS_munmap, (long)t, (long)thread_bytes(), 0);
		return;
	}
	mask = process_lock();
	spare->next = process->spare_threads;
	process->spare_threads = spare;
	process_unlock(mask);
}

static struct thread *thread_memory(void)
{
	struct spare *spare = NULL;
	uint64_t mask;

	if (raw_closed()) {
		mask = process_lock();
		spare = process->spare_threads;
		process->spare_threads = spare ? spare->next : NULL;
		process_unlock(mask);
	}
	return spare ? memset(spare, 0, thread_bytes()) : memory_get(thread_bytes(), true);
}

/* Where the kernel cannot be asked it is not known: 0. */
static uint32_t own_tid(void)
{
	const long tid = raw3(SYS_gettid, 0, 0, 0);

	return tid > 0 ? (uint32_t)tid : 0;
}

/* Fills zeroed memory: a new thread's, or one that a fork wiped. */
static bool thread_fill(struct thread *t, struct thread *main, bool is_vfork)
{
	uint64_t mask = process_lock();
	bool begun;

	if (t->alive) { /* a signal handler's call was faster */
		process_unlock(mask);
		return true;
	}
	t->main = main;
	t->is_vfork = is_vfork;
	t->stream = random_id();
	t->tid = own_tid();
	t->pid = is_vfork && !raw_closed() ? (uint32_t)raw3(SYS_getpid, 0, 0, 0) : process->pid;
	t->session = config.session;
	t->resets = t->changes = 1;
	t->page = make_page(t);
	t->chunk_list[0] = t->page ? ring_chunk(true) : NULL;
	t->chunks = t->chunk_list[0] ? 1 : 0;
	begun = stream_begin_chunk(t, t->chunk_list[0]);
	if (begun) {
		t->alive = 1;
		t->when_ready = usual_state(t);
		t->next = process->threads;
		process->threads = t;
		stream_ask_budget(t);
		t->ready = t->when_ready;
	} else {
		t->broken = 1;
		if (t->page)
			ring_page_free(t->page);
	}
	process_unlock(mask);
	return begun;
}

struct thread *thread_make(struct thread *main, bool is_vfork)
{
	struct thread *t = thread_memory();

	if (!t)
		return NULL;
	if (!thread_fill(t, main, is_vfork)) {
		thread_free(t);
		return NULL;
	}
	return t;
}

static void own(struct thread *t)
{
	self = t;
	if (end_key_made)
		pthread_setspecific(end_key, t);
}

/* The calling thread has no stream and gets none: its calls pass through. */
static void pass_through(void)
{
	own(&nobody);
}

/* A thread that finds no room for a stream passes through; the others go on, and the run's log says so. */
static struct thread *claim_first(void)
{
	struct thread *t = thread_make(NULL, false);

	if (t) {
		own(t);
		return t;
	}
	pass_through();
	atomic_fetch_add(&process->threads_left_out, 1);
	return NULL;
}

/* Its next row is in another call of the thread's. Chunks that were set aside are too few for that. */
static void leave_base(struct thread *side)
{
	if (!ring_stays()) {
		stream_next_chunk(side, false);
	} else if (!side->counting) {
		side->counting = 1;
		side->when_ready = usual_state(side);
		stream_mark(side, "write",
			    "calls of signal handlers inside our own work are counted from here on",
			    0);
	}
}

/* The stream of signal handlers that interrupt t in its own work. Its chunk names the call it interrupted:
 * another one needs another chunk. */
static struct thread *side_of(struct thread *t)
{
	struct thread *side = t->side;
	uint64_t base = t->depth ? t->page->open[t->depth - 1].seq : ~0ull;

	if (!side)
		return t->side = thread_make(t, false);
	if (side->ready > STALE && !side->depth && !side->full && side->chunk->base_seq != base) {
		side->ready = NOT_READY;
		barrier();
		leave_base(side);
		thread_release(side);
	}
	return side;
}

/* ---- attached again ---- */

/* Unless it is in the middle of its own work. */
static void turn(struct thread *t, uint8_t first, uint8_t last, uint8_t to)
{
	for (uint8_t from = first; from <= last; from++) {
		uint8_t ready = from;

		if (__atomic_compare_exchange_n(&t->ready, &ready, to, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
	}
}

void threads_stale(void)
{
	for (struct thread *t = process->threads; t; t = t->next) {
		/* In the middle of its own work, it takes the one when it is done; else the other now. */
		__atomic_store_n(&t->when_ready, STALE, __ATOMIC_SEQ_CST);
		turn(t, READY, READY_SLOWLY, STALE);
	}
}

void threads_slow(void)
{
	for (struct thread *t = process->threads; t; t = t->next) {
		if (t->when_ready != READY && t->when_ready != READY_COUNTS)
			continue;
		__atomic_store_n(&t->when_ready, READY_SLOWLY, __ATOMIC_SEQ_CST);
		turn(t, READY, READY_COUNTS, READY_SLOWLY);
	}
}

static bool is_stale(const struct thread *t)
{
	return t->alive && t->session != config.session;
}

static void unlink_thread(const struct thread *t)
{
	struct thread **link = &process->threads;

	while (*link && *link != t)
		link = &(*link)->next;
	if (*link)
		*link = t->next;
}

/* What it had of a ring that is no more; nobody else has it. */
static void leave_ring(struct thread *t)
{
	void *const table[] = {t->counters, t->data, t->tally, t->heat};
	const uint64_t mask = process_lock();

	unlink_thread(t);
	process_unlock(mask);
	for (uint32_t i = 0; i < t->chunks; i++)
		raw3(SYS_munmap, (long)t->chunk_list[i], CHUNK_BYTES, 0);
	for (int i = 0; i < 4; i++)
		if (table[i])
			raw3(SYS_munmap, (long)table[i], CHUNK_BYTES, 0);
	if (t->index)
		raw3(SYS_munmap, (long)t->index, sizeof(*t->index), 0);
	raw3(SYS_munmap, (long)t->page, PAGE, 0);
}

static void drop(struct thread *t)
{
	leave_ring(t);
	thread_free(t);
}

/* Its first call since: by itself, so that nothing is taken from under it. Calls of the run before that are
 * still open find none of theirs when they end. */
static struct thread *begin_anew(struct thread *t)
{
	struct thread *side = t->side, *main = t->main;

	if (t->vfork && is_stale(t->vfork))
		drop(t->vfork);
	leave_ring(t);
	memory_wipe(t, thread_bytes());
	t->side = side;
	return thread_fill(t, main, false) ? t : NULL;
}

static __attribute__((noinline)) struct thread *claim_slow(void)
{
	struct thread *t = self;

	if (!config.on || process_locked_here() || !process_ready())
		return NULL;
	if (!t)
		return claim_first();
	if (t->ready == STALE)
		return begin_anew(t);
	if (!t->alive && !t->broken)
		return thread_fill(t, NULL, false) ? t : NULL;
	while (t && t->ready == NOT_READY &&
	       !t->broken) /* a signal handler's call in the middle of our own work */
		t = side_of(t);
	if (t && t->ready == STALE)
		return begin_anew(t);
	return t && !t->broken ? t : NULL;
}

struct thread *thread_claim(void)
{
	struct thread *t = self;

	if (unlikely(!t || t->ready <= STALE))
		t = claim_slow();
	if (t) {
		t->ready = NOT_READY;
		barrier();
	}
	return t;
}

void thread_release(struct thread *t)
{
	barrier();
	t->ready = t->when_ready;
}

/* ---- the end ---- */

static void free_counters(struct thread *t)
{
	void *const table[] = {t->counters, t->data, t->tally, t->heat};

	for (int i = 0; i < 4 && !ring_stays(); i++)
		if (table[i])
			ring_chunk_free(table[i]);
	if (t->index)
		raw3(SYS_munmap, (long)t->index, sizeof(*t->index), 0);
}

static void give_back(struct thread *t)
{
	uint64_t mask = process_lock();

	unlink_thread(t);
	while (t->chunks && !ring_stays())
		ring_chunk_free(t->chunk_list[--t->chunks]);
	free_counters(t);
	ring_page_free(t->page);
	process_unlock(mask);
	thread_free(t);
}

static void end_stream(struct thread *t)
{
	uint64_t mask;

	for (uint32_t depth = t->depth; depth > 0; depth--)
		stream_unfinished(t, &t->page->open[depth - 1], depth - 1, UNFINISHED_THREAD_ENDED,
				  ticks());
	t->depth = t->regions_around = 0;
	if (!t->full) /* a full one's stay in the ring */
		counters_write(t);
	mask = process_lock();
	stream_seal(t->chunk, CHUNK_LAST);
	atomic_fetch_add(&process->stream_bytes, CHUNK_HEADER + t->chunk->committed);
	stream_write_out(t);
	process_unlock(mask);
}

void thread_end(void *thread)
{
	struct thread *t = thread;

	self = NULL;
	while (t) {
		struct thread *side = t->side, *vfork = t->vfork;

		t->ready = NOT_READY;
		if (is_stale(t)) {
			drop(t);
		} else if (t->alive && !t->broken) {
			end_stream(t);
			give_back(t);
		} else {
			thread_free(t);
		}
		if (vfork && is_stale(vfork))
			drop(vfork);
		else if (vfork && vfork->alive && !vfork->broken)
			give_back(vfork);
		t = side;
	}
}

enum { SNAPSHOT_ROOM = 8 * CHUNK_BYTES }; /* for counters and open calls behind the rows */

/* Of one moment, though the thread may be running: else a call's end could fall between its row and the
 * list of open calls. Returns how many are open. */
static uint32_t copy_chunk(struct chunk *copy, const struct thread *t)
{
	uint32_t depth;

	for (int tries = 0; tries < 100; tries++) {
		depth = atomic_load(&t->page->depth);
		memcpy(copy, t->chunk, CHUNK_HEADER);
		barrier();
		memcpy(copy->rows, t->chunk->rows, copy->committed);
		barrier();
		if (*(volatile uint32_t *)&t->chunk->committed == copy->committed &&
		    atomic_load(&t->page->depth) == depth)
			break;
	}
	return depth;
}

void thread_say_losses(struct thread *t)
{
	uint32_t threads = atomic_exchange(&process->threads_left_out, 0);
	uint32_t calls = atomic_exchange(&process->calls_too_deep, 0);
	uint32_t notes = atomic_exchange(&process->marks, 0);

	if (threads)
		stream_mark(t, "lost", "threads that found no memory for a stream", threads);
	if (calls)
		stream_mark(t, "lost", "calls inside 63 open ones", calls);
	levels_say(t);
	if (notes > MARKS)
		stream_mark(t, "lost", "notes after the first 256", notes - MARKS);
}

/* What the copy may grow to before it goes on in a further chunk. */
static size_t snapshot_room(void)
{
	const uint64_t limit = file_limit();
	const size_t most = CHUNK_BYTES + SNAPSHOT_ROOM;

	return limit < most ? limit : most;
}

/* Copies what is committed, adds what is counted and open, and writes that: the thread may be running, and goes
 * on where an exec fails. A later copy of the chunk takes this one's place. */
void thread_write_snapshot(struct thread *t, bool end, uint64_t peak)
{
	size_t bytes = thread_bytes() + CHUNK_BYTES + SNAPSHOT_ROOM;
	struct thread *copy = t->full ? NULL : memory_get(bytes, false);
	struct chunk *chunk = (struct chunk *)((char *)copy + thread_bytes());
	uint32_t depth;

	stream_write_out(t);
	if (!copy) {
		process->write_failed = true; /* the ring stays, and has it */
		return;
	}
	depth = copy_chunk(chunk, t);
	copy->chunk = chunk;
	copy->put = chunk->rows + chunk->committed;
	copy->limit = (uint8_t *)chunk + snapshot_room();
	copy->stream = t->stream;
	copy->number = t->number;
	copy->pid = t->pid;
	copy->tid = t->tid;
	copy->main = t->main;
	copy->page = t->page;
	copy->depth = (uint8_t)depth;
	copy->next_seq = t->next_seq;
	copy->last_ended = t->last_ended;
	copy->generation = 1;
	copy->snapshot = 1;
	copy->counters = t->counters;
	copy->data = t->data;
	copy->tally = t->tally;
	copy->heat = t->heat;
	counters_write(copy);
	if (end)
		thread_say_losses(copy);
	if (peak)
		stream_mark(copy, "memory", "resident at most", peak);
	for (; depth > 0; depth--)
		stream_unfinished(copy, &t->page->open[depth - 1], depth - 1,
				  UNFINISHED_OPEN_AT_END, ticks());
	stream_seal(chunk, end ? CHUNK_LAST : CHUNK_BEFORE_EXEC);
	if (!stream_write(chunk))
		process->write_failed = true;
	raw3(SYS_munmap, (long)copy, (long)bytes, 0);
}

/* A further vfork child: another process, so another stream. */
static void thread_renew(struct thread *t)
{
	uint64_t mask = process_lock();

	t->stream = t->page->stream = random_id();
	t->pid = t->tid = raw_closed() ? process->pid : (uint32_t)raw3(SYS_getpid, 0, 0, 0);
	t->broken = 0;
	t->page->tid = t->tid;
	t->number = t->next_seq = 0;
	t->depth = t->regions_around = 0;
	atomic_store(&t->page->depth, 0);
	t->counting = t->full;
	t->around = (struct around){0};
	t->last_inside = t->inside_used = 0;
	t->flush_began = 0;
	t->own_descriptors = 0;
	t->spans.depth = t->spans.skipped = 0;
	t->when_ready = usual_state(t);
	stream_begin_chunk(t, t->chunk);
	stream_ask_budget(t);
	process_unlock(mask);
}

/* ---- vfork: another process on our memory and our thread ---- */

void process_vfork_child(void)
{
	struct thread *t = thread_claim();

	if (!t)
		return;
	if (!t->vfork)
		t->vfork = thread_make(t, true);
	else
		thread_renew(t->vfork);
	thread_release(t);
	if (!t->vfork)
		return;
	if (raw_closed()) /* what it is called is not to be had */
		t->vfork->broken = 1;
	else
		thread_release(t->vfork);
	self = t->vfork;
}

void process_vfork_parent(void)
{
	struct thread *child = self;

	if (!in_vfork_child())
		return;
	if (child->broken)
		process_quiet_child_over();
	if (child->chunk->committed)
		stream_next_chunk(child, true);
	self = child->main;
}

void process_leave_thread(void)
{
	if (!config.on || !process_ready() || in_vfork_child() || (self && self->broken))
		return;
	note("clone: a task that shares a thread's storage: neither is recorded from here");
	thread_end(self);
	pass_through();
}
