/* The encoder: rows and records into chunks, chunks into the stream file. docs/stream-format.md. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/crc.h"
#include "core/libraries.h"
#include "core/ops.h"
#include "core/processors.h"
#include "core/ring.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/raw.h"
#include "core/row.h"

const struct op fathom_ops[] = {
	{.layer_name = "fathom",
	 .name = "flush",
	 .kind = "write",
	 .fields = "bytes",
	 .layer = 31,
	 .nfields = 1},
	{.layer_name = "fathom", .name = "start", .kind = "meta", .fields = "", .layer = 31},
	{.layer_name = "fathom", .name = "patch", .kind = "meta", .fields = "", .layer = 31},
};

/* ---- records ---- */

struct record record_begin(struct thread *t)
{
	uint8_t *scratch = t->scratch[t->spare_scratch];

	return (struct record){t, scratch, scratch + SCRATCH};
}

void record_varint(struct record *r, uint64_t value)
{
	if (r->end - r->at >= 10)
		r->at = put_varint(r->at, value);
}

void record_zigzag(struct record *r, int64_t value)
{
	record_varint(r, zigzag(value));
}

void record_bytes8(struct record *r, uint64_t value)
{
	if (r->end - r->at >= 8) {
		memcpy(r->at, &value, 8);
		r->at += 8;
	}
}

/* A text that does not fit is cut, its length says the truth about what is there. What follows it in the
 * record must fit: a reader takes a record that lacks fields for damage. */
void record_text(struct record *r, const char *text, size_t length)
{
	size_t room = (size_t)(r->end - r->at);

	room = room > AFTER_TEXT ? room - AFTER_TEXT : 0;
	length = length < room ? length : room;
	record_varint(r, length);
	memcpy(r->at, text, length);
	r->at += length;
}

void record_string(struct record *r, const char *text)
{
	record_text(r, text ? text : "", text ? strlen(text) : 0);
}

/* A copy goes on in the same memory. */
static void next_of_copy(struct thread *t)
{
	stream_seal(t->chunk, 0);
	process->write_failed |= !stream_write(t->chunk);
	t->number++;
	stream_begin_chunk(t, t->chunk);
}

void record_end(struct record *r, enum record_type type)
{
	struct thread *t = r->t;
	const uint8_t *from = t->scratch[t->spare_scratch];
	size_t length = (size_t)(r->at - from);

	if (t->put + length + 16 > t->limit) {
		t->spare_scratch = 1; /* the new chunk begins with records of its own */
		if (t->snapshot)
			next_of_copy(t);
		else
			stream_next_chunk(t, false);
		t->spare_scratch = 0;
	}
	*t->put++ = 0x80 | type;
	t->put = put_varint(t->put, length);
	memcpy(t->put, from, length);
	t->put += length;
	commit(t);
}

static uint32_t op_flags(const struct op *o)
{
	return (o->tracked ? OP_FLAG_TRACKED : 0) | (o->collective ? OP_FLAG_COLLECTIVE : 0) |
	       (o->direction == OP_READS ? OP_FLAG_READS : 0) |
	       (o->direction == OP_WRITES ? OP_FLAG_WRITES : 0) |
	       (o->aligns ? OP_FLAG_ALIGNMENT : 0) | (o->beside ? OP_FLAG_BESIDE : 0) |
	       (uint32_t)o->pieces_at << OP_FLAG_PIECES_SHIFT;
}

void stream_op(struct thread *t, uint32_t op)
{
	const struct op *o = op_of(op);
	uint32_t index = op_index(op);
	struct record r;

	if (t->op_seen[index] == t->generation)
		return;
	t->op_seen[index] = t->generation;
	r = record_begin(t);
	record_varint(&r, op);
	record_string(&r, o->layer_name);
	record_string(&r, o->name);
	record_string(&r, o->kind);
	record_string(&r, o->fields);
	record_varint(&r, op_flags(o));
	record_end(&r, RECORD_OP);
	t->op_seen[index] = t->generation; /* again: the record may have gone into a new chunk */
}

void stream_ops(struct thread *t, uint32_t op, uint32_t enclosing)
{
	if (!t->snapshot && t->put + ROW_ROOM > t->limit)
		stream_next_chunk(t, false);
	stream_op(t, op);
	if (enclosing)
		stream_op(t, enclosing - 1);
}

/* ---- rows ---- */

