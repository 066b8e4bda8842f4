/* Strings that grow, lines for people, JSON text, files that appear whole or not at all. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

char *format_text(const char *format, ...)
{
	va_list list;
	char *out;

	va_start(list, format);
	if (vasprintf(&out, format, list) < 0)
		fail(EXIT_FATHOM, "out of memory");
	va_end(list);
	return out;
}

static void text_bytes(struct text *text, const char *bytes, size_t size)
{
	if (text->used + size + 1 > text->room) {
		text->room = 2 * text->room + size + 256;
		text->at = realloc(text->at, text->room);
		if (!text->at)
			fail(EXIT_FATHOM, "out of memory");
	}
	memcpy(text->at + text->used, bytes, size);
	text->used += size;
	text->at[text->used] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
	va_list list;
	char *piece;
	int size;

	va_start(list, format);
	size = vasprintf(&piece, format, list);
	va_end(list);
	if (size < 0)
		fail(EXIT_FATHOM, "out of memory");
	text_bytes(text, piece, (size_t)size);
	free(piece);
}

/* Length of the valid UTF-8 sequence at s, or 0. */
static size_t utf8_length(const unsigned char *s)
{
	size_t length = *s < 0x80   ? 1
			: *s < 0xc2 ? 0
			: *s < 0xe0 ? 2
			: *s < 0xf0 ? 3
			: *s < 0xf5 ? 4
				    : 0;

	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || /* overlong, surrogates */
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

/* Letters of three bytes that turn the direction of a line, or end it; those of C1 act in a terminal, as do bytes below a
 * blank. */
static bool is_order(const unsigned char *s, size_t length)
{
	if (length == 1)
		return *s < 0x20 || *s == 0x7f;
	if (length == 2)
		return *s == 0xc2 && s[1] < 0xa0;
	return length == 3 && *s == 0xe2 &&
	       ((s[1] == 0x80 &&
		 (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
		(s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

/* One line on stderr. Names that others chose send the terminal no orders. */
static void say_line(const char *format, va_list list)
{
	struct text line = {0};
	char *words;

	if (vasprintf(&words, format, list) < 0)
		return;
	for (const unsigned char *s = (const unsigned char *)words; *s;) {
		const size_t length = utf8_length(s);
		const size_t size = length ? length : 1;

		if (length && !is_order(s, length))
			text_bytes(&line, (const char *)s, length);
		else
			for (size_t i = 0; i < size; i++)
				text_add(&line, "\\x%02x", s[i]);
		s += size;
	}
	fprintf(stderr, "fathom: %s\n", line.at ? line.at : "");
	free(line.at);
	free(words);
}

void warn(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say_line(format, list);
	va_end(list);
}

void fail(int status, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say_line(format, list);
	va_end(list);
	exit(status);
}

void json_string(struct text *out, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	text_bytes(out, "\"", 1);
	while (*s) {
		size_t length = utf8_length(s);

		if (*s == '"' || *s == '\\')
			text_add(out, "\\%c", *s);
		else if (*s < 0x20)
			text_add(out, "\\u%04x", *s);
		else if (length)
			text_bytes(out, (const char *)s, length);
		else
			text_add(out, "\\ufffd");
		s += length ? length : 1;
	}
	text_bytes(out, "\"", 1);
}

void json_list(struct text *out, const char *items, char separator)
{
	const char *end;

	text_add(out, "[");
	for (const char *at = items; at && *at; at = *end ? end + 1 : end) {
		char *item;

		end = strchrnul(at, separator);
		item = format_text("%.*s", (int)(end - at), at);
		if (at != items)
			text_add(out, ", ");
		json_string(out, item);
	}
	text_add(out, "]");
}

char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	struct text text = {0};
	char block[4096];
	size_t got;
	bool bad;

	if (!file)
		return NULL;
	text_bytes(&text, "", 0);
	while ((got = fread(block, 1, sizeof(block), file)) > 0)
		text_bytes(&text, block, got);
	bad = ferror(file);
	fclose(file);
	*size = text.used;
	return bad ? NULL : text.at;
}

bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool good;

	if (!file)
		return false;
	good = fgets(line, (int)size, file) != NULL;
	fclose(file);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	return good;
}

uint64_t random_number(void)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = now_ns() ^ (uint64_t)getpid() << 48;
	return number;
}

/* Closing says what a file system of another machine could not write. */
static bool write_all(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		ssize_t done = write(fd, from, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		from += done;
		size -= (size_t)done;
	}
	return close(dup(fd)) == 0;
}

/* A new file beside `path`: its name is no other process's, on any node. It is locked, so that no reader takes it for one
 * that was left behind. */
static int open_beside(const char *path, char **name)
{
	struct stat st;
	int fd;

	for (;;) {
		*name = format_text("%s.%" PRIu64 ".tmp", path, random_number());
		fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0)
			return -1;
		flock(fd, LOCK_EX | LOCK_NB);
		if (fstat(fd, &st) || st.st_nlink)
			return fd;
		close(fd); /* a reader was quicker */
	}
}

/* Moves a file to a name that must be free; 0 or why not. */
static int move_to_free(const char *from, const char *to)
{
	int reason = link(from, to) ? errno : 0;

	if (!reason || reason == EEXIST)
		return reason;
	/* No hard links here. */
	reason = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */)
			 ? errno
			 : 0;
	if (reason == EINVAL || reason == ENOSYS)
		reason = rename(from, to) ? errno : 0; /* of two at once the last one stays */
	return reason;
}

bool publish(const char *path, const void *bytes, size_t size)
{
	char *temporary;
	int fd, reason;

	if (access(path, F_OK) == 0)
		return false;
	fd = open_beside(path, &temporary);
	if (fd < 0)
		fail(EXIT_FATHOM, "cannot make %s: %s", path, strerror(errno));
	reason = write_all(fd, bytes, size) ? move_to_free(temporary, path) : errno;
	unlink(temporary);
	close(fd);
	if (reason && reason != EEXIST)
		fail(EXIT_FATHOM, "cannot make %s: %s", path, strerror(reason));
	return reason == 0;
}

bool replace_file(const char *path, const char *text)
{
	char *temporary;
	const int fd = open_beside(path, &temporary);
	const bool good =
		fd >= 0 && write_all(fd, text, strlen(text)) && rename(temporary, path) == 0;
	const int reason = errno;

	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !good)
		unlink(temporary);
	errno = reason;
	return good;
}

int lock_file(const char *path)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	struct stat held, named;
	int fd = -1;

	for (int tries = 0; tries < 200; tries++) { /* who has it for longer means harm */
		if (fd < 0)
			fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			if (errno != EWOULDBLOCK)
				return fd; /* no locks here */
			nanosleep(&pause, NULL);
			continue;
		}
		if (fstat(fd, &held) || stat(path, &named) ||
		    (held.st_dev == named.st_dev && held.st_ino == named.st_ino))
			return fd;
		close(fd); /* it was replaced meanwhile */
		fd = -1;
	}
	return fd;
}
