/* Hot calls as the generated wrappers make them, usual ones and all that makes one unusual, read back by
 * decode.c: every field, seq, parent; and most of them went the usual way. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "core/base.h"
#include "core/call.h"
#include "core/clock.h"
#include "core/state.h"
#include "core/thread.h"
#include "core/hot.h"
#include "decode.h"

enum { CALLS = 60000, PLACES = 90, FDS = 5, MAX_EVENTS = 3 * CALLS, FATHOM_OPS = 0xff00 };

/* A place in the program that reads or writes. */
struct place {
	uint32_t op;
	uintptr_t site;
	int64_t offset, step, size;
};

/* What a row must say. */
struct event {
	uint32_t op, object, depth;
	uint64_t seq, parent, error;
	uintptr_t site;
	int64_t field[3];
	bool left; /* by a jump */
};

static uint64_t seed = 31;
static struct place places[PLACES];
static int fd_of[FDS];
static struct event events[MAX_EVENTS];
static size_t n_events, calls, usual[2]; /* outermost, inside others */
static int place;                        /* that calls now */
static int failing;                      /* so many calls from here on fail */
static struct call none;

/* Descriptors so far apart that a place's calls on them meet in one entry. */
static void reopen(int which)
{
	int fd = open("/dev/null", O_RDWR);

	if (fd_of[which] > 0) {
		descriptor_close(fd_of[which]);
		CHECK(close(fd_of[which]) == 0);
	}
	fd_of[which] = fcntl(fd, F_DUPFD, (which + 1) * USUAL);
	CHECK(fd_of[which] == (which + 1) * USUAL && close(fd) == 0);
	CHECK(descriptor_open(&none, fd_of[which], AT_FDCWD, "/dev/null", O_RDWR));
}

static void make_places(void)
{
	for (int i = 0; i < PLACES; i++) {
		places[i].op = i % 2 ? OP_MOVES : 3;
		places[i].site = 0x1000 + 4 * (uintptr_t)i; /* in no module */
		places[i].size = 8 + i;
		places[i].step = 8 * i;
	}
	for (int i = 0; i < FDS; i++)
		reopen(i);
}

static void expect(const struct event *e)
{
	CHECK(n_events < MAX_EVENTS);
	events[n_events++] = *e;
}

/* A call of another kind, with the numbers that the place's next call will have: inside ours, of a signal
 * handler, or after it. `jumps`: a longjmp leaves it. */
static __attribute__((noinline)) void other(const struct place *p, uint64_t parent, bool jumps)
{
	struct event e = {.op = 3, .depth = self->depth, .parent = parent, .left = jumps};
	struct call c;

	e.object = (uint32_t)random_below(&seed, 1 << 20);
	e.field[0] = e.field[2] = p->size;
	e.field[1] = p->offset + p->step;
	e.site = e.depth ? 0 : 0x10;
	if (e.depth)
		CHECK(!hot_find(p->op, fd_of[0], 0, NULL, (void *)p->site, false).usual);
	CHECK(call_enter(&c, e.op, e.object, e.field[0], e.field[1], __builtin_frame_address(0),
			 (void *)0x10));
	e.seq = c.seq;
	expect(&e);
	memcpy(c.field, e.field, sizeof(e.field));
	if (!jumps)
		call_leave(&c, ticks_now());
}

/* A handler on a stack above ours takes our call for left, and its own call takes that one's place. */
static struct call thief;

static void steal(const struct place *p, struct event *e, const void *frame)
{
	CHECK(call_enter(&thief, 1, 0, p->size, p->offset, (const char *)frame + 64, (void *)0x30));
	e->left = true;
	e->field[0] = p->size;
	e->field[1] = p->offset;
	expect(e);
}

static void end_theft(void)
{
	struct event e = {.op = 1, .seq = thief.seq, .parent = NO_SEQ, .site = 0x30, .field = {5}};

	thief.field[0] = 5;
	call_leave(&thief, ticks_now());
	expect(&e);
}

static void call(uint64_t parent);

/* What happens while the call lasts. */
static int64_t original(const struct place *p, struct event *e, int which, const void *frame)
{
	uint64_t what = random_below(&seed, 400);

	if (what < 4)
		other(p, e->seq, what < 2);
	if (what == 4)
		reopen(which);
	if (what == 5)
		failing = 4;
	if (what == 6 && !e->depth)
		steal(p, e, frame);
	if (what >= 8 && what < 12) {
		place = (int)random_below(&seed, 12);
		call(e->seq);
	}
	errno = failing ? EIO : 0;
	return failing && failing-- ? -1 : what == 7 ? p->size / 2 : p->size;
}

static int64_t general(const struct place *p, struct event *e, int fd, int which, const void *frame)
{
	struct call c;
	uint64_t ended;

	CHECK(call_enter(&c, p->op, e->object, p->size, p->offset, frame, (void *)p->site));
	e->seq = c.seq;
	c.field[2] = original(p, e, which, frame);
	ended = ticks_now();
	c.error = c.field[2] == -1 ? errno : 0;
	c.field[0] = p->size;
	c.field[1] = p->offset;
	call_leave(&c, ended);
	hot_learn(&c, fd, (void *)p->site);
	return c.field[2];
}