/* The row of a call whose pattern is not in its slot: defines the slot. */
static void define_row(struct thread *t, struct pattern *p, const struct call *c, uint32_t site,
		       uint64_t ended)
{
	uint32_t n = op_of(c->op)->nfields, mask = 0;
	uint8_t *put;

	stream_op(t, c->op);
	for (uint32_t i = 0; i < n; i++)
		mask |= (uint32_t)(c->field[i] != 0) << i;
	put = t->put;
	*put++ = 0x80;
	*put++ = (uint8_t)(p - t->pattern);
	*put++ = (uint8_t)(1 | (mask ? 2 : 0) | (c->error ? 4 : 0));
	put = put_varint(put, c->op);
	put = put_varint(put, c->object);
	put = put_varint(put, site);
	put = put_varint(put, c->depth);
	if (mask)
		put = put_fields(put, c->field, mask);
	if (c->error)
		put = put_varint(put, (uint32_t)c->error);
	t->put = put_times(t, put, c->began, ended);
	memcpy(p->next, c->field, n * sizeof(p->next[0]));
	memset(p->slope, 0, n * sizeof(p->slope[0]));
	p->who = pattern_who(c);
	p->where = pattern_where(t, c->depth, site);
	t->user[p - t->pattern] = NULL;
	commit(t);
}

void stream_surprising_row(struct thread *t, uint8_t slot, const struct call *c, uint64_t ended)
{
	int64_t surplus[CALL_FIELDS];
	uint32_t mask = learn(&t->pattern[slot], c->field, op_of(c->op)->nfields, surplus);
	uint8_t *put = t->put;

	*put++ = 0x80;
	*put++ = slot;
	*put++ = (uint8_t)((mask ? 2 : 0) | (c->error ? 4 : 0));
	if (mask)
		put = put_fields(put, surplus, mask);
	if (c->error)
		put = put_varint(put, (uint32_t)c->error);
	t->put = put_times(t, put, c->began, ended);
	t->user[slot] = NULL;
	commit(t);
}

void stream_row(struct thread *t, const struct call *c, uint32_t site, uint64_t ended)
{
	uint64_t who = pattern_who(c), where = pattern_where(t, c->depth, site);
	uint8_t slot = pattern_slot(who, where);
	struct pattern *p = &t->pattern[slot];

	if (p->who == who && p->where == where)
		stream_surprising_row(t, slot, c, ended);
	else
		define_row(t, p, c, site, ended);
}

void stream_unfinished(struct thread *t, const struct open_call *o, uint32_t depth, unsigned reason,
		       uint64_t ended)
{
	struct record r;

	stream_ops(t, o->op, 0);
	r = record_begin(t);
	record_varint(&r, reason);
	record_varint(&r, o->seq);
	record_varint(&r, o->op + 1);
	record_varint(&r, depth);
	record_varint(&r, o->object);
	record_varint(&r, o->site);
	record_varint(&r, o->began);
	record_varint(&r, ended);
	record_zigzag(&r, o->size);
	record_zigzag(&r, o->offset);
	record_end(&r, RECORD_UNFINISHED);
}

/* Fathom's own work is a call too: a row of layer `fathom`, that comes off its parent's exclusive time. It
 * gets a seq like any other. Unlike a call's end it asks for room first: a program may do nothing but open
 * libraries. */
void stream_own_row(struct thread *t, uint32_t op, uint64_t began, uint64_t ended, uint64_t value)
{
	struct call c = {.thread = t, .op = op, .depth = t->depth, .began = began};

	if (t->put > t->limit)
		stream_next_chunk(t, false);
	c.seq = t->next_seq++;
	c.field[0] = (int64_t)value;
	stream_row(t, &c, 0, ended);
}

void stream_flush_row(struct thread *t)
{
	uint64_t began = t->flush_began, ended = t->flush_ended;

	t->flush_began = 0;
	t->when_ready = usual_state(t);
	if (ended <
	    t->last_ended) /* inside the call whose row came first: no sibling of it may overlap it */
		began = ended = t->last_ended;
	if (!t->full)
		stream_own_row(t, OP_FLUSH, began, ended, t->flush_bytes);
}

/* ---- chunks ---- */

static void put_open_calls(struct thread *t)
{
	struct record r;

	if (!t->depth)
		return;
	for (uint32_t i = 0; i < t->depth; i++)
		stream_op(t, t->page->open[i].op);
	r = record_begin(t);
	record_varint(&r, t->depth);
	for (uint32_t i = 0; i < t->depth; i++) {
		const struct open_call *o = &t->page->open[i];

		record_varint(&r, o->seq);
		record_varint(&r, o->op + 1);
		record_varint(&r, o->object);
		record_varint(&r, o->began);
		record_varint(&r, o->site);
		record_zigzag(&r, o->size);
		record_zigzag(&r, o->offset);
	}
	record_end(&r, RECORD_OPEN);
}

