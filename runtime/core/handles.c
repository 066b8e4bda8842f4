/* Handle tables: an API's handle in one library -> 64 bits of ours. Lock-free, bounded, wiped by a fork
 * (a child's handles belong to another process image). */
#include "core/call.h"
#include "core/forget.h"
#include "core/hash.h"
#include "core/state.h"

enum { SLOTS = 65536, PROBES = 64 };

/* key 0: never used; 1: taken out. */
struct slot {
	_Atomic uint64_t key;
	_Atomic uint64_t value;
};
struct handle_table {
	_Atomic(struct slot *) slot;
};

struct handle_table mpi_files, mpi_requests, mpi_datatypes, mpi_comms, hdf5_objects, netcdf_objects,
	pnetcdf_requests, directories, mappings, user_handles, queues, queue_files, tuned_files,
	fortran_units;

static uint64_t key_of(uint64_t library, uint64_t handle)
{
	uint64_t key = (handle ^ library * 0xff51afd7ed558ccdu) * HASH_FACTOR;

	key ^= key >> 29;
	return key > 1 ? key : key + 2;
}

static struct slot *slots_of(struct handle_table *table)
{
	struct slot *slot = atomic_load(&table->slot), *fresh;

	if (slot)
		return slot;
	fresh = memory_get(SLOTS * sizeof(*fresh), true);
	if (!fresh || atomic_compare_exchange_strong(&table->slot, &slot, fresh))
		return fresh;
	return slot; /* another thread was first; ours stays unused */
}

static struct slot *find(struct handle_table *table, uint64_t key)
{
	struct slot *slot = atomic_load(&table->slot);

	for (uint32_t i = 0; slot && i < PROBES; i++) {
		struct slot *s = &slot[(key + i) % SLOTS];
		uint64_t there = atomic_load_explicit(&s->key, memory_order_acquire);

		if (there == key)
			return s;
		if (!there)
			return NULL;
	}
	return NULL;
}

uint64_t handle_get(struct handle_table *table, uint64_t library, uint64_t handle)
{
	struct slot *s = find(table, key_of(library, handle));

	return s ? atomic_load_explicit(&s->value, memory_order_acquire) : 0;
}

bool handle_put(struct handle_table *table, uint64_t library, uint64_t handle, uint64_t value)
{
	uint64_t key = key_of(library, handle);
	struct slot *slot = slots_of(table), *s = find(table, key);

	for (uint32_t i = 0; slot && !s && i < PROBES; i++) {
		struct slot *free = &slot[(key + i) % SLOTS];
		uint64_t there = atomic_load(&free->key);

		if (there <= 1 && atomic_compare_exchange_strong(&free->key, &there, key))
			s = free;
	}
	if (s)
		atomic_store_explicit(&s->value, value, memory_order_release);
	return s != NULL;
}

uint64_t handle_take(struct handle_table *table, uint64_t library, uint64_t handle)
{
	struct slot *s = find(table, key_of(library, handle));
	uint64_t value;

	if (!s)
		return 0;
	value = atomic_exchange(&s->value, 0);
	atomic_store_explicit(&s->key, 1, memory_order_release);
	return value;
}

void handles_forget(void)
{
	struct handle_table *const tables[] = {
		&mpi_files,      &mpi_requests,     &mpi_datatypes, &mpi_comms,     &hdf5_objects,
		&netcdf_objects, &pnetcdf_requests, &directories,   &mappings,      &user_handles,
		&queues,         &queue_files,      &tuned_files,   &fortran_units,
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		memory_wipe(atomic_load(&tables[i]->slot), SLOTS * sizeof(struct slot));
}
