/* A reader of streams, written from docs/stream-format.md alone: what the encoder is compared with. */
#ifndef CORE_DECODE_H
#define CORE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_SEQ UINT64_MAX

struct row {
	bool unfinished;
	uint32_t op, object, site, depth, reason;
	uint64_t seq, parent, began, ended, error;
	uint64_t before; /* `ended` of the row before it */
	uint32_t n;
	int64_t field[8]; /* of an unfinished call: size, offset */
};

struct record_seen {
	uint32_t type;
	const uint8_t *payload;
	size_t bytes;
};

struct decoded {
	struct row *row;
	size_t rows;
	struct record_seen *record; /* all but ops, open and unfinished calls */
	size_t records;
	size_t chunks;
	size_t longest; /* bytes of rows of a chunk */
	uint64_t next_seq;
};

/* Fails the test on anything that the page does not allow. One stream only. */
void decode(const uint8_t *data, size_t bytes, struct decoded *out);

struct cursor {
	const uint8_t *at, *end;
};
uint64_t take_varint(struct cursor *c);
int64_t take_zigzag(struct cursor *c);
struct cursor take_text(struct cursor *c);

#endif
