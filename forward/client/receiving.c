/* Frames that come: answers, pulls, and data on its way into the user's memory. */
#include "engine.h"
#include "compress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FEW = 1024,       /* bytes that are received where more may be data for the user's memory */
	MOST_OUTS = 4096, /* pulls that wait for their data: more is no server of ours */
};

static const char *take_reply(struct fathom_fwd *c, struct fathom_fwd_request *r,
			      const struct frame *head, const uint8_t *body)
{
	if (outs_has(
		    c,
		    r)) /* and its memory is about to be the user's again: only a new connection ends this */
		return "an answer to a request that is still being sent";
	if (r->abandoned) {
		request_unlink(c, r);
		request_free(r);
		return NULL;
	}
	if (head->status == FWD_STATUS_DRAINING)
		return NULL; /* the server ends, and has not done it: the next one is asked */
	if (head->status == ESTALE && request_add_paths(r)) {
		r->begun = true; /* it keeps its number */
		outs_add_request(c, r);
		return NULL;
	}
	r->reply = malloc(head->body ? head->body : 1);
	if (!r->reply)
		r->lost = ENOMEM;
	else
		memcpy(r->reply, body, head->body);
	r->reply_head = *head;
	r->answered = true;
	return NULL;
}

static const char *take_pull(struct fathom_fwd *c, struct fathom_fwd_request *r,
			     const struct frame *head, const uint8_t *body)
{
	struct reader in = {.at = body, .end = body + head->body};
	uint64_t at = get_u64(&in);
	uint32_t length = get_u32(&in);

	if (in.bad || in.at != in.end || !(r->head.flags & FWD_FLAG_PULL))
		return "a pull that is none";
	if (r->abandoned) /* its memory is the user's again: only a new connection ends this */
		return "a pull of a request whose deadline has passed";
	if (!length || length > FWD_LIMIT_PIECE || at > r->memory.bytes ||
	    length > r->memory.bytes - at || c->outs >= MOST_OUTS)
		return "a pull of data that was not announced";
	if (outs_add_data(c, r, at, length))
		c->broken = true;
	return NULL;
}

static const char *take_compressed(struct fathom_fwd *c, struct fathom_fwd_request *r,
				   struct reader in, uint64_t at)
{
	int64_t n;

	if (!c->server.compresses)
		return "compressed data that was not agreed on";
	if (r->abandoned)
		return NULL;
	if (at != r->received)
		return "data of a read at another place than where it goes on";
	n = expand_memory(&r->memory, at, r->memory.bytes - at, in.at, (size_t)(in.end - in.at));
	if (n < 0)
		return "compressed data that is not what it says";
	r->received += (uint64_t)n;
	return NULL;
}

/* The frame's data as far as it has come; the rest is received where it belongs. */
static const char *take_data(struct fathom_fwd *c, struct fathom_fwd_request *r,
			     const struct frame *head, const uint8_t *body, size_t have)
{
	struct reader in = {.at = body, .end = body + have};
	uint64_t at = get_u64(&in), present = (uint64_t)(in.end - in.at), length = head->body - 8;

	if (in.bad || r->head.op != FWD_OP_READ)
		return "data that nobody asked for";
	if (head->flags & FWD_FLAG_COMPRESSED)
		return take_compressed(c, r, in, at);
	if (!r->abandoned) {
		if (at != r->received || length > r->memory.bytes - at)
			return "data of a read at another place than where it goes on";
		memory_put(&r->memory, at, in.at, present);
		r->received += present;
	}
	c->landing = (struct landing){length > present ? r : NULL, length - present};
	return NULL;
}

static const char *take_frame(struct fathom_fwd *c, const struct frame *head, const uint8_t *body)
{
	const char *rule = frame_check_body(head, body);
	struct fathom_fwd_request *r = request_find(c, head->seq);

	if (rule)
		return rule;
	if (head->client != c->id)
		return "a frame of another client";
	if (!r)
		return NULL; /* the answer to one that was sent twice */
	if (r->head.op != head->op)
		return "an answer of another operation";
	switch (head->kind) {
	case FWD_KIND_REPLY:
		return take_reply(c, r, head, body);
	case FWD_KIND_PULL:
		return take_pull(c, r, head, body);
	case FWD_KIND_DATA:
		return take_data(c, r, head, body, head->body);
	default:
		return "a request from the server";
	}
}

