/* A server that was started anew does not know the files of a request. The request is repeated with their paths, under its
 * number: so what was done before is not done again. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

enum {
	HANDLE_BYTES = sizeof(struct fathom_fwd_handle),
	HINT_HEAD = 4,                        /* key and length */
	PART = FWD_LIMIT_HINT - HANDLE_BYTES, /* bytes of a path in one hint */
};

static uint32_t parts_of(const char *path)
{
	size_t length = strlen(path);

	return length ? (uint32_t)((length + PART - 1) / PART) : 1;
}

static void put_path_hints(struct writer *w, const struct fathom_fwd_path *at)
{
	size_t left = strlen(at->path);
	const char *part = at->path;

	for (uint32_t i = parts_of(at->path); i > 0; i--) {
		size_t length = left < PART ? left : PART;

		put_u16(w, FWD_HINT_FOUND_AT);
		put_u16(w, (uint16_t)(HANDLE_BYTES + length));
		put_bytes(w, at->handle, HANDLE_BYTES);
		put_bytes(w, part, length);
		part += length;
		left -= length;
	}
}

bool request_add_paths(struct fathom_fwd_request *r)
{
	struct reader before = {.at = r->body + r->hints_at, .end = r->body + r->head.body};
	uint32_t hints = get_u16(&before), more = 0;
	size_t behind = (size_t)(before.end - before.at), bytes;
	struct writer w;
	uint8_t *body;

	bytes = r->head.body;
	for (uint32_t i = 0; i < r->paths; i++) {
		uint32_t parts = parts_of(r->path[i].path);

		more += parts;
		bytes += parts * (HINT_HEAD + HANDLE_BYTES) + strlen(r->path[i].path);
	}
	if (!more || before.bad || r->has_paths || hints + more > FWD_LIMIT_HINTS ||
	    bytes > FWD_LIMIT_BODY)
		return false;
	body = malloc(bytes);
	if (!body)
		return false;
	w = (struct writer){.at = body, .end = body + bytes};
	put_bytes(&w, r->body, r->hints_at);
	put_u16(&w, (uint16_t)(hints + more));
	for (uint32_t i = 0; i < r->paths; i++)
		put_path_hints(&w, &r->path[i]);
	put_bytes(&w, before.at, behind);
	free(r->body);
	r->body = body;
	r->head.body = (uint32_t)bytes;
	if (r->head.flags & FWD_FLAG_BODY_CRC)
		r->head.body_crc = frame_crc(0, r->body, r->head.body);
	r->received = 0;
	return r->has_paths = true;
}
