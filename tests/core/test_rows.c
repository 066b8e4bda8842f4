/* Random sequences of nested calls through the encoder, read back by decode.c: every field, seq, parent, time. */
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "core/call.h"
#include "decode.h"

enum { STEPS = 60000, SHAPES = 300, MAX_EVENTS = 3 * STEPS, OPEN_AT_END = 3, FATHOM_OPS = 0xff00 };

/* A call as programs repeat it: where from, on what, how its fields move. */
struct shape {
	uint32_t op, object;
	uintptr_t site;
	int64_t value[CALL_FIELDS], step[CALL_FIELDS];
};

/* What a row must say. */
struct event {
	struct call call;
	uint64_t parent, ended;
	uintptr_t site;
	uint32_t reason; /* 0: it ended */
};

static uint64_t seed = 2024;
static struct shape shapes[SHAPES];
static struct event events[MAX_EVENTS];
static size_t n_events;
static struct event open_calls[CALL_DEPTH]; /* as the test knows them */
static uint32_t depth, left;                /* `left` of them by a jump, not noticed yet */
static uint64_t too_deep, texts, text_bytes;

static void make_shapes(void)
{
	for (int i = 0; i < SHAPES; i++) {
		struct shape *s = &shapes[i];

		s->op = (uint32_t)random_below(&seed, TEST_OPS);
		s->object = (uint32_t)(random_next(&seed) & 0x1fffffff) >> random_below(&seed, 29);
		s->object = s->op == OP_ABSORBS ? (uint32_t)i % 2 : s->object;
		s->site = 0x1000 + 4 * random_below(&seed, 200); /* in no module */
		for (int f = 0; f < CALL_FIELDS; f++)
			s->step[f] = (int64_t)random_next(&seed) >> random_below(&seed, 64);
	}
}

static void fill(struct call *c, struct shape *s)
{
	static const int64_t extremes[] = {0, -1, INT64_MIN, INT64_MAX, UNKNOWN_OFFSET, 1 << 20};

	for (int f = 0; f < CALL_FIELDS; f++) {
		uint64_t how = random_below(&seed, 40);

		if (how == 0)
			s->value[f] = (int64_t)random_next(&seed);
		else if (how == 1)
			s->value[f] = extremes[random_below(&seed, 6)];
		else if (f % 3)
			s->value[f] = (int64_t)((uint64_t)s->value[f] + (uint64_t)s->step[f]);
		c->field[f] = s->value[f];
	}
	c->error = random_below(&seed, 20) ? 0 : (int32_t)(random_next(&seed) | 1);
}

static void expect(const struct event *e, uint32_t reason)
{
	CHECK(n_events < MAX_EVENTS);
	events[n_events] = *e;
	events[n_events++].reason = reason;
}

/* The runtime is about to notice that calls were left. */
static void notice(void)
{
	for (; left; left--)
		expect(&open_calls[--depth], 1);
}

static const void *frame_of(uint32_t at)
{
	return (const void *)(uintptr_t)(0x7fff00000000u - 64u * at);
}

/* The same op on the same object with the same arguments, directly inside: MPI_X over PMPI_X. */
static bool is_absorbed(const struct shape *s)
{
	const struct call *around = depth ? &open_calls[depth - 1].call : NULL;

	return around && depth < CALL_DEPTH && s->op == OP_ABSORBS && around->op == s->op &&
	       around->object == s->object;
}

static void enter(void)
{
	struct shape *s = &shapes[random_below(&seed, SHAPES)];
	struct event e = {.parent = NO_SEQ};
	bool recorded;

	notice();
	recorded = call_enter(&e.call, s->op, s->object, 7, -7, frame_of(depth),
			      (const void *)s->site);
	if (is_absorbed(s)) {
		CHECK(!recorded && e.call.cancel);
		return;
	}
	CHECK(recorded == (depth < CALL_DEPTH));
	too_deep += !recorded;
	if (!recorded)
		return;
	CHECK(e.call.depth == depth);
	e.site = depth ? 0 : s->site;
	e.parent = depth ? open_calls[depth - 1].call.seq : NO_SEQ;
	fill(&e.call, s);
	open_calls[depth++] = e;
}

/* Ends the innermost call that is still there, and whatever a jump left above it. */
static void leave(void)
{
	struct event e;
	bool jumped = left;

	if (depth == left)
		return;
	notice();
	e = open_calls[depth - 1];
	e.ended = jumped || random_below(&seed, 90) ? ticks_now() : e.call.began;
	e.ended += random_below(&seed, 60) ? 0 : random_below(&seed, 10000000);
	open_calls[depth - 1] = e;
	depth--;
	call_leave(&e.call, e.ended);
	expect(&e, 0);
}

