/* What an MPI says of how a datatype was made, and the memory to keep it in. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "handlers/mpiio_tree.h"

enum {
	ARENA_BYTES = 64 << 10,  /* of the common, static arena */
	ARENA_LIMIT = 256 << 20, /* of numbers that one datatype may need */
};

static _Alignas(16) uint8_t common_arena[ARENA_BYTES];
static atomic_flag common_busy = ATOMIC_FLAG_INIT;

void arena_begin(struct arena *arena)
{
	*arena = (struct arena){.common = !atomic_flag_test_and_set(&common_busy)};
	if (arena->common) {
		arena->put = common_arena;
		arena->end = common_arena + ARENA_BYTES;
	}
}

void arena_end(struct arena *arena)
{
	for (struct mapped *m = arena->mapped, *next; m; m = next) {
		next = m->next;
		munmap(m, m->bytes);
	}
	if (arena->common)
		atomic_flag_clear(&common_busy);
}

static bool arena_grow(struct arena *arena, size_t bytes)
{
	size_t want = bytes + sizeof(struct mapped) + 16;

	want = want < (1 << 20) ? 1 << 20 : (want + 4095) & ~(size_t)4095;
	arena->total += want;
	if (arena->total > ARENA_LIMIT)
		return false;

	struct mapped *m = mmap(NULL, want, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED)
		return false;
	*m = (struct mapped){.next = arena->mapped, .bytes = want};
	arena->mapped = m;
	arena->put = (uint8_t *)m + ((sizeof(*m) + 15) & ~(size_t)15);
	arena->end = (uint8_t *)m + want;
	return true;
}

void *arena_get(struct arena *arena, uint64_t n, size_t each)
{
	if (n > ARENA_LIMIT / each)
		return NULL;

	const size_t bytes = (n * each + 15) & ~(size_t)15;

	if ((size_t)(arena->end - arena->put) < bytes && !arena_grow(arena, bytes))
		return NULL;
	void *got = arena->put;
	arena->put += bytes;
	return got;
}

bool contents_ask(const struct mpi_abi *abi, struct arena *arena, uintptr_t datatype,
		  struct contents *got)
{
	int combiner = 0, integers = 0, addresses = 0, datatypes = 0;

	*got = (struct contents){0};
	if (abi->envelope_c) {
		if (abi->envelope_c(datatype, &got->integers, &got->addresses, &got->counts,
				    &got->datatypes, &combiner) != 0)
			return false;
	} else {
		if (abi->envelope(datatype, &integers, &addresses, &datatypes, &combiner) != 0)
			return false;
		got->integers = integers;
		got->addresses = addresses;
		got->datatypes = datatypes;
	}
	got->combiner = combiner >= 0 && combiner < COMBINERS ? abi->facts->combiner[combiner]
							      : COMBINER_OTHER;
	got->large = got->counts > 0;
	if (got->combiner == COMBINER_NAMED || got->combiner == COMBINER_OTHER)
		return true;
	got->integer = arena_get(arena, (uint64_t)got->integers, sizeof(int));
	got->address = arena_get(arena, (uint64_t)got->addresses, sizeof(intptr_t));
	got->count = arena_get(arena, (uint64_t)got->counts, sizeof(int64_t));
	got->datatype = arena_get(arena, (uint64_t)got->datatypes, sizeof(uintptr_t));
	if (!got->integer || !got->address || !got->count || !got->datatype)
		return false;
	if (abi->contents_c)
		return abi->contents_c(datatype, got->integers, got->addresses, got->counts,
				       got->datatypes, got->integer, got->address, got->count,
				       got->datatype) == 0;
	return abi->contents(datatype, integers, addresses, datatypes, got->integer, got->address,
			     got->datatype) == 0;
}

/* Those of named types are not ours to free. */
void contents_release(const struct mpi_abi *abi, const struct contents *got)
{
	for (int64_t i = 0; i < got->datatypes; i++) {
		int integers, addresses, datatypes, combiner = 0;
		int64_t n[4];
		uintptr_t handle = mpi_handle_at(abi, got->datatype, (size_t)i);

		if (abi->envelope_c)
			abi->envelope_c(handle, &n[0], &n[1], &n[2], &n[3], &combiner);
		else
			abi->envelope(handle, &integers, &addresses, &datatypes, &combiner);
		if (combiner >= 0 && combiner < COMBINERS &&
		    (abi->facts->combiner[combiner] == COMBINER_NAMED ||
		     abi->facts->combiner[combiner] == COMBINER_OTHER))
			continue;
		abi->type_free(&handle);
	}
}
