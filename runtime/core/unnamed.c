/* unnamed.h */
#include <string.h>

#include "core/chunk.h"
#include "core/levels.h"
#include "core/row.h"
#include "core/thread.h"
#include "core/unnamed.h"

void names_note(struct thread *t, size_t bytes)
{
	struct names *n = &t->names;
	const uint32_t end = (uint32_t)(t->put - t->chunk->rows);
	const uint32_t begin = end - (uint32_t)bytes;

	if (n->ranges && n->range[n->ranges - 1].end == begin) {
		n->range[n->ranges - 1].end = end;
	} else if (n->ranges < NAME_RANGES) {
		n->range[n->ranges].begin = begin;
		n->range[n->ranges++].end = end;
	}
}

/* Who kills us in the middle of it finds the rows before the first name. */
size_t names_drop(struct thread *t)
{
	struct names *n = &t->names;
	uint8_t *rows = t->chunk->rows, *end = t->put;

	if (!n->ranges || t->depth || levels_want_names())
		return 0;
	t->put = rows + n->range[0].begin;
	commit(t);
	barrier();
	for (uint32_t i = 0; i < n->ranges; i++) {
		const uint8_t *from = rows + n->range[i].end;
		const uint8_t *to = i + 1 < n->ranges ? rows + n->range[i + 1].begin : end;

		memmove(t->put, from, (size_t)(to - from));
		t->put += to - from;
	}
	n->ranges = 0;
	commit(t);
	return (size_t)(end - t->put);
}
