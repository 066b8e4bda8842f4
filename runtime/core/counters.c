/* Counters: what is left of a call when the budget for events is spent. A bounded table per thread, in the
 * ring, that evicts itself into the stream as partial counts. */
#include <string.h>

#include "core/core.h"

static struct counter_table *table_of(struct thread *t)
{
	uint64_t mask;

	if (t->counters)
		return t->counters;
	mask = process_lock();
	t->counters = (struct counter_table *)ring_chunk(true);
	process_unlock(mask);
	if (!t->counters)
		return NULL;
	memset(t->counters, 0, sizeof(*t->counters));
	t->counters->stream = t->stream;
	t->counters->instance = process->instance;
	barrier();
	memcpy(t->counters->magic, "FATHOMCT", 8);
	return t->counters;
}

/* Calls that are counted and calls that are recorded may be inside each other: the younger frame is the inner. */
uint32_t enclosing_op(const struct thread *t)
{
	const struct open_call *o = t->depth ? &t->page->open[t->depth - 1] : NULL;

	if (!o || (t->enclosing && t->enclosing_frame < o->frame))
		return t->enclosing;
	return o->op + 1;
}

static void put_counter(struct thread *t, const struct counter *n)
{
	struct record r;

	stream_room(t);
	stream_op(t, n->op);
	if (n->enclosing)
		stream_op(t, n->enclosing - 1);
	r = record_begin(t);
	record_varint(&r, n->op);
	record_varint(&r, n->object);
	record_varint(&r, n->enclosing);
	for (const uint64_t *value = &n->calls; value <= &n->last; value++)
		record_varint(&r, *value);
	record_end(&r, RECORD_COUNTER);
}

void counters_write(struct thread *t)
{
	uint32_t used = atomic_load(&t->counters->used);

	for (uint32_t i = 0; i < used; i++)
		put_counter(t, &t->counters->entry[i]);
	if (!t->snapshot)
		atomic_store(&t->counters->used, 0);
}

/* Looked for from the newest on: programs repeat what they did last. */
static struct counter *entry_of(struct thread *t, struct counter_table *table, const struct call *c)
{
	uint32_t enclosing = enclosing_op(t);
	uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed);

	for (uint32_t i = used; i-- > 0;) {
		struct counter *n = &table->entry[i];

		if (n->op == c->op && n->object == c->object && n->enclosing == enclosing)
			return n;
	}
	if (used == COUNTERS && t->full) { /* this one stays in the ring: go on in another */
		t->counters = NULL;
		table = table_of(t);
		if (!table)
			return NULL;
		used = 0;
	} else if (used == COUNTERS) {
		counters_write(t);
		used = 0;
	}
	table->entry[used] =
		(struct counter){.op = c->op, .object = c->object, .enclosing = enclosing};
	table->entry[used].min = ~0ull;
	barrier();
	atomic_store(&table->used, used + 1);
	return &table->entry[used];
}

/* Bytes that moved: the field of that name in the op's row. */
static uint64_t bytes_of(const struct call *c)
{
	const char *field = op_of(c->op)->fields;
	uint32_t i = 0;

	if (c->error)
		return 0;
	for (size_t length; *field; field += length + (field[length] == ','), i++) {
		length = strcspn(field, ",");
		if (length == 5 && memcmp(field, "bytes", 5) == 0)
			return c->field[i] > 0 ? (uint64_t)c->field[i] : 0;
	}
	return 0;
}

void counter_add(struct thread *t, const struct call *c, uint64_t ended)
{
	struct counter_table *table = table_of(t);
	uint64_t took = ended > c->began ? ended - c->began : 0;
	struct counter *n;

	n = table ? entry_of(t, table, c) : NULL;
	if (!n)
		return;
	n->calls++;
	n->errors += c->error != 0;
	n->bytes += bytes_of(c);
	n->ticks += took;
	n->min = took < n->min ? took : n->min;
	n->max = took > n->max ? took : n->max;
	n->first = n->first && n->first < c->began ? n->first : c->began; /* calls may nest */
	n->last = ended > n->last ? ended : n->last;
}
