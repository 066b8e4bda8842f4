/* Frames in another order. */
#include "reorder.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "frame.h"

void bytes_add(struct bytes *b, const void *from, size_t length)
{
	if (b->length + length > b->room) {
		b->room = 2 * (b->length + length);
		b->at = realloc(b->at, b->room);
	}
	if (length)
		memcpy(b->at + b->length, from, length);
	b->length += length;
}

void bytes_take(struct bytes *b, size_t length)
{
	b->length -= length;
	memmove(b->at, b->at + length, b->length);
}

size_t bytes_frame(const struct bytes *b)
{
	struct reader r = {.at = b->at + 12, .end = b->at + 16};
	size_t length;

	if (b->length < FWD_FRAME_HEADER)
		return 0;
	length = FWD_FRAME_HEADER + get_u32(&r);
	return b->length < length ? 0 : length;
}

static bool keep_their_order(const uint8_t *a, const uint8_t *b)
{
	bool both_ask = a[5] == FWD_KIND_REQUEST && b[5] == FWD_KIND_REQUEST;

	return both_ask || !memcmp(a + 24, b + 24, 8); /* seq */
}

/* Those held of number `most` and below that a frame may not pass, and then it. */
static void let_go(struct reorder *r, int most, const uint8_t *frame, size_t length,
		   struct bytes *out)
{
	bool passes = false;

	for (int i = 0; i < most; i++) {
		struct held h = r->held[i];

		if (!h.frame || !keep_their_order(h.frame, frame)) {
			passes |= h.frame != NULL;
			continue;
		}
		r->held[i].frame = NULL;
		let_go(r, i, h.frame, h.length, out);
		free(h.frame);
	}
	r->passed += passes;
	bytes_add(out, frame, length);
}

static void let_go_held(struct reorder *r, int i, struct bytes *out)
{
	struct held h = r->held[i];

	r->held[i].frame = NULL;
	if (h.frame)
		let_go(r, i, h.frame, h.length, out);
	free(h.frame);
}

static void close_gaps(struct reorder *r)
{
	int n = 0;

	for (int i = 0; i < r->n; i++)
		if (r->held[i].frame)
			r->held[n++] = r->held[i];
	r->n = n;
}

bool reorder_hold(struct reorder *r, const uint8_t *frame, size_t length, uint64_t passes)
{
	struct held h = {malloc(length), length, passes};

	if (r->n == MOST_HELD) {
		free(h.frame);
		return false;
	}
	memcpy(h.frame, frame, length);
	r->held[r->n++] = h;
	return true;
}

void reorder_pass(struct reorder *r, const uint8_t *frame, size_t length, struct bytes *out)
{
	let_go(r, r->n, frame, length, out);
	for (int i = 0; i < r->n; i++)
		if (r->held[i].frame && !--r->held[i].passes)
			let_go_held(r, i, out);
	close_gaps(r);
}

void reorder_let_go(struct reorder *r, struct bytes *out)
{
	for (int i = r->n - 1; i >= 0; i--)
		let_go_held(r, i, out);
	r->n = 0;
}
