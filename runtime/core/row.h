/* A call's row, the hot path's second half: inlined into call_leave. docs/stream-format.md, "Rows". */
#ifndef FATHOM_ROW_H
#define FATHOM_ROW_H

#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/hash.h"
#include "core/thread.h"

static inline uint8_t *put_varint(uint8_t *put, uint64_t value)
{
	while (value >= 0x80) {
		*put++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*put++ = (uint8_t)value;
	return put;
}

static inline uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline void commit(struct thread *t)
{
	struct chunk *chunk = t->chunk;
	uint32_t committed = (uint32_t)(t->put - chunk->rows);

	barrier();
	*(volatile uint32_t *)&chunk->committed = committed;
}

static inline uint8_t *put_times(struct thread *t, uint8_t *put, uint64_t began, uint64_t ended)
{
	if (unlikely(ended < t->last_ended)) /* a core's counter a few ticks behind another's */
		ended = t->last_ended;
	put = put_varint(put, ended - t->last_ended);
	put = put_varint(put, ended > began ? ended - began : 0);
	t->last_ended = ended;
	return put;
}

/* Two numbers below 2^14 as varints of two bytes each, also where one would do: in either half the seven low
 * bits stay, those above move up by one, and bit 7 says that there are more. */
static inline uint32_t two_varints(uint64_t first, uint64_t second)
{
	uint32_t both = (uint32_t)(first | second << 16);

	return both + (both & 0x3f803f80) + 0x00800080;
}

/* A row as predicted, whose times need no more than two bytes each as those of most system calls do, is five
 * bytes in two stores; its length is known before its times are, so the next row need not wait for them. */
static inline void put_usual_row(struct thread *t, uint8_t slot, uint64_t began, uint64_t ended)
{
	uint64_t step = ended - t->last_ended, duration = ended - began;
	uint8_t *put = t->put;
	uint32_t times;

	*put++ = slot;
	if (likely((step | duration) < 0x4000)) {
		times = two_varints(step, duration);
		memcpy(put, &times, 4);
		t->put = put + 4;
		t->last_ended = ended;
	} else {
		t->put = put_times(t, put, began, ended);
	}
	commit(t);
}

static inline uint8_t *put_fields(uint8_t *put, const int64_t *surplus, uint32_t mask)
{
	*put++ = (uint8_t)mask;
	for (; mask; mask &= mask - 1)
		put = put_varint(put, zigzag(surplus[__builtin_ctz(mask)]));
	return put;
}

/* Are all fields as predicted? If so the pattern moves on. */
static inline bool as_predicted(struct pattern *p, const int64_t *field, uint32_t n)
{
	uint64_t differs = 0;

	for (uint32_t i = 0; i < n; i++)
		differs |= (uint64_t)field[i] ^ p->next[i];
	if (unlikely(differs))
		return false;
	for (uint32_t i = 0; i < n; i++)
		p->next[i] += p->slope[i];
	return true;
}

/* Each field minus its prediction; the pattern learns this call's values. Returns which differ, a bit each. */
static inline uint32_t learn(struct pattern *p, const int64_t *field, uint32_t n, int64_t *surplus)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t value = (uint64_t)field[i], last = p->next[i] - p->slope[i];

		surplus[i] = (int64_t)(value - p->next[i]);
		mask |= (uint32_t)(surplus[i] != 0) << i;
		p->slope[i] = value - last;
		p->next[i] = value + p->slope[i];
	}
	return mask;
}

/* Which pattern a call is predicted from: one of PATTERNS, by hash. */
static inline uint8_t pattern_slot(uint64_t who, uint64_t where)
{
	return (uint8_t)((who * HASH_FACTOR ^ where * 0xc2b2ae3d27d4eb4fu) >> 57);
}

static inline uint64_t pattern_who(const struct call *c)
{
	return c->op | (uint64_t)c->object << 32;
}

static inline uint64_t pattern_where(const struct thread *t, uint32_t depth, uint32_t site)
{
	return site | (uint64_t)depth << 32 | (uint64_t)t->generation << 40;
}

#endif
