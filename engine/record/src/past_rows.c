/* Rows of a server that is asked what it did, when that is over: their times lie in the past. */
#include "record.h"

#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/ops.h"
#include "core/thread.h"

/* No row may end before the one that came before it: so this thread's first one may end at any time since the
 * process's start, and Fathom's own rows, which have the time of now, are left out. */
static void look_back(void)
{
	struct thread *t = thread_claim();

	if (!t)
		return;
	if (!t->next_seq)
		t->last_ended = t->chunk->first_tick = config.start_ticks;
	t->flush_began = 0;
	thread_release(t);
}

static void set_extent(struct call *c, const struct server_past *past)
{
	c->field[0] = past->size;
	c->field[1] = past->offset;
	c->field[2] = past->bytes;
}

/* Its own function: a call that is open inside another has a frame of its own below that one's. */
__attribute__((noinline)) static void stored(const struct server_past *past)
{
	struct call c;

	if (!call_enter(&c, past->store_op, past->file, past->size, past->offset,
			__builtin_frame_address(0), __builtin_return_address(0)))
		return;
	c.began = past->stored_from;
	set_extent(&c, past);
	call_leave(&c, past->stored_to);
}

void server_past(const struct server_past *past)
{
	const bool moves = op_of(past->op)->bytes_at != 0;
	struct call c;

	look_back();
	if (!call_enter(&c, past->op, past->file, past->size, past->offset,
			__builtin_frame_address(0), __builtin_return_address(0)))
		return;
	c.began = past->began;
	c.error = past->error;
	if (past->store_op != UINT32_MAX)
		stored(past);
	if (moves) {
		set_extent(&c, past);
		c.field[3] = past->queued;
		c.field[4] = past->unit;
		c.field[5] = past->stride;
	} else {
		c.field[0] = past->queued;
	}
	call_text(&c, "object", past->object);
	call_leave(&c, past->ended);
}

uint32_t server_file_number(int file)
{
	uint32_t object = descriptor_object(file);

	descriptor_close(file);
	return object;
}

void server_moment(uint64_t *ticks_at, uint64_t *realtime)
{
	struct clock_triple now = clock_read();

	*ticks_at = now.ticks;
	*realtime = now.realtime;
}

void server_note(const char *line)
{
	note("%s", line);
}
