/* Bodies of frames: little-endian numbers into and out of bounded memory. */
#ifndef FWD_BYTES_H
#define FWD_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What does not fit sets `full` and writes nothing; checked once, at the end. */
struct writer {
	uint8_t *at;
	uint8_t *end;
	bool full;
};

/* What is not there sets `bad` and reads as zeros; checked once, at the end. */
struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

struct text {
	const char *at; /* in the frame, without a terminator */
	uint16_t length;
};

static inline void put_bytes(struct writer *w, const void *bytes, size_t length)
{
	if (w->full || (size_t)(w->end - w->at) < length) {
		w->full = true;
		return;
	}
	if (length)
		memcpy(w->at, bytes, length);
	w->at += length;
}

static inline void put_number(struct writer *w, uint64_t value, unsigned bytes)
{
	uint64_t little = htole64(value);

	put_bytes(w, &little, bytes);
}

static inline void put_u8(struct writer *w, uint8_t value)
{
	put_number(w, value, 1);
}

static inline void put_u16(struct writer *w, uint16_t value)
{
	put_number(w, value, 2);
}

static inline void put_u32(struct writer *w, uint32_t value)
{
	put_number(w, value, 4);
}

static inline void put_u64(struct writer *w, uint64_t value)
{
	put_number(w, value, 8);
}

static inline void put_text(struct writer *w, const char *text)
{
	size_t length = strlen(text);

	if (length > UINT16_MAX) {
		w->full = true;
		return;
	}
	put_u16(w, (uint16_t)length);
	put_bytes(w, text, length);
}

static inline const uint8_t *get_bytes(struct reader *r, size_t length)
{
	const uint8_t *from = r->at;

	if (r->bad || (size_t)(r->end - r->at) < length) {
		r->bad = true;
		return NULL;
	}
	r->at += length;
	return from;
}

static inline uint64_t get_number(struct reader *r, unsigned bytes)
{
	const uint8_t *from = get_bytes(r, bytes);
	uint64_t little = 0;

	if (from)
		memcpy(&little, from, bytes);
	return le64toh(little);
}

static inline uint8_t get_u8(struct reader *r)
{
	return (uint8_t)get_number(r, 1);
}

static inline uint16_t get_u16(struct reader *r)
{
	return (uint16_t)get_number(r, 2);
}

static inline uint32_t get_u32(struct reader *r)
{
	return (uint32_t)get_number(r, 4);
}

static inline uint64_t get_u64(struct reader *r)
{
	return get_number(r, 8);
}

static inline struct text get_text(struct reader *r)
{
	uint16_t length = get_u16(r);
	const uint8_t *at = get_bytes(r, length);

	return (struct text){.at = at ? (const char *)at : "", .length = at ? length : 0};
}

#endif
