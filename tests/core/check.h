/* What the core's tests share: a check that says where it failed, a generator with a fixed seed, a run. */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) check(condition, #condition, __FILE__, __LINE__)

static inline void check(int holds, const char *condition, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	exit(1);
}

/* splitmix64 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return random_next(state) % n;
}

/* run.c: a run in a directory of its own, in this process. */
const char *run_begin(const char *level, const char *clock); /* the directory */
uint8_t *run_end(size_t *bytes); /* ends it: the one stream file's content, to be freed */

/* ops.c */
enum { TEST_OPS = 12, OP_ABSORBS = 9, OP_MOVES = 10, OP_OUTER = 11 };

#endif