enum { PROCESSOR_BYTES = 1024 }; /* a bit for each of as many processors as a kernel can have */

/* Which processors it may use. */
static void put_processors(struct record *r, char *text)
{
	record_text(r, text, processors_allowed(process->pid, (uint8_t *)text, PROCESSOR_BYTES));
	record_varint(r, processors_quota(text, SCRATCH));
}

static void put_process(struct thread *t)
{
	char *text = (char *)t->scratch[1];
	struct record r = record_begin(t);
	long got, fd, room;

	record_varint(&r, t->is_vfork ? process->pid : (uint64_t)raw3(SYS_getppid, 0, 0, 0));
	record_string(&r, config.host);
	record_string(&r, config.boot_id);
	got = raw4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)text, PATH_BYTES);
	record_text(&r, text, got > 0 ? (size_t)got : 0);
	fd = raw4(SYS_openat, AT_FDCWD, (long)"/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	room = r.end - r.at - 2 * PATH_BYTES - PROCESSOR_BYTES -
	       2 * AFTER_TEXT; /* two paths and processors follow */
	got = fd < 0 ? 0 : raw3(SYS_read, fd, (long)text, room);
	if (fd >= 0)
		raw3(SYS_close, fd, 0, 0);
	record_text(&r, text, got > 0 ? (size_t)got : 0);
	got = raw3(SYS_getcwd, (long)text, PATH_BYTES, 0);
	record_text(&r, text, got > 1 ? (size_t)got - 1 : 0);
	record_string(&r, config.run);
	record_varint(&r, clock_ticks_per_second());
	record_varint(&r, config.start_ticks);
	record_varint(&r, config.rank);
	record_varint(&r, config.ranks);
	put_processors(&r, text);
	record_end(&r, RECORD_PROCESS);
}

void stream_inside(struct thread *t)
{
	struct record r;

	if (!t->inside_used)
		return;
	if (t->last_inside)
		stream_op(t, t->last_inside - 1);
	r = record_begin(t);
	record_varint(&r, t->next_seq);
	record_varint(&r, t->last_inside);
	record_end(&r, RECORD_INSIDE);
}

/* Each chunk is to fit into a file. */
static size_t chunk_room(void)
{
	enum { LEAST = 4096 }; /* what tells of the process, and some rows */
	const uint64_t limit = file_limit();

	return limit < LEAST ? LEAST : limit < CHUNK_BYTES ? limit : CHUNK_BYTES;
}

/* Of a stream's thread. A signal handler's is that of the stream it interrupts; a vfork's child lasts for a moment. */
static struct thread_use use_now(const struct chunk *chunk)
{
	if (chunk->flags & CHUNK_SIDE || chunk->pid != process->pid)
		return (struct thread_use){0};
	return thread_use(chunk->tid);
}

/* The process's first thread counts from where the process does. */
static struct thread_use use_first(const struct chunk *chunk)
{
	const bool is_first = process->generation == 1 && chunk->tid == process->pid;

	return is_first && config.start_use.processors.ran ? config.start_use : use_now(chunk);
}

