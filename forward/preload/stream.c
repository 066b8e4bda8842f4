/* libc's streams on forwarded files: all that libc does with a FILE ends in these four functions. */
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skin.h"

static int number_of(void *cookie)
{
	return (int)(intptr_t)cookie;
}

static ssize_t stream_read(void *cookie, char *buf, size_t count)
{
	struct file *f = file_get(number_of(cookie));
	ssize_t done;

	if (!f)
		return next_read(number_of(cookie), buf, count);
	done = forward_read(f, buf, count);
	file_put(f);
	return done;
}

/* Of a stream an error is 0. */
static ssize_t stream_write(void *cookie, const char *buf, size_t count)
{
	struct file *f = file_get(number_of(cookie));
	size_t all = 0;
	ssize_t done;

	do {
		done = f ? forward_write(f, buf + all, count - all)
			 : next_write(number_of(cookie), buf + all, count - all);
		all += done > 0 ? (size_t)done : 0;
	} while (done > 0 && all < count);
	if (f)
		file_put(f);
	return (ssize_t)all;
}

static int stream_seek(void *cookie, off64_t *position, int whence)
{
	struct file *f = file_get(number_of(cookie));
	off_t now;

	if (!f) {
		now = next_lseek(number_of(cookie), *position, whence);
	} else {
		now = forward_lseek(f, *position, whence);
		file_put(f);
	}
	*position = now;
	return now < 0 ? -1 : 0;
}

static int stream_close(void *cookie)
{
	return forward_close(number_of(cookie));
}

/* A stream on a descriptor, which fileno then tells. */
static FILE *stream_on(int fd, const char *mode)
{
	static const cookie_io_functions_t functions = {stream_read, stream_write, stream_seek,
							stream_close};
	FILE *stream = fopencookie((void *)(intptr_t)fd, mode, functions);

	if (stream)
		stream->_fileno = fd;
	return stream;
}

/* O_* of a mode; -1: it is none. */
static int mode_flags(const char *mode)
{
	int flags;

	switch (*mode) {
	case 'r':
		flags = O_RDONLY;
		break;
	case 'w':
		flags = O_WRONLY | O_CREAT | O_TRUNC;
		break;
	case 'a':
		flags = O_WRONLY | O_CREAT | O_APPEND;
		break;
	default:
		return -1;
	}
	for (mode++; *mode && *mode != ','; mode++) {
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		else if (*mode == 'e')
			flags |= O_CLOEXEC;
		else if (*mode == 'x')
			flags |= O_EXCL;
	}
	return flags;
}

FILE *forward_fopen(const struct place *at, const char *mode)
{
	int flags = mode_flags(mode), fd, error;
	FILE *stream;

	if (flags == -1) {
		errno = EINVAL;
		return NULL;
	}
	fd = forward_open(at, flags, 0666);
	stream = fd < 0 ? NULL : stream_on(fd, mode);
	if (fd >= 0 && !stream) {
		error = errno;
		forward_close(fd);
		errno = error;
	}
	return stream;
}

FILE *forward_fdopen(int fd, const char *mode)
{
	int flags = mode_flags(mode);
	struct file *f = file_get(fd);

	if (flags == -1 || !f) {
		errno = f ? EINVAL : EBADF;
		if (f)
			file_put(f);
		return NULL;
	}
	if (flags & O_APPEND)
		f->shared->flags |= O_APPEND;
	file_put(f);
	return stream_on(fd, mode);
}

int forward_dprintf(struct file *f, const char *format, va_list list)
{
	char *text;
	int length = vasprintf(&text, format, list);
	ssize_t done;

	if (length < 0)
		return -1;
	done = forward_write(f, text, (size_t)length);
	free(text);
	return (int)done;
}

/* What waits in the old stream's buffer goes on in the new one's. */
static void take_over(FILE *from, FILE *to)
{
	size_t pending = from ? __fpending(from) : 0;

	if (!pending)
		return;
	fwrite(from->_IO_write_base, 1, pending, to);
	__fpurge(from);
}

/* libc's own would give the kernel the placeholder, which takes nothing. The new stream asks at each transfer what the
 * descriptor stands for, so it stays. */
void streams_follow(int fd)
{
	static FILE *replacement[3];
	FILE **const standard[] = {&stdin, &stdout, &stderr};

	if (fd < 0 || fd > 2 || replacement[fd] || !file_has(fd))
		return;
	replacement[fd] = stream_on(fd, fd ? "w" : "r");
	if (!replacement[fd])
		return;
	if (fd)
		take_over(*standard[fd], replacement[fd]);
	if (fd == 2)
		setvbuf(replacement[fd], NULL, _IONBF, 0);
	*standard[fd] = replacement[fd];
}
