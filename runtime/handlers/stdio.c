/* Streams of libc: their descriptors, and where the program stands in the file. */
#include "handlers/stdio.h"

#include <fcntl.h>

#include "handlers/posix.h"

int64_t stdio_flags(const char *mode)
{
	static const struct {
		char letter;
		int flags;
	} letters[] = {{'w', O_WRONLY | O_CREAT | O_TRUNC},
		       {'a', O_WRONLY | O_CREAT | O_APPEND},
		       {'e', O_CLOEXEC},
		       {'x', O_EXCL}};
	int flags = 0;

	if (!posix_readable(mode))
		return 0;
	for (; *mode && *mode != ','; mode++) {
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
			if (*mode == letters[i].letter)
				flags |= letters[i].flags;
	}
	return flags;
}

void stdio_opened(struct call *c, const FILE *stream, const char *path, const char *mode)
{
	posix_opened(c, stdio_descriptor(stream), AT_FDCWD, path, (int)stdio_flags(mode));
}

/* libc sets O_APPEND itself where the descriptor had it not. */
void stdio_adopted(int fd, const FILE *stream, const char *mode)
{
	if (stream && stdio_flags(mode) & O_APPEND)
		descriptor_flags(fd, O_APPEND);
}

void stdio_command(struct call *c, const FILE *stream, const char *command, const char *mode)
{
	const int direction = mode && *mode == 'r' ? O_RDONLY : O_WRONLY;

	posix_opened(c, stdio_descriptor(stream), AT_FDCWD, NULL,
		     direction | ((int)stdio_flags(mode) & O_CLOEXEC));
	if (c->thread)
		posix_text(c, "command", command);
}

void stdio_closing(struct call *c, const FILE *stream)
{
	c->scratch[0] = (uint64_t)stdio_buffer(stream);
	descriptor_close(stdio_descriptor(stream));
}

/* ---- where the program stands ---- */

/* How far that is from the kernel's position, by the buffer. The kernel is where the buffer's read part ends. */
static int64_t ahead_of_kernel(const FILE *s)
{
	if (s->_mode > 0)
		return UNKNOWN_OFFSET; /* wide characters */
	if (s->_flags & STDIO_BACKED_UP)
		return s->_IO_read_ptr - s->_IO_read_end - (s->_IO_save_end - s->_IO_save_base);
	return (s->_flags & STDIO_WRITES ? s->_IO_write_ptr : s->_IO_read_ptr) - s->_IO_read_end;
}

int64_t stdio_position(const FILE *stream)
{
	const int fd = stdio_descriptor(stream);
	const int64_t ahead = fd < 0 ? UNKNOWN_OFFSET : ahead_of_kernel(stream);

	return ahead == UNKNOWN_OFFSET ? UNKNOWN_OFFSET : stream_position(fd, ahead);
}

int64_t stdio_advance(const FILE *stream, int64_t from, int64_t moved)
{
	int64_t ahead, to = UNKNOWN_OFFSET;

	if (from == UNKNOWN_OFFSET)
		return from;
	ahead = ahead_of_kernel(stream);
	if (ahead != UNKNOWN_OFFSET && moved != UNKNOWN_OFFSET)
		to = from + moved;
	else if (ahead != UNKNOWN_OFFSET && stream->_offset >= 0)
		to = stream->_offset + ahead; /* libc followed the kernel itself, since a seek */
	return stream_advance(stdio_descriptor(stream), from, to, ahead);
}

/* A line ends with its newline, or where the room does: then its length is what was read. Else the file ended, or
 * the line holds a NUL, and what lies behind that is not seen. */
int64_t stdio_line_moves(const FILE *stream, const char *line, int room, int64_t length)
{
	if (!line)
		return stdio_at_end(stream) ? 0 : UNKNOWN_OFFSET;
	return length > 0 && (line[length - 1] == '\n' || length == room - 1) ? length
									      : UNKNOWN_OFFSET;
}

/* After a seek libc knows the kernel's position itself. */
void stdio_sought(const FILE *stream, int result)
{
	const int fd = stdio_descriptor(stream);
	int64_t ahead;

	if (fd < 0 || result)
		return;
	ahead = ahead_of_kernel(stream);
	if (ahead == UNKNOWN_OFFSET || stream->_offset < 0)
		stream_seek(fd, UNKNOWN_OFFSET, 0);
	else
		stream_seek(fd, stream->_offset + ahead, ahead);
}

void stdio_learn_position(const FILE *stream, int64_t position)
{
	const int fd = stdio_descriptor(stream);
	const int64_t ahead = fd < 0 ? UNKNOWN_OFFSET : ahead_of_kernel(stream);

	if (position >= 0 && ahead != UNKNOWN_OFFSET)
		stream_seek(fd, position, ahead);
}
