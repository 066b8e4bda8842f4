/* Programs of mistakes: a work by its name, on a file.
 *
 *	PROGRAM WHAT FILE
 *
 * Each makes accesses as they should not be made, or the same work done well. The tests of findings run both under
 * a slow store (tools/slow_store.c) and ask what Fathom concludes of them. */
#ifndef MISTAKES_H
#define MISTAKES_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

enum { KIB = 1 << 10, MIB = 1 << 20, PIECE = 256 * KIB };

static _Alignas(4 * KIB) char data[MIB];

static inline int make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0);
	return fd;
}

/* Bytes to the end of the file, in pieces of one size. */
static inline void append(int fd, long bytes, long piece)
{
	for (long done = 0; done < bytes; done += piece)
		MUST(write(fd, data, (size_t)piece) == piece);
}

struct work {
	const char *name;
	void (*make)(const char *path);
};

/* The program's exit status. */
static inline int work(const struct work *works, size_t count, int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < count; i++) {
		if (strcmp(works[i].name, argv[1]) == 0) {
			works[i].make(argv[2]);
			return 0;
		}
	}
	fprintf(stderr, "usage: %s WHAT FILE\n", argv[0]);
	return 2;
}

#endif
