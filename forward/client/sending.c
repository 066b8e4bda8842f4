/* Frames that wait to be sent: requests, and the parts of their data that the server pulls. */
#include "engine.h"
#include "compress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEND_PARTS = 64 };

static void free_out(struct out *o)
{
	free(o->packed);
	if (o->data)
		free(o); /* else it is a part of its request */
}

void outs_free(struct fathom_fwd *c)
{
	while (c->out_first) {
		struct out *o = c->out_first;

		c->out_first = o->next;
		free_out(o);
	}
	c->out_last = NULL;
	c->outs = 0;
}

static void add_out(struct fathom_fwd *c, struct out *o)
{
	if (c->out_last)
		c->out_last->next = o;
	else
		c->out_first = o;
	c->out_last = o;
	c->outs++;
}

void outs_add_request(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	r->out = (struct out){.request = r};
	if (r->begun)
		r->head.flags |= FWD_FLAG_RETRY;
	frame_encode(r->out.head, &r->head);
	add_out(c, &r->out);
}

int outs_add_data(struct fathom_fwd *c, struct fathom_fwd_request *r, uint64_t at, uint32_t length)
{
	struct out *o = malloc(sizeof(*o));
	struct frame head = {
		.kind = FWD_KIND_DATA, .op = r->head.op, .client = c->id, .seq = r->head.seq};
	struct writer w;

	if (!o)
		return ENOMEM;
	*o = (struct out){.request = r, .data = true, .at = at, .length = length};
	add_out(c, o);
	o->packed =
		c->server.compresses ? compress_memory(&r->memory, at, length, &o->length) : NULL;
	head.flags = o->packed ? FWD_FLAG_COMPRESSED : 0;
	head.body = o->length + 8;
	w = (struct writer){.at = o->head + FWD_FRAME_HEADER, .end = o->head + sizeof(o->head)};
	put_u64(&w, at);
	if (c->checksum) {
		head.flags |= FWD_FLAG_BODY_CRC;
		head.body_crc = frame_crc(0, o->head + FWD_FRAME_HEADER, 8);
		head.body_crc = o->packed ? frame_crc(head.body_crc, o->packed, o->length)
					  : memory_crc(&r->memory, at, length, head.body_crc);
	}
	frame_encode(o->head, &head);
	return 0;
}

/* What of the frame was not sent yet. */
static int rest_of(const struct out *o, struct iovec *part)
{
	uint32_t head = o->data ? sizeof(o->head) : FWD_FRAME_HEADER, sent = o->sent;
	int n = 0;

	if (sent < head) {
		part[n++] = (struct iovec){(void *)(uintptr_t)(o->head + sent), head - sent};
		sent = head;
	}
	sent -= head;
	if (o->packed && sent < o->length)
		part[n++] = (struct iovec){o->packed + sent, o->length - sent};
	if (o->packed)
		return n;
	if (o->data)
		return n + memory_pieces(&o->request->memory, o->at + sent, o->length - sent,
					 part + n, SEND_PARTS - n);
	if (sent < o->request->head.body)
		part[n++] = (struct iovec){o->request->body + sent, o->request->head.body - sent};
	return n;
}

static uint32_t frame_bytes(const struct out *o)
{
	return o->data ? (uint32_t)sizeof(o->head) + o->length
		       : FWD_FRAME_HEADER + o->request->head.body;
}

void outs_flush(struct fathom_fwd *c)
{
	struct iovec part[SEND_PARTS];

	while (c->up && !c->broken && c->out_first) {
		struct out *o = c->out_first;
		ssize_t n = c->link.transport->send(&c->link, part, rest_of(o, part));

		if (n == -EAGAIN)
			return;
		if (n < 0) {
			c->broken = true;
			return;
		}
		o->request->begun = true;
		o->sent += (uint32_t)n;
		if (o->sent < frame_bytes(o))
			continue;
		c->out_first = o->next;
		if (!o->next)
			c->out_last = NULL;
		c->outs--;
		free_out(o);
	}
}

bool outs_has(const struct fathom_fwd *c, const struct fathom_fwd_request *r)
{
	const struct out *o = c->out_first;

	while (o && o->request != r)
		o = o->next;
	return o;
}