static void cancel(void)
{
	struct event e;
	uint32_t was = depth;

	enter();
	if (depth != was + 1)
		return;
	e = open_calls[--depth];
	call_cancel(&e.call, ticks_now());
}

static void say_text(void)
{
	static char text[12000];
	size_t n = random_below(&seed, sizeof(text));

	if (!depth || left)
		return;
	memset(text, 'x', n);
	text[n] = '\0';
	call_text(&open_calls[depth - 1].call, "name", text);
	texts++;
	text_bytes += n;
}

static void step(void)
{
	uint64_t what = random_below(&seed, 1000);

	if (what < 480)
		enter();
	else if (what < 960)
		leave();
	else if (what < 975)
		cancel();
	else if (what < 985 && depth > left)
		left += (uint32_t)random_below(&seed, depth - left) / 2 + 1;
	else if (what < 990)
		say_text();
	else if (what == 999)
		for (int i = 0; i < 70; i++) /* now and then very deep */
			enter();
}

/* ---- what was read back ---- */

static uintptr_t sites[1 << 16];
static uint64_t texts_read, text_bytes_read, too_deep_read;

static void read_records(const struct decoded *d)
{
	for (size_t i = 0; i < d->records; i++) {
		const struct record_seen *r = &d->record[i];
		struct cursor in = {r->payload, r->payload + r->bytes}, text;
		uint64_t number;

		if (r->type == 3) {
			number = take_varint(&in);
			CHECK(take_varint(&in) == 0 && number < 1 << 16);
			sites[number] = take_varint(&in);
		} else if (r->type == 14) {
			take_varint(&in);
			take_text(&in);
			text = take_text(&in);
			texts_read++;
			text_bytes_read += (uint64_t)(text.end - text.at);
		} else if (r->type == 7) {
			take_varint(&in);
			text = take_text(&in);
			if (text.end - text.at == 4 && !memcmp(text.at, "lost", 4)) {
				take_text(&in);
				too_deep_read = take_varint(&in);
			}
		}
	}
}

static void compare(const struct row *r, const struct event *e)
{
	uint64_t ended = e->ended > r->before ? e->ended : r->before;

	CHECK(r->unfinished == (e->reason != 0) && r->reason == e->reason);
	CHECK(r->op == e->call.op && r->object == e->call.object && r->depth == e->call.depth);
	CHECK(r->seq == e->call.seq && r->parent == e->parent);
	CHECK(r->site ? sites[r->site] == e->site : !e->site);
	if (r->unfinished) {
		CHECK(r->began == e->call.began && r->ended >= r->began);
		CHECK(r->field[0] == 7 && r->field[1] == -7);
		return;
	}
	CHECK(r->n == (e->call.op < OP_ABSORBS ? e->call.op : ops[e->call.op].nfields));
	CHECK(memcmp(r->field, e->call.field, r->n * sizeof(r->field[0])) == 0);
	CHECK(r->error == (uint32_t)e->call.error);
	CHECK(r->ended == ended);
	CHECK(r->began == (ended > e->call.began ? e->call.began : ended));
}

int main(void)
{
	struct decoded d;
	size_t bytes, at = 0;
	uint8_t *data;

	run_begin("call", "gettime");
	make_shapes();
	for (int i = 0; i < STEPS; i++)
		step();
	notice();
	while (depth)
		leave();
	while (depth < OPEN_AT_END)
		enter();
	for (uint32_t i = OPEN_AT_END; i-- > 0;)
		expect(&open_calls[i], 2);
	data = run_end(&bytes);
	decode(data, bytes, &d);
	read_records(&d);
	for (size_t i = 0; i < d.rows; i++) {
		if (d.row[i].op >= FATHOM_OPS)
			continue;
		CHECK(at < n_events);
		compare(&d.row[i], &events[at++]);
	}
	CHECK(at == n_events);
	CHECK(texts_read == texts && text_bytes_read == text_bytes);
	CHECK(too_deep && too_deep_read == too_deep);
	CHECK(d.chunks > 40);
	free(data);
	free(d.row);
	free(d.record);
	printf("%zu rows in %zu chunks, %zu bytes\n", d.rows, d.chunks, bytes);
	return 0;
}
