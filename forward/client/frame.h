/* The header of a frame, byte by byte as docs/forwarding-protocol.md has it. */
#ifndef FWD_FRAME_H
#define FWD_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "forward_protocol.h"

struct frame {
	uint8_t kind;
	uint16_t op;
	uint32_t flags;
	uint32_t body; /* bytes that follow */
	uint64_t client;
	uint64_t seq;
	uint32_t deadline; /* ms */
	uint32_t status;
	uint64_t call_stream;
	uint64_t call_seq;
	uint32_t body_crc;
};

void frame_encode(uint8_t out[FWD_FRAME_HEADER], const struct frame *frame);
/* NULL, or which rule of the protocol the header breaks. */
const char *frame_decode(struct frame *frame, const uint8_t in[FWD_FRAME_HEADER]);
/* NULL, or that the body is not what was sent. */
const char *frame_check_body(const struct frame *frame, const uint8_t *body);
/* A reply's status as an errno. */
int frame_errno(uint32_t status);
uint32_t frame_crc(uint32_t crc, const void *data, size_t bytes);

#endif
