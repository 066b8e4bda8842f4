/* A growing array in pages of its own: the runtime never calls the program's malloc. */
#ifndef FATHOM_VECTOR_H
#define FATHOM_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "core/raw.h"

struct vector {
	char *data;
	size_t count, capacity; /* in items; the bytes are a multiple of 4096 */
};

static inline void *pages_get(size_t bytes)
{
	long p = raw6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static inline void *vector_at(const struct vector *v, size_t item, size_t i)
{
	return v->data + i * item;
}

/* Returns a new zeroed last item, NULL when memory is out. */
static inline void *vector_add(struct vector *v, size_t item)
{
	size_t bytes = (v->capacity * item + 4095) & ~4095ul;
	char *fresh, *to;

	if (v->count == v->capacity) {
		size_t grown = bytes ? 2 * bytes : 4096;

		fresh = pages_get(grown);
		if (!fresh)
			return NULL;
		if (v->data) {
			__builtin_memcpy(fresh, v->data, v->count * item);
			raw3(SYS_munmap, (long)v->data, (long)bytes, 0);
		}
		v->data = fresh;
		v->capacity = grown / item;
	}
	to = v->data + v->count++ * item;
	__builtin_memset(to, 0, item);
	return to;
}

#endif