static __attribute__((noinline)) int64_t wrapper(const struct place *p, struct event *e, int which)
{
	const void *frame = __builtin_frame_address(0);
	const bool inside = e->depth;
	int fd = fd_of[which];
	const struct hot_call hot = hot_find(p->op, fd, 0, frame, (void *)p->site, inside);
	int64_t done, at = p->offset;
	uint64_t ended;

	if (!hot.usual)
		return general(p, e, fd, which, frame);
	usual[inside]++;
	e->seq = self->next_seq;
	hot_enter(hot, p->size, p->offset, frame, inside);
	done = original(p, e, which, frame);
	ended = ticks_raw();
	return hot_leave(hot, p->op == 3 ? &at : NULL, done, frame, ended, inside);
}

static void call(uint64_t parent)
{
	struct event e = {.parent = parent, .depth = self ? self->depth : 0};
	struct place now;
	int which;

	place = random_below(&seed, 40) ? place : (int)random_below(&seed, PLACES);
	which = random_below(&seed, 40) ? place % FDS : (int)random_below(&seed, FDS);
	places[place].offset += random_below(&seed, 100) ? places[place].step
							 : (int64_t)random_below(&seed, 1 << 20);
	places[place].size += place % 8 == 7 || !random_below(&seed, 300) ? 8 : 0;
	now = places[place];
	e.op = now.op;
	e.site = e.depth ? 0 : now.site;
	e.object = descriptor_object(fd_of[which]);
	e.field[0] = now.size;
	e.field[1] = now.offset;
	e.field[2] = wrapper(&now, &e, which);
	e.error = e.field[2] == -1 ? (uint64_t)errno : 0;
	if (e.left)
		end_theft();
	else
		expect(&e);
	calls++;
}

/* With another call around them they are of another kind. */
static __attribute__((noinline)) void calls_inside(void)
{
	struct event e = {.op = OP_OUTER, .parent = NO_SEQ, .site = 0x20};
	struct call c;

	CHECK(call_enter(&c, OP_OUTER, 0, 0, 0, __builtin_frame_address(0), (void *)0x20));
	e.seq = c.seq;
	for (int i = 0; i < 300; i++)
		call(c.seq);
	c.field[0] = c.field[1] = 0;
	call_leave(&c, ticks_now());
	expect(&e);
}

/* Another level, no descriptor. */
static void refuses(void)
{
	uint64_t gate = atomic_load(&control->gate);

	CHECK(!hot_find(OP_MOVES, -1, 0, NULL, (void *)places[1].site, false).usual);
	atomic_store(&control->gate, gate & ~1ull);
	for (int i = 0; i < PLACES; i++)
		for (int fd = 0; fd < FDS; fd++)
			CHECK(!hot_find(places[i].op, fd_of[fd], 0, NULL, (void *)places[i].site,
					false)
				       .usual);
	atomic_store(&control->gate, gate);
}

static uintptr_t sites[1 << 16];

static void read_sites(const struct decoded *d)
{
	for (size_t i = 0; i < d->records; i++) {
		const struct record_seen *r = &d->record[i];
		struct cursor in = {r->payload, r->payload + r->bytes};
		uint64_t number;

		if (r->type != 3)
			continue;
		number = take_varint(&in);
		CHECK(take_varint(&in) == 0 && number < 1 << 16);
		sites[number] = take_varint(&in);
	}
}

static void compare(const struct row *r, const struct event *e)
{
	CHECK(r->unfinished == e->left && r->op == e->op && r->object == e->object);
	CHECK(r->depth == e->depth && r->seq == e->seq && r->parent == e->parent);
	CHECK((r->site ? sites[r->site] : 0) == e->site);
	CHECK(memcmp(r->field, e->field, (e->left ? 2 : r->n) * sizeof(r->field[0])) == 0);
	CHECK(r->error == e->error && r->began <= r->ended);
}

int main(void)
{
	struct decoded d;
	size_t bytes, at = 0;
	uint8_t *data;

	run_begin("call", "tsc");
	make_places();
	while (calls < CALLS) {
		call(NO_SEQ);
		if (random_below(&seed, 20) == 0)
			other(&places[place], NO_SEQ, false);
		if (random_below(&seed, 1000) == 0) {
			calls_inside();
			refuses();
		}
	}
	data = run_end(&bytes);
	decode(data, bytes, &d);
	read_sites(&d);
	for (size_t i = 0; i < d.rows; i++)
		if (d.row[i].op < FATHOM_OPS) {
			CHECK(at < n_events);
			compare(&d.row[i], &events[at++]);
		}
	CHECK(at == n_events);
	CHECK(usual[0] > CALLS / 2 && usual[1] > CALLS / 10 && d.chunks > 5);
	free(data);
	free(d.row);
	free(d.record);
	printf("%zu calls, usual %zu and %zu, in %zu chunks, %zu bytes\n", calls, usual[0],
	       usual[1], d.chunks, bytes);
	return 0;
}