/* Data without a checksum, as it is, need not be there as a whole: the request whose memory it goes into at once; or NULL. */
static struct fathom_fwd_request *can_land(struct fathom_fwd *c, const struct frame *head,
					   size_t have)
{
	struct fathom_fwd_request *r = NULL;

	if (head->kind == FWD_KIND_DATA &&
	    !(head->flags & (FWD_FLAG_BODY_CRC | FWD_FLAG_COMPRESSED)) && have >= 8 &&
	    head->client == c->id)
		r = request_find(c, head->seq);
	return r && r->head.op == head->op ? r : NULL;
}

/* Takes the whole frames that are there; how many bytes the next one needs. */
static size_t take_frames(struct fathom_fwd *c)
{
	size_t at = 0, need = FWD_FRAME_HEADER;

	while (c->in_have - at >= FWD_FRAME_HEADER) {
		struct frame head;

		c->broken_rule = frame_decode(&head, c->in + at);
		if (c->broken_rule)
			break;
		need = FWD_FRAME_HEADER + head.body;
		if (c->in_have - at < need) {
			size_t have = c->in_have - at - FWD_FRAME_HEADER;

			struct fathom_fwd_request *r = can_land(c, &head, have);

			if (!r)
				break;
			c->broken_rule =
				take_data(c, r, &head, c->in + at + FWD_FRAME_HEADER, have);
			at = c->in_have;
			need = FWD_FRAME_HEADER;
			break;
		}
		c->broken_rule = take_frame(c, &head, c->in + at + FWD_FRAME_HEADER);
		if (c->broken_rule)
			break;
		at += need;
		need = FWD_FRAME_HEADER;
	}
	c->broken |= c->broken_rule != NULL;
	c->in_have -= at;
	if (at)
		memmove(c->in, c->in + at, c->in_have);
	return need;
}

/* Whether n bytes came; no answer of the transport but -EAGAIN leaves the connection as it is. */
static bool took(struct fathom_fwd *c, ssize_t n)
{
	c->broken |= n <= 0 && n != -EAGAIN;
	return n > 0;
}

/* Bytes that were received behind those in `in`. */
static void take_bytes(struct fathom_fwd *c, size_t n)
{
	size_t need;

	c->in_have += n;
	c->in_need = need = take_frames(c);
	if (need > c->in_room) {
		uint8_t *larger = realloc(c->in, FWD_FRAME_HEADER + FWD_LIMIT_BODY);

		if (!larger) {
			c->broken = true;
			return;
		}
		c->in = larger;
		c->in_room = FWD_FRAME_HEADER + FWD_LIMIT_BODY;
	}
}

/* A part of the data under way, into the user's memory; what nobody waits for any more goes nowhere. */
static bool land(struct fathom_fwd *c)
{
	struct fathom_fwd_request *r = c->landing.request;
	struct iovec place = {c->in, c->in_room};
	ssize_t n;

	if (!r->abandoned)
		memory_pieces(&r->memory, r->received, c->landing.left, &place, 1);
	if (place.iov_len > c->landing.left)
		place.iov_len = c->landing.left;
	n = c->link.transport->receive(&c->link, place.iov_base, place.iov_len);
	if (!took(c, n))
		return false;
	r->received += r->abandoned ? 0 : (uint64_t)n;
	c->landing.left -= (uint64_t)n;
	if (!c->landing.left)
		c->landing.request = NULL;
	return true;
}

/* How much is received at once. */
static size_t in_room(const struct fathom_fwd *c)
{
	size_t room = c->in_room - c->in_have;

	if (c->in_need > c->in_have + FEW)
		return c->in_need - c->in_have;
	for (const struct fathom_fwd_request *r = c->first; r && room > FEW; r = r->next)
		if (request_is_open(r) && r->head.op == FWD_OP_READ &&
		    r->memory.bytes > c->server.piece)
			return FEW;
	return room;
}

void engine_receive(struct fathom_fwd *c)
{
	while (!c->broken) {
		size_t room = in_room(c);
		ssize_t n;

		if (c->landing.request) {
			if (!land(c))
				return;
			continue;
		}
		n = c->link.transport->receive(&c->link, c->in + c->in_have, room);
		if (!took(c, n))
			return;
		take_bytes(c, (size_t)n);
		if ((size_t)n < room)
			return; /* that was all */
	}
}
