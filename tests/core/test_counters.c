/* Level file: every call is counted, in tables that evict themselves. The records, added up, are compared with
 * counts kept by op, object and enclosing op. With the processor's clock (argument `tsc`) most calls have places
 * where they are counted (core/count.h); with another none has. */
#include <string.h>

#include "check.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/thread.h"
#include "core/counters.h"
#include "decode.h"

enum { STEPS = 100000, OBJECTS = 400, DEEP = 4 };

/* Times of 9 bytes, whatever this machine's clock says. */
#define FAR_CLOCK "fake:skew=4611686018427387904"

struct count {
	uint64_t calls, errors, bytes, ticks, min, max, first, last;
};

static uint64_t seed = 9;
static struct count expected[TEST_OPS][OBJECTS][TEST_OPS + 1],
	read_back[TEST_OPS][OBJECTS][TEST_OPS + 1];
static struct call open_calls[DEEP];
static uint32_t depth;
static bool straight; /* by the processor's clock */
static size_t calls, placed;

static void add(struct count *to, const struct count *n)
{
	if (!to->calls || n->min < to->min)
		to->min = n->min;
	if (n->max > to->max)
		to->max = n->max;
	if (!to->calls || n->first < to->first)
		to->first = n->first;
	if (n->last > to->last)
		to->last = n->last;
	to->calls += n->calls;
	to->errors += n->errors;
	to->bytes += n->bytes;
	to->ticks += n->ticks;
}

static const void *frame_of(uint32_t at)
{
	return (const void *)(uintptr_t)(0x7fff00000000u - 64u * at);
}

static void enter(void)
{
	struct call *c = &open_calls[depth];
	const bool usual = straight && random_below(&seed, 20);
	uint32_t op =
		usual ? (depth ? OP_MOVES : OP_OUTER) : (uint32_t)random_below(&seed, TEST_OPS);
	uint32_t around = depth ? open_calls[depth - 1].op : TEST_OPS;
	uint32_t objects = usual ? 3 : OBJECTS;
	bool recorded = call_enter(c, op, (uint32_t)random_below(&seed, objects), 0, 0,
				   frame_of(depth), NULL);

	calls += recorded;
	placed += recorded && c->place;
	CHECK(recorded != (op == OP_ABSORBS && around == op));
	CHECK(recorded || c->cancel);
	depth += recorded;
}

static void leave(void)
{
	struct call *c = &open_calls[--depth];
	uint64_t ended = ticks_now() + random_below(&seed, 1000);
	uint64_t took = ended - c->began;
	uint32_t enclosing = depth ? open_calls[depth - 1].op + 1 : 0;
	struct count one = {1, 0, 0, took, took, took, c->began, ended};

	if (random_below(&seed, 50) == 0) {
		call_cancel(c, ended);
		return;
	}
	for (int i = 0; i < CALL_FIELDS; i++)
		c->field[i] = (int64_t)random_below(&seed, 1000) - 10;
	c->error = random_below(&seed, 10) ? 0 : 5;
	one.errors = c->error != 0;
	if (c->op == OP_MOVES && c->field[2] > 0)
		one.bytes = (uint64_t)c->field[2];
	add(&expected[c->op][c->object][enclosing], &one);
	call_leave(c, ended);
}

/* The counter records, added up. Returns how many there were. */
static size_t read_counters(const struct decoded *d)
{
	size_t records = 0;

	for (size_t i = 0; i < d->records; i++) {
		const struct record_seen *r = &d->record[i];
		struct cursor in = {r->payload, r->payload + r->bytes};
		uint64_t key[3], value[8];

		if (r->type != 9)
			continue;
		for (int k = 0; k < 3; k++)
			key[k] = take_varint(&in);
		for (int k = 0; k < 8; k++)
			value[k] = take_varint(&in);
		CHECK(key[0] < TEST_OPS && key[1] < OBJECTS && key[2] <= TEST_OPS &&
		      (in.at == in.end) == (key[0] != OP_MOVES));
		add(&read_back[key[0]][key[1]][key[2]],
		    &(struct count){value[0], value[1], value[2], value[3], value[4], value[5],
				    value[6], value[7]});
		records++;
	}
	return records;
}

/* So much is in the chunk, and so much in the table behind it, that they are more than a usual chunk together. */
static bool ends_long(void)
{
	const uint32_t used = atomic_load(&self->counters->used);

	return straight || (self->chunk->committed > 48u << 10 && used > COUNTERS * 3 / 4);
}

int main(int argc, char **argv)
{
	struct decoded d;
	size_t bytes;
	uint8_t *data;

	straight = argc > 1;
	run_begin("file", straight ? argv[1] : FAR_CLOCK);
	for (int i = 0; i < STEPS || !ends_long(); i++) {
		uint64_t what = random_below(&seed, 100);

		CHECK(i < 10 * STEPS);
		if (what == 0)
			depth = 0; /* a jump out of all that is open */
		else if (depth < DEEP && (!depth || what < 50))
			enter();
		else
			leave();
	}
	data = run_end(&bytes);
	decode(data, bytes, &d);
	CHECK(straight || d.longest > 65536);                 /* the last: it has the table, too */
	CHECK(read_counters(&d) > (straight ? 2 : 10) * 818); /* so the table was full many times */
	CHECK(straight ? placed > calls / 4 : !placed);
	CHECK(memcmp(expected, read_back, sizeof(expected)) == 0);
	for (size_t i = 0; i < d.rows; i++)
		CHECK(d.row[i].op >= 0xff00); /* of Fathom itself: no call is both */
	free(data);
	free(d.row);
	free(d.record);
	printf("%zu counter records, %zu bytes, %zu of %zu calls had places\n", d.records, bytes,
	       placed, calls);
	return 0;
}
