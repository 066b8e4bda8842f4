/* When data moved: a bounded number of bins for each layer and direction. When time runs out of them, two become
 * one. */
#include "core/base.h"
#include "core/call.h"
#include "core/clock.h"
#include "core/ops.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/counters.h"

enum { BINS_PER_SECOND = 64 };

static uint32_t narrowest(void)
{
	const uint64_t hz = clock_ticks_per_second();
	uint32_t shift = 0;

	while ((hz ? hz : 1000000000u) >> shift > BINS_PER_SECOND)
		shift++;
	return shift;
}

static struct heat_table *table_of(struct thread *t, uint64_t began)
{
	if (t->heat || !(t->heat = counter_memory(t, "FATHOMHT")))
		return t->heat;
	t->heat->shift = narrowest();
	t->heat->first = began >> t->heat->shift;
	return t->heat;
}

static struct heat_bin *row_of(struct thread *t, uint32_t op)
{
	uint8_t *row = &t->index->heat[op_of(op)->direction - 1][op_of(op)->layer % 32];
	const uint32_t used = atomic_load_explicit(&t->heat->used, memory_order_relaxed);

	if (likely(*row))
		return t->heat->row[*row - 1].bin;
	if (used == HEAT_ROWS)
		return NULL;
	t->heat->row[used].op = op;
	barrier();
	atomic_store(&t->heat->used, used + 1);
	*row = (uint8_t)(used + 1);
	return t->heat->row[used].bin;
}

struct heat_bin *heat_row(struct thread *t, uint32_t op)
{
	return t->heat ? row_of(t, op) : NULL;
}

static void merge(struct heat_bin *into, const struct heat_bin *from)
{
	into->calls += from->calls;
	into->bytes += from->bytes;
	into->ticks += from->ticks;
}

/* Bins are named by their number from tick 0, so the first may be the second half of a wider one. */
static void halve(struct thread *t)
{
	struct heat_table *table = t->heat;
	const uint32_t odd = table->first & 1;
	const uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed);

	for (uint32_t r = 0; r < used; r++) {
		for (uint32_t i = 0; i < HEAT_BINS; i++) {
			const struct heat_bin one = table->row[r].bin[i];

			table->row[r].bin[i] = (struct heat_bin){0};
			merge(&table->row[r].bin[(i + odd) / 2], &one);
		}
	}
	table->first >>= 1;
	table->shift++;
	t->heat_until = 0;
}

/* Bin in which a tick lies; a call that began before the first bin is put there. */
static uint32_t bin_of(const struct heat_table *table, uint64_t tick)
{
	uint64_t number = tick >> table->shift;

	return number > table->first ? (uint32_t)(number - table->first) : 0;
}

/* Bytes and time are spread evenly over the time that a call took. */
static void spread(struct heat_bin *bin, const struct heat_table *table, uint32_t last,
		   const struct call *c, uint64_t bytes, uint64_t took)
{
	uint64_t bytes_left = bytes, ticks_left = took;
	uint32_t at = bin_of(table, c->began);

	for (; at < last; at++) {
		const uint64_t end = (table->first + at + 1) << table->shift;
		const double left = 1 - (double)(end - c->began) / (double)took;
		const uint64_t b = (uint64_t)((double)bytes * left);
		const uint64_t n = (uint64_t)((double)took * left);

		bin[at].bytes += bytes_left > b ? bytes_left - b : 0;
		bin[at].ticks += ticks_left > n ? ticks_left - n : 0;
		bytes_left = bytes_left < b ? bytes_left : b;
		ticks_left = ticks_left < n ? ticks_left : n;
	}
	bin[last].bytes += bytes_left;
	bin[last].ticks += ticks_left;
}

void heat_add(struct thread *t, const struct call *c, uint64_t bytes, uint64_t ended)
{
	struct heat_table *table = table_of(t, c->began);
	const uint64_t took = ended > c->began ? ended - c->began : 0;
	struct heat_bin *bin = table ? row_of(t, c->op) : NULL;
	uint32_t first, last;

	if (!bin)
		return;
	while (unlikely((ended >> table->shift) >= table->first + HEAT_BINS))
		halve(t);
	first = bin_of(table, c->began);
	last = bin_of(table, c->began + took);
	bin[first].calls++;
	if (unlikely(first != last)) {
		spread(bin, table, last, c, bytes, took);
		return;
	}
	bin[first].bytes += bytes;
	bin[first].ticks += took;
	t->heat_from = (table->first + first) << table->shift;
	t->heat_until = t->heat_from + (1ull << table->shift);
	t->heat_at = first * sizeof(*bin);
}

static void put_row(struct thread *t, const struct heat_row *row)
{
	uint32_t from = 0, until = HEAT_BINS;
	struct record r;

	while (from < until && !row->bin[from].calls && !row->bin[from].ticks)
		from++;
	while (until > from && !row->bin[until - 1].calls && !row->bin[until - 1].ticks)
		until--;
	stream_ops(t, row->op, 0);
	r = record_begin(t);
	record_varint(&r, row->op);
	record_varint(&r, t->heat->shift);
	record_varint(&r, t->heat->first + from);
	record_varint(&r, until - from);
	for (uint32_t i = from; i < until; i++) {
		record_varint(&r, row->bin[i].calls);
		record_varint(&r, row->bin[i].bytes);
		record_varint(&r, row->bin[i].ticks);
	}
	record_end(&r, RECORD_HEAT);
}

void heat_write(struct thread *t)
{
	const uint32_t used = t->heat ? atomic_load(&t->heat->used) : 0;

	for (uint32_t i = 0; i < used; i++)
		put_row(t, &t->heat->row[i]);
}