/* Makes `chunk` the thread's current one. The magic comes last: a torn header is no chunk. */
bool stream_begin_chunk(struct thread *t, struct chunk *chunk)
{
	bool first_of_process =
		!process->introduced || (t->is_vfork && t->number == 0 && !raw_closed());

	if (!chunk)
		return false;
	memset(chunk->magic, 0, sizeof(chunk->magic));
	barrier();
	memset((char *)chunk + 8, 0, CHUNK_HEADER - 8);
	chunk->version = 1;
	chunk->header = CHUNK_HEADER;
	chunk->flags = t->main && !t->is_vfork ? CHUNK_SIDE : 0;
	chunk->stream = t->stream;
	chunk->number = t->number;
	chunk->instance = process->instance;
	chunk->pid = t->pid;
	chunk->tid = t->tid;
	chunk->next_seq = t->next_seq;
	chunk->begin = clock_read();
	chunk->base_seq = ~0ull;
	if (chunk->flags & CHUNK_SIDE && t->main->depth) {
		chunk->base_stream = t->main->stream;
		chunk->base_seq = t->main->page->open[t->main->depth - 1].seq;
	}
	chunk->depth = t->depth;
	chunk->clock = clock_in_chunks();
	if (!t->number) {
		const struct thread_use use = use_first(chunk);

		chunk->use_begin = use.processors;
		chunk->read_begin = use.read;
	}
	if (!t->last_ended)
		t->last_ended = first_of_process && config.ready_ticks ? config.start_ticks
								       : chunk->begin.ticks;
	chunk->first_tick = t->last_ended;
	t->chunk = chunk;
	t->put = chunk->rows;
	t->limit = (uint8_t *)chunk + chunk_room() - ROW_ROOM;
	t->generation = (t->generation + 1) & 0xffffff;
	memset(t->user, 0, sizeof(t->user));
	barrier();
	memcpy(chunk->magic, "FATHOMCK", 8);
	put_open_calls(t);
	stream_inside(t); /* should the chunk before be lost */
	if (first_of_process) {
		process->introduced = true;
		put_process(t);
		if (process->generation == 1 && config.ready_ticks && !t->is_vfork)
			stream_own_row(t, OP_START, config.start_ticks, config.ready_ticks, 0);
		if (process->generation > 1 && !t->is_vfork)
			libraries_tell(t);
	}
	return true;
}

/* The flag comes last: a process killed before it leaves a chunk that is not sealed, not one that is damaged. */
void stream_seal(struct chunk *chunk, uint32_t flags)
{
	const struct thread_use use = use_now(chunk);
	char header[CHUNK_HEADER];

	flags |= chunk->flags | CHUNK_SEALED;
	chunk->seal = clock_read();
	chunk->use_seal = use.processors;
	chunk->read_seal = use.read;
	chunk->crc = 0;
	memcpy(header, chunk, CHUNK_HEADER);
	memcpy(header + offsetof(struct chunk, flags), &flags, sizeof(flags));
	chunk->crc = crc32c(crc32c(0, header, CHUNK_HEADER), chunk->rows, chunk->committed);
	barrier();
	*(volatile uint32_t *)&chunk->flags = flags;
}

/* Opens the stream file for appending; the first time it is made, with its directory. */
static long open_file(void)
{
	int flags = O_WRONLY | O_APPEND;
	long fd;

	if (process->file_made)
		return file_open(process->stream_path, flags, 0);
	flags |= O_CREAT | O_EXCL;
	fd = file_open(process->stream_path, flags, 0644);
	if (fd == -ENOENT) {
		raw3(SYS_mkdirat, AT_FDCWD, (long)config.place, 0755);
		join_path(process->path, config.place, "/streams", "");
		raw3(SYS_mkdirat, AT_FDCWD, (long)process->path, 0755);
		if (raw3(SYS_mkdirat, AT_FDCWD, (long)config.streams, 0755) == 0)
			node_describe(config.streams);
		fd = file_open(process->stream_path, flags, 0644);
	}
	process->file_made = fd >= 0;
	return fd;
}

/* A file that would become longer than it may is followed by another. */
static void choose_file(size_t bytes, uint64_t limit)
{
	if (!process->file_bytes || process->file_bytes + bytes <= limit)
		return;
	process->file_number++;
	process->file_bytes = 0;
	process->file_made = false;
	name_stream();
}

bool stream_write(const struct chunk *chunk)
{
	const char *at = (const char *)chunk;
	size_t left = CHUNK_HEADER + chunk->committed;
	const uint64_t limit = file_limit();
	long fd, done;

	if (process->over)
		return true;
	choose_file(left, limit);
	fd = done = open_file();
	if (fd >= 0 && left > limit)
		done = -EFBIG;
	while (fd >= 0 && left && left <= limit) {
		done = file_result(raw3(SYS_write, fd, (long)at, (long)left));
		if (done == -EINTR)
			continue;
		if (done <= 0)
			break;
		at += done;
		left -= (size_t)done;
		process->file_bytes += (uint64_t)done;
	}
	if (left) {
		process->write_error = done < 0 ? (int)-done : EIO;
		process->file_bytes -= (uint64_t)(at - (const char *)chunk);
		if (fd >= 0 && at != (const char *)chunk) /* a part of it would be damage */
			raw3(SYS_ftruncate, fd, (long)process->file_bytes, 0);
	}
	if (fd >= 0)
		raw3(SYS_close, fd, 0, 0);
	return left == 0;
}

