/* A call's row, the hot path's second half: inlined into call_leave. docs/stream-format.md, "Rows". */
#ifndef FATHOM_ROW_H
#define FATHOM_ROW_H

#include <string.h>

#include "core/core.h"

static inline uint8_t *put_varint(uint8_t *put, uint64_t value)
{
	while (value >= 0x80) {
		*put++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*put++ = (uint8_t)value;
	return put;
}

/* The usual lengths, one and two bytes, without a loop. */
static inline uint8_t *put_short(uint8_t *put, uint64_t value)
{
	if (likely(value < 0x4000)) {
		uint16_t two = (uint16_t)((value & 0x7f) | (value >> 7) << 8);
		uint32_t longer = value >= 0x80;

		two |= (uint16_t)(longer << 7);
		memcpy(put, &two, 2);
		return put + 1 + longer;
	}
	return put_varint(put, value);
}

static inline uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline void commit(struct thread *t)
{
	barrier();
	*(volatile uint32_t *)&t->chunk->committed = (uint32_t)(t->put - t->chunk->rows);
}

static inline uint8_t *put_times(struct thread *t, uint8_t *put, uint64_t began, uint64_t ended)
{
	if (unlikely(ended < t->last_ended)) /* a core's counter a few ticks behind another's */
		ended = t->last_ended;
	put = put_short(put, ended - t->last_ended);
	put = put_short(put, ended > began ? ended - began : 0);
	t->last_ended = ended;
	return put;
}

static inline uint8_t *put_fields(uint8_t *put, const int64_t *surplus, uint32_t mask)
{
	*put++ = (uint8_t)mask;
	for (; mask; mask &= mask - 1)
		put = put_varint(put, zigzag(surplus[__builtin_ctz(mask)]));
	return put;
}

/* Fields minus their predictions; the pattern moves on to this call's values. Not 0: some differ. One number
 * at a time: the wrapper has only just stored them, and a wider load would wait for the stores. */
static inline int64_t surprise(struct pattern *p, const int64_t *field, uint32_t n,
			       int64_t *surplus)
{
	int64_t any = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t value = (uint64_t)field[i];

		surplus[i] = (int64_t)(value - (uint64_t)p->next[i]);
		any |= surplus[i];
		p->next[i] = (int64_t)(2 * value - (uint64_t)p->last[i]);
		p->last[i] = (int64_t)value;
	}
	return any;
}

static inline struct pattern *pattern_of(struct thread *t, uint64_t who, uint64_t where)
{
	return &t->pattern[(who * 0x9e3779b97f4a7c15u ^ where * 0xc2b2ae3d27d4eb4fu) >> 57];
}

static inline uint64_t pattern_who(const struct call *c)
{
	return c->op | (uint64_t)c->object << 32;
}

static inline uint64_t pattern_where(const struct thread *t, const struct call *c, uint32_t site)
{
	return site | (uint64_t)c->depth << 32 | (uint64_t)t->generation << 40;
}

#endif
