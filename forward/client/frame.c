/* Headers of frames to bytes and back. */
#include "frame.h"

#include <errno.h>

#include "bytes.h"
#include "core/crc.h"

enum {
	FLAGS = FWD_FLAG_BODY_CRC | FWD_FLAG_RETRY | FWD_FLAG_PULL | FWD_FLAG_MORE |
		FWD_FLAG_NONBLOCKING | FWD_FLAG_SYNC | FWD_FLAG_COMPRESSED,
	SUMMED = FWD_FRAME_HEADER - 4, /* bytes that header_crc covers */
};

uint32_t frame_crc(uint32_t crc, const void *data, size_t bytes)
{
	return crc32c(crc, data, bytes);
}

void frame_encode(uint8_t out[FWD_FRAME_HEADER], const struct frame *frame)
{
	struct writer w = {.at = out, .end = out + FWD_FRAME_HEADER};

	put_u32(&w, FWD_FRAME_MAGIC);
	put_u8(&w, FWD_FRAME_VERSION);
	put_u8(&w, frame->kind);
	put_u16(&w, frame->op);
	put_u32(&w, frame->flags);
	put_u32(&w, frame->body);
	put_u64(&w, frame->client);
	put_u64(&w, frame->seq);
	put_u32(&w, frame->deadline);
	put_u32(&w, frame->status);
	put_u64(&w, frame->call_stream);
	put_u64(&w, frame->call_seq);
	put_u32(&w, frame->body_crc);
	put_u32(&w, crc32c(0, out, SUMMED));
}

static const char *broken_rule(const struct frame *frame)
{
	if (frame->kind < FWD_KIND_REQUEST || frame->kind > FWD_KIND_DATA)
		return "a frame of an unknown kind";
	if (frame->flags & ~(uint32_t)FLAGS)
		return "a frame with an unknown flag";
	if (frame->body > FWD_LIMIT_BODY)
		return "a frame whose body is too long";
	if (frame->client == 0)
		return "a frame of no client";
	return NULL;
}

const char *frame_decode(struct frame *frame, const uint8_t in[FWD_FRAME_HEADER])
{
	struct reader r = {.at = in, .end = in + FWD_FRAME_HEADER};

	if (get_u32(&r) != FWD_FRAME_MAGIC)
		return "bytes that are no frame";
	if (get_u8(&r) != FWD_FRAME_VERSION)
		return "a frame of another version of the protocol";
	frame->kind = get_u8(&r);
	frame->op = get_u16(&r);
	frame->flags = get_u32(&r);
	frame->body = get_u32(&r);
	frame->client = get_u64(&r);
	frame->seq = get_u64(&r);
	frame->deadline = get_u32(&r);
	frame->status = get_u32(&r);
	frame->call_stream = get_u64(&r);
	frame->call_seq = get_u64(&r);
	frame->body_crc = get_u32(&r);
	if (get_u32(&r) != crc32c(0, in, SUMMED))
		return "a header whose checksum is wrong";
	return broken_rule(frame);
}

const char *frame_check_body(const struct frame *frame, const uint8_t *body)
{
	if (!(frame->flags & FWD_FLAG_BODY_CRC))
		return NULL;
	return frame->body_crc == crc32c(0, body, frame->body) ? NULL
							       : "a body whose checksum is wrong";
}

int frame_errno(uint32_t status)
{
	switch (status) {
	case FWD_STATUS_AUTH:
	case FWD_STATUS_REFUSED:
		return EACCES;
	case FWD_STATUS_VERSION:
		return EPROTONOSUPPORT;
	case FWD_STATUS_FORGOTTEN:
		return ETIMEDOUT;
	case FWD_STATUS_DRAINING:
		return ESHUTDOWN;
	default:
		return status < FWD_STATUS_AUTH ? (int)status : EPROTO;
	}
}
