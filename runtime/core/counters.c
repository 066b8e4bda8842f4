/* Counters: what is left of a call that has no row. Bounded tables per thread, in the ring, that evict themselves
 * into the stream as partial counts: sums of all calls, and what is known of those that move data. */
#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/hash.h"
#include "core/ops.h"
#include "core/ring.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/text.h"
#include "core/thread.h"
#include "core/counters.h"
#include "core/access.h"

#include <string.h>

void *counter_memory(struct thread *t, const char *magic)
{
	uint64_t mask = process_lock();
	struct data_table *table = (struct data_table *)ring_chunk(true);

	process_unlock(mask);
	if (!table)
		return NULL;
	memset(table, 0, CHUNK_BYTES);
	table->stream = t->stream;
	table->instance = process->instance; /* where all of them have it */
	barrier();
	memcpy(table->magic, magic, 8);
	return table;
}

static struct counter_index *index_of(struct thread *t)
{
	if (!t->index)
		t->index = memory_get(sizeof(struct counter_index), true);
	return t->index;
}

static struct counter_table *sums_of(struct thread *t)
{
	if (!t->counters)
		t->counters = counter_memory(t, "FATHOMCT");
	return t->counters;
}

static struct data_table *data_of(struct thread *t)
{
	if (!t->data)
		t->data = counter_memory(t, "FATHOMCD");
	return t->data;
}

/* ---- into the stream ---- */

struct record counter_record(struct thread *t, const struct counter_key *key)
{
	struct record r = record_begin(t);

	record_varint(&r, key->op);
	record_varint(&r, key->object);
	record_varint(&r, key->enclosing);
	return r;
}

static void put_counter(struct thread *t, const struct counter *n, const struct data_counter *data)
{
	struct record r;

	stream_ops(t, n->op, n->enclosing);
	r = counter_record(t, &(struct counter_key){n->op, n->object, n->enclosing});
	for (const uint64_t *value = &n->calls; value <= &n->last; value++)
		record_varint(&r, *value);
	if (data)
		access_write(&r, data);
	record_end(&r, RECORD_COUNTER);
}

/* Its entries are to be others. */
static void forget_sums(struct thread *t)
{
	t->resets++;
	t->changes++;
	memset(t->index->sum, 0, sizeof(t->index->sum));
}

static void forget_data(struct thread *t)
{
	t->resets++;
	t->changes++;
	memset(t->index->data, 0, sizeof(t->index->data));
	t->index->recent = NULL;
}

static void write_sums(struct thread *t)
{
	struct counter_table *table = t->counters;
	const uint32_t used = table ? atomic_load(&table->used) : 0;

	for (uint32_t i = 0; i < used; i++)
		put_counter(t, &table->entry[i], NULL);
	if (!used || t->snapshot)
		return;
	atomic_store(&table->used, 0);
	forget_sums(t);
}

static void write_data(struct thread *t)
{
	struct data_table *table = t->data;
	const uint32_t used = table ? atomic_load(&table->used) : 0;

	for (uint32_t i = 0; i < used; i++)
		put_counter(t, &table->entry[i].sum, &table->entry[i]);
	if (!used || t->snapshot)
		return;
	atomic_store(&table->used, 0);
	forget_data(t);
}

void counters_write(struct thread *t)
{
	write_sums(t);
	write_data(t);
	tally_write(t);
	heat_write(t);
}

void counters_cut(struct thread *t)
{
	t->uncut = 0;
	t->when_ready = usual_state(t);
	write_data(t);
}

/* ---- entries ---- */

static uint32_t hash_of(const struct counter_key *k)
{
	const uint64_t who = k->op | (uint64_t)k->object << 32;

	return (uint32_t)((who ^ (uint64_t)k->enclosing << 16) * HASH_FACTOR >> 40);
}

static bool is_of(const struct counter *n, const struct counter_key *k)
{
	return n->op == k->op && n->object == k->object && n->enclosing == k->enclosing;
}

static struct counter *sum_of(struct thread *t, const struct counter_key *key)
{
	struct counter_table *table = index_of(t) ? sums_of(t) : NULL;
	uint32_t place = hash_of(key), used;

	if (!table)
		return NULL;
	for (; t->index->sum[place %= SUM_PLACES]; place++)
		if (is_of(&table->entry[t->index->sum[place] - 1], key))
			return &table->entry[t->index->sum[place] - 1];
	used = atomic_load_explicit(&table->used, memory_order_relaxed);
	if (used == COUNTERS) {
		if (t->full) { /* this table stays in the ring: go on in another */
			t->counters = NULL;
			forget_sums(t);
		} else {
			write_sums(t);
		}
		return sum_of(t, key);
	}
	table->entry[used] = (struct counter){
		.op = key->op, .object = key->object, .enclosing = key->enclosing, .min = ~0ull};
	barrier();
	atomic_store(&table->used, used + 1);
	t->index->sum[place] = (uint16_t)(used + 1);
	return &table->entry[used];
}

