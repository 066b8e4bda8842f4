/* Rows of a server that is asked what it did, when that is over: their times lie in the past. */
#include "record.h"

#include "core/call.h"
#include "core/core.h"

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

static void set_extent(struct call *c, const struct server_told *told)
{
	c->field[0] = told->size;
	c->field[1] = told->offset;
	c->field[2] = told->bytes;
}

/* Its own function: a call that is open inside another has a frame of its own below that one's. */
__attribute__((noinline)) static void stored(const struct server_told *told)
{
	struct call c;

	if (!call_enter(&c, told->store_op, told->file, told->size, told->offset,
			__builtin_frame_address(0), __builtin_return_address(0)))
		return;
	c.began = told->stored_from;
	set_extent(&c, told);
	call_leave(&c, told->stored_to);
}

void server_told(const struct server_told *told)
{
	const bool moves = op_of(told->op)->bytes_at != 0;
	struct call c;

	look_back();
	if (!call_enter(&c, told->op, told->file, told->size, told->offset,
			__builtin_frame_address(0), __builtin_return_address(0)))
		return;
	c.began = told->began;
	c.error = told->error;
	if (told->store_op != UINT32_MAX)
		stored(told);
	if (moves) {
		set_extent(&c, told);
		c.field[3] = told->queued;
		c.field[4] = told->unit;
		c.field[5] = told->stride;
	} else {
		c.field[0] = told->queued;
	}
	call_text(&c, "object", told->object);
	call_leave(&c, told->ended);
}

uint32_t server_told_file(int file)
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