void stream_write_out(struct thread *t)
{
	if (raw_closed())
		return;
	while (t->written < t->chunks && t->chunk_list[t->written]->flags & CHUNK_SEALED) {
		if (!stream_write(t->chunk_list[t->written])) {
			process->write_failed = true; /* the ring stays, and has it */
			return;
		}
		t->written++;
	}
}

/* Of those that were set aside. Who brings them in finds those before by the ring. */
static struct chunk *chunk_aside(struct thread *t)
{
	t->chunk_list[0] = ring_chunk(false);
	t->chunks = t->chunk_list[0] != NULL;
	t->written = 0;
	return t->chunk_list[0];
}

/* Where the thread's next chunk goes: a new one while the ring may grow, else over the oldest, written out. */
static struct chunk *next_chunk(struct thread *t)
{
	struct chunk *chunk;

	if (ring_stays() && (process->chunks_aside || raw_closed()))
		return chunk_aside(t);
	chunk = t->chunks < CHUNKS_PER_THREAD ? ring_chunk(false) : NULL;
	if (chunk) {
		t->chunk_list[t->chunks++] = chunk;
		return chunk;
	}
	stream_write_out(t);
	if (t->written < t->chunks)
		return process->chunks_aside ? chunk_aside(t) : NULL;
	t->written = 0;
	while (t->chunks > 1)
		ring_chunk_free(t->chunk_list[--t->chunks]);
	return t->chunk_list[0];
}

void stream_mark(struct thread *t, const char *kind, const char *detail, uint64_t value)
{
	struct record r = record_begin(t);

	record_varint(&r, ticks());
	record_string(&r, kind);
	record_string(&r, detail);
	record_varint(&r, value);
	record_end(&r, RECORD_MARK);
}

/* The disk is full and so is the ring: the last chunk says so in its spare room, and stays in the ring.
 * What is still written goes to a chunk that nobody reads; counters have a place of their own. */
static void stop_stream(struct thread *t)
{
	static struct chunk nowhere;

	process->stopped = true;
	t->chunk->flags &= ~(uint32_t)CHUNK_SEALED;
	t->limit += ROW_ROOM;
	if (raw_closed())
		stream_mark(t, "write", "seccomp: shared memory for rows is full, errno", ENOSPC);
	else
		stream_mark(
			t, "write",
			process->write_error == EFBIG
				? "the limit on the size of files (ulimit -f) is reached, and the "
				  "stream file cannot be written, errno"
				: "the stream file cannot be written, errno",
			(uint64_t)process->write_error);
	stream_seal(t->chunk, 0);
	t->chunk = &nowhere;
	t->put = nowhere.rows;
	t->limit = (uint8_t *)&nowhere + CHUNK_BYTES - ROW_ROOM;
	t->counting = 1;
	t->when_ready = usual_state(t);
	t->full = 1;
}

/* Is it spent? Threads that begin after its end have nothing to add to the first word about it. Where files may not grow,
 * rows get as much as one may hold, and counters go into some more. */
void stream_ask_budget(struct thread *t)
{
	const uint64_t limit = file_limit(), asked = atomic_load(&control->budget);
	const uint64_t budget = limit < asked ? limit : asked;
	bool reported;

	if (t->counting || atomic_load(&process->stream_bytes) <= budget)
		return;
	t->counting = 1;
	t->when_ready = usual_state(t);
	reported = atomic_exchange(&process->budget_reported, true);
	if (!reported || t->number)
		stream_mark(t, "budget",
			    budget == asked ? "events end here, counters go on"
					    : "events end here, counters go on: the limit on the "
					      "size of files (ulimit -f) allows no more",
			    budget);
}

/* Seals the current chunk and begins the next. */
void stream_next_chunk(struct thread *t, bool last)
{
	uint64_t began = ticks(), mask, bytes = t->chunk->committed;
	bool room;

	if (t->full) {
		t->put = t->chunk->rows;
		return;
	}
	mask = process_lock();
	stream_seal(t->chunk, last ? CHUNK_LAST : 0);
	t->number++;
	atomic_fetch_add(&process->stream_bytes, CHUNK_HEADER + bytes);
	if (last)
		stream_write_out(t);
	room = stream_begin_chunk(t, next_chunk(t));
	if (!room)
		stop_stream(t);
	process_unlock(mask);
	if (!room)
		return;
	t->flush_began = began;
	t->when_ready = usual_state(t);
	t->flush_ended = ticks();
	t->flush_bytes = bytes;
	stream_ask_budget(t);
}
