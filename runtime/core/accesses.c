/* What accesses are like: how each follows the one before of its thread, key and object, and how its bytes lie in
 * memory and file. The packer does the same with calls that have rows (engine/pack/src/counters.rs). */
#include "core/base.h"
#include "core/call.h"
#include "core/ops.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/counters.h"
#include "core/access.h"

/* Bin of a histogram by powers of four: 0 is size 0, i is [4^(i-1), 4^i), the last is open-ended. */
static uint32_t bin_of(int64_t value)
{
	const uint32_t bits = value > 0 ? 64 - (uint32_t)__builtin_clzll((uint64_t)value) : 0;

	return (bits + 1) / 2 < BINS ? (bits + 1) / 2 : BINS - 1;
}

static struct counter_key key_of(const struct data_counter *n)
{
	return (struct counter_key){n->sum.op, n->sum.object, n->sum.enclosing};
}

__attribute__((noinline)) void access_next_run(struct thread *t, struct data_counter *n,
					       struct run *run, uint64_t *bins, enum tallied what,
					       int64_t value)
{
	const struct counter_key key = key_of(n);
	const struct run ended = *run;

	*run = (struct run){value, 1};
	if (!ended.calls)
		return;
	if (bins)
		bins[bin_of(ended.value)] += ended.calls;
	if (n->sum.zero == COUNTER_ALL && what != TALLY_EXTENT)
		tally_add(t, &key, what, &ended);
}

void access_hole(struct thread *t, struct data_counter *n, int64_t extent)
{
	const struct counter_key key = key_of(n);

	tally_add(t, &key, TALLY_EXTENT, &(struct run){extent, 1});
}

/* The entry, from 1, of the first access to this object in this layer. */
static uint32_t home_of(const struct data_table *table, const struct data_counter *n)
{
	const uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed);

	for (uint32_t i = 0; i < used; i++)
		if (table->entry[i].home == i + 1 && table->entry[i].sum.object == n->sum.object &&
		    op_of(table->entry[i].sum.op)->layer == op_of(n->sum.op)->layer)
			return i + 1;
	return (uint32_t)(n - table->entry) + 1;
}

void access_first_turn(struct thread *t, struct data_counter *n)
{
	n->home = home_of(t->data, n);
}

static int64_t field(const struct call *c, uint8_t at, int64_t none)
{
	return at ? c->field[at - 1] : none;
}

/* Bytes that an access moved, as far as that is known, and from its first to its last in the file. */
struct reach {
	int64_t amount, extent;
};

static struct reach reach_of(const struct call *c, const struct op *op, int64_t offset)
{
	const int64_t moved = field(c, op->bytes_at, -1);
	const int64_t amount = moved >= 0 ? moved : field(c, op->size_at, -1);

	if (!op->selection_at)
		return (struct reach){amount, amount};
	return (struct reach){
		amount, shape_extent((uint32_t)c->field[op->selection_at - 1], offset, amount)};
}

void access_add(struct thread *t, struct data_counter *n, const struct call *c)
{
	const struct op *op = op_of(c->op);
	const int64_t offset = field(c, op->offset_at, -1);
	const struct reach r = reach_of(c, op, offset);
	const uint32_t uncut = t->uncut;

	access_count(t, n,
		     &(struct access){
			     .asked = field(c, op->size_at, -1),
			     .offset = offset,
			     .amount = r.amount,
			     .extent = r.extent,
			     .pieces = field(c, op->pieces_at, 0) > 1,
			     .direction = op->direction,
			     .layer = op->layer,
		     });
	if (t->uncut != uncut)
		t->when_ready = usual_state(t);
}

void access_scatter(struct data_counter *n, const struct call *c)
{
	const struct op *op = op_of(c->op);
	const struct reach r = reach_of(c, op, field(c, op->offset_at, -1));
	const enum pattern_count was = r.extent > r.amount ? HOLES_FILE : CONTIGUOUS;

	if (r.amount < 0 || r.extent < 0)
		return;
	n->count[was]--;
	n->count[was + 1]++;
}

/* ---- into a record: docs/stream-format.md, "counter" ---- */

static void put_bins(struct record *r, const uint64_t *bins, const struct run *run)
{
	const uint32_t last = bin_of(run->value);
	uint64_t mask = 0;

	for (uint32_t i = 0; i < BINS; i++)
		mask |= (uint64_t)(bins[i] || (i == last && run->calls)) << i;
	record_varint(r, mask);
	for (uint32_t i = 0; i < BINS; i++)
		if (mask >> i & 1)
			record_varint(r, bins[i] + (i == last ? run->calls : 0));
}

static void put_order(struct record *r, const struct order *o)
{
	record_varint(r, o->located);
	if (!o->located)
		return;
	record_zigzag(r, o->first_offset);
	record_zigzag(r, o->first_end - o->first_offset);
	record_zigzag(r, o->second_offset - o->first_offset);
	record_zigzag(r, o->last_offset);
	record_zigzag(r, o->last_end - o->last_offset);
	record_zigzag(r, o->distance);
}

void access_write(struct record *r, const struct data_counter *n)
{
	record_varint(r, n->sum.zero);
	put_bins(r, n->sizes, &n->size);
	if (n->sum.zero != COUNTER_ALL)
		return;
	put_bins(r, n->extents, &n->extent);
	for (uint32_t i = 0; i < PATTERN_COUNTS; i++)
		record_zigzag(r, n->count[i]);
	put_order(r, &n->order);
	record_varint(r, n->turn);
	record_zigzag(r, n->size.value);
	record_varint(r, n->size.calls);
	record_zigzag(r, n->stride.value);
	record_varint(r, n->stride.calls);
}
