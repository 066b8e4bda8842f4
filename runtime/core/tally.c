/* Which values calls have: exact counts that are evicted into the stream while the budget lasts. After it the
 * rarest of a set makes room for a new value, which inherits its count as a bound (Space-Saving, Metwally et al.
 * 2005), in each set for itself. */
#include <string.h>

#include "core/base.h"
#include "core/hash.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/counters.h"

static struct tally_table *table_of(struct thread *t)
{
	if (!t->tally)
		t->tally = counter_memory(t, "FATHOMTL");
	return t->tally;
}

static uint32_t set_of(const struct counter_key *k, enum tallied what, int64_t value)
{
	uint64_t hash = (k->op | (uint64_t)k->object << 32) * HASH_FACTOR;

	hash = (hash ^ hash >> 29 ^ k->enclosing ^ (uint64_t)what << 16) * 0xc2b2ae3d27d4eb4fu;
	hash = (hash ^ hash >> 32 ^ (uint64_t)value) * HASH_FACTOR;
	return (uint32_t)((hash >> 32) * TALLY_SETS >> 32);
}

static bool is_of(const struct tally *n, const struct counter_key *k, enum tallied what,
		  int64_t value)
{
	return n->value == value && n->op == k->op && n->object == k->object &&
	       n->enclosing == k->enclosing && n->what == what;
}

static struct tally *rarest(struct tally *set)
{
	struct tally *least = set;

	for (uint32_t i = 1; i < TALLY_WAYS; i++)
		if (set[i].calls < least->calls) /* a free place has none */
			least = &set[i];
	return least;
}

void tally_add(struct thread *t, const struct counter_key *key, enum tallied what,
	       const struct run *run)
{
	struct tally_table *table = table_of(t);
	struct tally *set, *place;
	uint64_t before;

	if (!table)
		return;
	set = table->set[set_of(key, what, run->value)];
	for (uint32_t i = 0; i < TALLY_WAYS; i++)
		if (set[i].calls && is_of(&set[i], key, what, run->value)) {
			set[i].calls += run->calls;
			return;
		}
	place = rarest(set);
	if (place->calls && !t->counting && !table->dropped)
		tally_write(t);
	before = place->calls;
	if (before > table->dropped)
		table->dropped = before;
	place->calls = 0;
	barrier();
	*place = (struct tally){.op = key->op,
				.object = key->object,
				.enclosing = key->enclosing,
				.what = what,
				.value = run->value,
				.calls = before + run->calls,
				.bound = before};
}

static void put_tally(struct thread *t, const struct tally *n)
{
	struct record r;

	if (n->what != TALLY_DROPPED)
		stream_ops(t, n->op, n->enclosing);
	r = counter_record(t, &(struct counter_key){n->op, n->object, n->enclosing});
	record_varint(&r, n->what);
	record_zigzag(&r, n->value);
	record_varint(&r, n->calls);
	record_varint(&r, n->bound);
	record_end(&r, RECORD_TALLY);
}

void tally_write(struct thread *t)
{
	struct tally_table *table = t->tally;

	if (!table)
		return;
	if (table->dropped)
		put_tally(t, &(struct tally){.what = TALLY_DROPPED, .bound = table->dropped});
	for (uint32_t s = 0; s < TALLY_SETS; s++)
		for (uint32_t i = 0; i < TALLY_WAYS; i++)
			if (table->set[s][i].calls)
				put_tally(t, &table->set[s][i]);
	if (!t->snapshot)
		memset(table->set, 0, sizeof(table->set));
}
