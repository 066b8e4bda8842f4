/* Memory vectors: lengths, parts, copies. */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

enum {
	BOUNCE = 4096,
	PIECES = 16,
};

uint64_t memory_length(const struct iovec *part, uint32_t parts)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < parts; i++)
		if (__builtin_add_overflow(sum, part[i].iov_len, &sum))
			return UINT64_MAX;
	return sum;
}

int memory_pieces(const struct memory *m, uint64_t at, uint64_t length, struct iovec *out, int most)
{
	int n = 0;

	for (uint32_t i = 0; i < m->parts && length && n < most; i++) {
		uint64_t present = m->part[i].iov_len;

		if (at >= present) {
			at -= present;
			continue;
		}
		present -= at;
		if (present > length)
			present = length;
		out[n++] = (struct iovec){(char *)m->part[i].iov_base + at, present};
		length -= present;
		at = 0;
	}
	return n;
}

int memory_take(struct memory *m, const struct iovec *part, uint32_t parts, uint64_t from,
		uint64_t length)
{
	struct memory all = {.part = (struct iovec *)(uintptr_t)part, .parts = parts};

	*m = (struct memory){.bytes = length};
	if (!length)
		return 0;
	m->part = parts == 1 ? &m->one : malloc(parts * sizeof(*m->part));
	if (!m->part)
		return ENOMEM;
	m->parts = (uint32_t)memory_pieces(&all, from, length, m->part, (int)parts);
	return 0;
}

void memory_free(struct memory *m)
{
	if (m->part != &m->one)
		free(m->part);
	*m = (struct memory){.part = NULL};
}

/* Goes through the pieces of a range: the next ones, and on by their length. */
static uint64_t next_pieces(const struct memory *m, uint64_t *at, uint64_t *length,
			    struct iovec *pieces, int *n)
{
	uint64_t bytes;

	*n = *length ? memory_pieces(m, *at, *length, pieces, PIECES) : 0;
	bytes = memory_length(pieces, (uint32_t)*n);
	*at += bytes;
	*length -= bytes;
	return bytes;
}

void memory_put(const struct memory *m, uint64_t at, const void *from, uint64_t length)
{
	struct iovec pieces[PIECES];
	const char *next = from;
	int n;

	while (next_pieces(m, &at, &length, pieces, &n))
		for (int i = 0; i < n; next += pieces[i++].iov_len)
			memcpy(pieces[i].iov_base, next, pieces[i].iov_len);
}

void memory_get(const struct memory *m, uint64_t at, void *to, uint64_t length)
{
	struct iovec pieces[PIECES];
	char *next = to;
	int n;

	while (next_pieces(m, &at, &length, pieces, &n))
		for (int i = 0; i < n; next += pieces[i++].iov_len)
			memcpy(next, pieces[i].iov_base, pieces[i].iov_len);
}

void memory_move_up(const struct memory *m, uint64_t to, uint64_t from, uint64_t length)
{
	uint8_t bounce[BOUNCE];

	while (to != from && length) {
		uint64_t now = length < BOUNCE ? length : BOUNCE;

		length -= now;
		memory_get(m, from + length, bounce, now);
		memory_put(m, to + length, bounce, now);
	}
}

uint32_t memory_crc(const struct memory *m, uint64_t at, uint64_t length, uint32_t crc)
{
	struct iovec pieces[PIECES];
	int n;

	while (next_pieces(m, &at, &length, pieces, &n))
		for (int i = 0; i < n; i++)
			crc = frame_crc(crc, pieces[i].iov_base, pieces[i].iov_len);
	return crc;
}
