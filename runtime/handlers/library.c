/* The copies of a library in this process, each filled once. */
#include "handlers/library.h"

#include "edges/edges.h"

enum { READY = 1, REFUSED }; /* of a copy; 0 while it is being filled */

void *library_copy(void *entries, size_t size, uint32_t wrapper,
		   bool (*fill)(void *entry, uint32_t wrapper, int api), int api)
{
	const uint64_t key = edge_library(wrapper);

	for (int i = 0; i < LIBRARY_COPIES; i++) {
		struct library_copy *copy =
			(struct library_copy *)((char *)entries + (size_t)i * size);
		uint64_t there = atomic_load_explicit(&copy->key, memory_order_acquire);

		if (there == key)
			return atomic_load_explicit(&copy->state, memory_order_acquire) == READY
				       ? copy
				       : NULL;
		if (there || !atomic_compare_exchange_strong(&copy->key, &there, key)) {
			if (there == key)
				return NULL; /* another thread is about to fill it */
			continue;
		}
		const bool known = fill(copy, wrapper, api);
		atomic_store_explicit(&copy->state, known ? READY : REFUSED, memory_order_release);
		return known ? copy : NULL;
	}
	return NULL;
}
