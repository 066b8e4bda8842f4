/* Names of files in the stream of a process of which only sums of the whole job are asked: nothing refers to them, so what
 * is written in order has none. Whoever is killed leaves them in the ring, beside the calls that were open. */
#ifndef FATHOM_UNNAMED_H
#define FATHOM_UNNAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk;
struct thread;

enum { NAME_RANGES = 64 };

/* Stretches of a chunk's rows that are nothing but names, ascending. */
struct names {
	uint32_t ranges;
	struct {
		uint32_t begin, end;
	} range[NAME_RANGES];
};

void names_note(struct thread *t, size_t bytes); /* the last record of t, so long, is a name */
/* Takes them out of the thread's chunk, unless something may refer to them. Returns how many bytes went. */
size_t names_drop(struct thread *t);

#endif
