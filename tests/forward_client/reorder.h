/* Frames held back and let go in another order, as far as docs/forwarding-protocol.md lets them: what belongs to one
 * request keeps its order, and so do requests. */
#ifndef REORDER_H
#define REORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	uint8_t *at;
	size_t length, room;
};

void bytes_add(struct bytes *b, const void *from, size_t length);
void bytes_take(struct bytes *b, size_t length); /* off their beginning */
/* Of the first frame in b; 0: it has not come as a whole. */
size_t bytes_frame(const struct bytes *b);

enum { MOST_HELD = 16 };

struct reorder {
	struct held {
		uint8_t *frame;
		size_t length;
		uint64_t passes; /* frames that it still lets go before it */
	} held[MOST_HELD];
	int n;
	uint64_t passed; /* frames that went before one that was there earlier */
};

/* Holds the frame until so many were let go; false: too many are held. */
bool reorder_hold(struct reorder *r, const uint8_t *frame, size_t length, uint64_t passes);
/* A frame that is not held: to `out`, behind those held that it may not pass. */
void reorder_pass(struct reorder *r, const uint8_t *frame, size_t length, struct bytes *out);
/* All that is held, the last first where it may be. */
void reorder_let_go(struct reorder *r, struct bytes *out);

#endif