static struct data_counter *make_data(struct thread *t, const struct counter_key *key,
				      enum counter_detail detail, uint32_t place)
{
	struct data_table *table = t->data;
	const uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed);
	struct data_counter *n = &table->entry[used];

	memset(n, 0, sizeof(*n));
	n->sum = (struct counter){.op = key->op,
				  .object = key->object,
				  .enclosing = key->enclosing,
				  .zero = detail,
				  .min = ~0ull};
	barrier();
	atomic_store(&table->used, used + 1);
	t->index->data[place] = (uint16_t)(used + 1);
	return n;
}

/* NULL: no memory. */
static struct data_counter *look_up(struct thread *t, const struct counter_key *key,
				    enum counter_detail detail)
{
	struct data_table *table = index_of(t) ? data_of(t) : NULL;
	uint32_t place = hash_of(key);

	if (!table)
		return NULL;
	for (; t->index->data[place %= DATA_PLACES]; place++) {
		struct data_counter *n = &table->entry[t->index->data[place] - 1];

		if (is_of(&n->sum, key) && n->sum.zero == (uint32_t)detail)
			return n;
	}
	if (atomic_load_explicit(&table->used, memory_order_relaxed) < DATA_COUNTERS)
		return make_data(t, key, detail, place);
	if (t->full) {
		t->data = NULL;
		forget_data(t);
	} else {
		write_data(t);
	}
	return look_up(t, key, detail);
}

static struct data_counter *data_counter_of(struct thread *t, const struct counter_key *key,
					    enum counter_detail detail)
{
	struct data_counter *n = t->index ? t->index->recent : NULL;

	if (n && is_of(&n->sum, key) && n->sum.zero == (uint32_t)detail)
		return n;
	n = look_up(t, key, detail);
	if (n)
		t->index->recent = n;
	return n;
}

/* ---- calls ---- */

static uint64_t bytes_of(const struct call *c, const struct op *op)
{
	if (!op->bytes_at || c->field[op->bytes_at - 1] < 0)
		return 0;
	return (uint64_t)c->field[op->bytes_at - 1];
}

struct counter *counter_add(struct thread *t, const struct call *c, uint64_t ended, bool whole_job)
{
	const struct op *op = op_of(c->op);
	const uint32_t around = op->beside ? beyond_enclosing_op(t) : enclosing_op(t);
	const struct counter_key key = {c->op, whole_job ? 0 : c->object, around};
	const uint64_t bytes = bytes_of(c, op);
	struct data_counter *data;
	struct counter *sum;

	if (!op->direction) {
		sum = sum_of(t, &key);
		if (sum)
			counter_sum(sum, bytes, c->error != 0, c->began, ended);
		return sum;
	}
	data = data_counter_of(t, &key, whole_job ? COUNTER_SIZES : COUNTER_ALL);
	if (!data)
		return NULL;
	counter_sum(&data->sum, bytes, c->error != 0, c->began, ended);
	heat_add(t, c, bytes, ended);
	if (!c->error && !op->beside) /* whoever asked for it has it */
		access_add(t, data, c);
	return &data->sum;
}

/* ---- what the arguments of a call say beside its fields ---- */

/* Its key, while it has not ended. False: it moves no data, or is counted without regard to files. */
static bool key_in_flight(const struct thread *t, const struct call *c, struct counter_key *key)
{
	*key = (struct counter_key){c->op, c->object & ~OBJECT_LEFT_OUT, call_enclosing(t, c)};
	return op_of(c->op)->direction && !call_for_job(c);
}

/* The entry of a call in flight, whose thread is claimed in any case. */
static struct data_counter *claim_entry(const struct call *c, struct thread **claimed)
{
	struct thread *t = *claimed = thread_claim();
	struct counter_key key;

	return t && t == c->thread && key_in_flight(t, c, &key)
		       ? data_counter_of(t, &key, COUNTER_ALL)
		       : NULL;
}

void call_misaligned(struct call *c)
{
	struct thread *t;
	struct data_counter *n = claim_entry(c, &t);

	if (n)
		n->count[UNALIGNED_MEMORY]++;
	if (t)
		thread_release(t);
}

void call_scattered(struct call *c)
{
	struct thread *t;
	struct data_counter *n = claim_entry(c, &t);

	if (n)
		access_scatter(n, c);
	if (t)
		thread_release(t);
}

void call_datatype(struct call *c, uint32_t datatype)
{
	struct thread *t = datatype ? thread_claim() : NULL;
	struct counter_key key;

	if (!t)
		return;
	if (t == c->thread && key_in_flight(t, c, &key))
		tally_add(t, &key, TALLY_DATATYPE, &(struct run){datatype, 1});
	thread_release(t);
}

uint32_t datatype_define(struct call *c, const char *name)
{
	const uint32_t number = (uint32_t)(text_hash(name, 0) >> 33) | 1;
	struct thread *t = thread_claim();
	struct record r;

	(void)c;
	if (!t)
		return 0;
	r = record_begin(t);
	record_varint(&r, number);
	record_string(&r, name);
	record_end(&r, RECORD_DATATYPE);
	thread_release(t);
	return number;
}
