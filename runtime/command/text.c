/* Strings that grow, JSON text, files that appear whole or not at all. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fail(int status, const char *format, ...)
{
	va_list list;

	fputs("fathom: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(status);
}

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

static void write_all(int fd, const char *path, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		ssize_t done = write(fd, from, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			int reason = errno;

			unlink(path);
			fail(EXIT_FATHOM, "cannot write %s: %s", path, strerror(reason));
		}
		from += done;
		size -= (size_t)done;
	}
	if (close(fd))
		fail(EXIT_FATHOM, "cannot write %s: %s", path, strerror(errno));
}

bool publish(const char *path, const void *bytes, size_t size)
{
	char host[256] = "";
	char *temporary;
	int fd, reason;

	if (access(path, F_OK) == 0)
		return false;
	gethostname(host, sizeof(host) - 1);
	temporary = format_text("%s.%s.%d", path, host, (int)getpid());
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		fail(EXIT_FATHOM, "cannot make %s: %s", path, strerror(errno));
	write_all(fd, temporary, bytes, size);
	reason = link(temporary, path) ? errno : 0;
	/* File systems without hard links: rename keeps "whole", and equal content loses nothing. */
	if (reason && reason != EEXIST) {
		if (rename(temporary, path))
			fail(EXIT_FATHOM, "cannot make %s: %s", path, strerror(errno));
		return true;
	}
	unlink(temporary);
	return reason == 0;
}
