/* Handle tables against a plain array: collisions, removal, a full table, two threads at once. */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "core/call.h"

enum { KEYS = 20000, STEPS = 600000, MANY = 70000 };

/* Handles as APIs have them: small numbers, addresses, and one number in several libraries. */
static uint64_t handle_of(uint64_t key)
{
	return key % 2 ? key / 4 : 0x7f0000000000u + key * 64;
}

static uint64_t library_of(uint64_t key)
{
	return 0x555500001000u * (key / 2 % 2 + 1);
}

static void against_array(void)
{
	static uint64_t value[KEYS];
	uint64_t seed = 3;

	for (int i = 0; i < STEPS; i++) {
		uint64_t key = random_below(&seed, KEYS), what = random_below(&seed, 4);

		if (what == 0) {
			value[key] = random_next(&seed) | 1;
			CHECK(handle_put(&mpi_files, library_of(key), handle_of(key), value[key]));
		} else if (what == 1) {
			CHECK(handle_take(&mpi_files, library_of(key), handle_of(key)) ==
			      value[key]);
			value[key] = 0;
		} else {
			CHECK(handle_get(&mpi_files, library_of(key), handle_of(key)) ==
			      value[key]);
		}
	}
}

/* More than it can hold: what was taken in is kept, what was not is not there. */
static void overfull(void)
{
	static bool in[MANY];
	int stored = 0;

	for (uint64_t i = 0; i < MANY; i++)
		stored += in[i] = handle_put(&directories, 1, i * 8, i + 1);
	CHECK(stored > 50000 && stored <= 65536);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK(handle_get(&directories, 1, i * 8) == (in[i] ? i + 1 : 0));
	for (uint64_t i = 0; i < MANY; i++)
		CHECK(handle_take(&directories, 1, i * 8) == (in[i] ? i + 1 : 0));
	for (uint64_t i = 0; i < MANY / 2; i++) /* room again, though every slot was used once */
		CHECK(handle_put(&directories, 2, i * 8, i + 1));
}

/* Keys of its own in the shared table; the other thread's come and go between them. */
static void *one_of_two(void *which)
{
	uint64_t seed = (uintptr_t)which, value[2000] = {0};

	for (int i = 0; i < 300000; i++) {
		uint64_t k = random_below(&seed, 2000), key = 2 * k + (uintptr_t)which % 2;

		if (random_below(&seed, 2)) {
			value[k] = random_next(&seed) | 1;
			CHECK(handle_put(&mpi_requests, 0, key, value[k]));
		} else {
			CHECK(handle_take(&mpi_requests, 0, key) == value[k]);
			value[k] = 0;
		}
		k = random_below(&seed, 2000);
		CHECK(handle_get(&mpi_requests, 0, 2 * k + (uintptr_t)which % 2) == value[k]);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;

	against_array();
	overfull();
	CHECK(pthread_create(&other, NULL, one_of_two, (void *)1) == 0);
	one_of_two((void *)2);
	pthread_join(other, NULL);
	CHECK(handle_get(&hdf5_objects, 0, 1) == 0 && handle_take(&hdf5_objects, 0, 1) == 0);
	return 0;
}
