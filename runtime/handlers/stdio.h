/* What the rows of catalog/probes/stdio.toml ask for. Of a FILE only what the public headers of libc declare is read:
 * its descriptor, its flags, its buffer. */
#ifndef FATHOM_HANDLERS_STDIO_H
#define FATHOM_HANDLERS_STDIO_H

#include <stdio.h>
#include <string.h>

#include "core/call.h"

/* Bits of FILE._flags: libio.h, which is no longer installed. */
enum {
	STDIO_AT_END = 0x10,
	STDIO_FAILED = 0x20,
	STDIO_BACKED_UP = 0x100, /* what was put back lies apart from the buffer */
	STDIO_WRITES = 0x800,
	STDIO_HAS_FILE = 0x2000,
};

/* -1: none, a stream on memory. */
static inline int stdio_descriptor(const FILE *stream)
{
	return stream && stream->_flags & STDIO_HAS_FILE ? stream->_fileno : -1;
}

/* Streams on memory are left out. */
static inline uint32_t stdio_object(const FILE *stream)
{
	int fd = stdio_descriptor(stream);

	return fd >= 0 ? descriptor_object(fd) : stream ? OBJECT_NEVER : 0;
}

static inline bool stdio_at_end(const FILE *stream)
{
	return stream->_flags & STDIO_AT_END;
}

static inline bool stdio_failed(const FILE *stream)
{
	return stream->_flags & STDIO_FAILED;
}

/* Bytes of a word that getw gave: EOF is one too. */
static inline int64_t stdio_word(const FILE *stream, int word)
{
	const bool none = word == EOF && (stdio_at_end(stream) || stdio_failed(stream));

	return none ? 0 : sizeof(word);
}

static inline int64_t stdio_length(const char *text)
{
	return text ? (int64_t)strlen(text) : 0;
}

/* Bytes of the buffer; 0: it has none yet. */
static inline int64_t stdio_buffer(const FILE *stream)
{
	return stream ? stream->_IO_buf_end - stream->_IO_buf_base : 0;
}

int64_t stdio_flags(const char *mode); /* as open's */
void stdio_opened(struct call *c, const FILE *stream, const char *path, const char *mode);
void stdio_adopted(int fd, const FILE *stream, const char *mode);
void stdio_command(struct call *c, const FILE *stream, const char *command, const char *mode);
/* Keeps the buffer's size for stdio_buffer_before: after the call there is none. */
void stdio_closing(struct call *c, const FILE *stream);

static inline int64_t stdio_buffer_before(const struct call *c)
{
	return (int64_t)c->scratch[0];
}

/* Where the program stands; after the call it has gone on by `moved`, UNKNOWN_OFFSET: nobody knows. */
int64_t stdio_position(const FILE *stream);
int64_t stdio_advance(const FILE *stream, int64_t from, int64_t moved);
int64_t stdio_line_moves(const FILE *stream, const char *line, int room, int64_t length);
void stdio_sought(const FILE *stream, int result);
void stdio_learn_position(const FILE *stream, int64_t position);

#endif
