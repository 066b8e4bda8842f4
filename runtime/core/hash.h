/* Hashes of numbers: a step multiplies, then lets the high bits down, as splitmix64 does. */
#ifndef FATHOM_HASH_H
#define FATHOM_HASH_H

#include <stdint.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15u /* 2^64 / the golden ratio */

static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * HASH_FACTOR;
	return hash ^ hash >> 29;
}

#endif
