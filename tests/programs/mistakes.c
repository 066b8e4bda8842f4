/* Accesses as they should not be made, each with the same work done well.
 *
 *	mistakes WHAT FILE
 *
 * The tests of findings run both under a slow store (tools/slow_store.c) and ask what Fathom concludes of them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

enum { KIB = 1 << 10, MIB = 1 << 20, PIECE = 256 * KIB };

static char data[MIB];

static int make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0);
	return fd;
}

/* Bytes to the end of the file, in pieces of one size. */
static void append(int fd, long bytes, long piece)
{
	for (long done = 0; done < bytes; done += piece)
		MUST(write(fd, data, (size_t)piece) == piece);
}

static void in_pieces(const char *path, long piece)
{
	int fd = make(path);

	append(fd, 4 * PIECE, PIECE); /* what a large write costs is to be learnt */
	append(fd, MIB, piece);
	MUST(close(fd) == 0);
}

static void small(const char *path)
{
	in_pieces(path, KIB);
}

static void large(const char *path)
{
	in_pieces(path, PIECE);
}

/* No other access says what a larger one would cost. */
static void small_only(const char *path)
{
	int fd = make(path);

	append(fd, MIB, KIB);
	MUST(close(fd) == 0);
}

static void reopen(const char *path)
{
	MUST(close(make(path)) == 0);
	for (int i = 0; i < 200; i++) {
		int fd = open(path, O_WRONLY | O_APPEND);

		MUST(fd >= 0);
		append(fd, PIECE / 4, PIECE / 4);
		MUST(close(fd) == 0);
	}
}

static void open_once(const char *path)
{
	int fd = make(path);

	append(fd, 200 * PIECE / 4, PIECE / 4);
	MUST(close(fd) == 0);
}

static const struct {
	const char *name;
	void (*make)(const char *path);
} works[] = {
	{"small", small},   {"large", large},         {"small-only", small_only},
	{"reopen", reopen}, {"open-once", open_once},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(works) / sizeof(*works); i++) {
		if (strcmp(works[i].name, argv[1]) == 0) {
			works[i].make(argv[2]);
			return 0;
		}
	}
	fprintf(stderr, "usage: mistakes WHAT FILE\n");
	return 2;
}
