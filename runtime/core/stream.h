/* The encoder of a stream: rows, and records between them. */
#ifndef FATHOM_STREAM_H
#define FATHOM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/chunk.h"
#include "core/stream_format.h"

struct thread;
struct call;

bool stream_begin_chunk(struct thread *t, struct chunk *chunk);
void stream_next_chunk(struct thread *t, bool last);
void stream_row(struct thread *t, const struct call *c, uint32_t site, uint64_t ended);
void stream_surprising_row(
	struct thread *t, uint8_t slot, const struct call *c,
	uint64_t ended); /* the fields are not as predicted, or the call failed */
void stream_flush_row(struct thread *t);
void stream_mark(struct thread *t, const char *kind, const char *detail, uint64_t value);
void stream_ask_budget(struct thread *t);
void stream_own_row(struct thread *t, uint32_t op, uint64_t began, uint64_t ended, uint64_t value);
void stream_unfinished(struct thread *t, const struct open_call *o, uint32_t depth,
		       enum unfinished_reason reason, uint64_t ended);
void stream_write_out(struct thread *t);      /* its chunks not yet in the file; lock held */
bool stream_write(const struct chunk *chunk); /* one sealed chunk into the file; lock held */
void stream_seal(struct chunk *chunk, uint32_t flags);
void stream_op(struct thread *t, uint32_t op); /* the op's record, once per chunk */
/* That, and of the op that encloses it (+ 1; 0: none): a record about them comes into the same chunk. */
void stream_ops(struct thread *t, uint32_t op, uint32_t enclosing);
void stream_inside(struct thread *t); /* in which counted call the next ones are */

/* A record is built in t->scratch, then put in one piece. */
struct record {
	struct thread *t;
	uint8_t *at, *end;
};
struct record record_begin(struct thread *t);
void record_varint(struct record *r, uint64_t value);
void record_zigzag(struct record *r, int64_t value);
void record_bytes8(struct record *r, uint64_t value);
void record_text(struct record *r, const char *text, size_t length);
void record_string(struct record *r, const char *text);
void record_end(struct record *r, enum record_type type);

#endif
