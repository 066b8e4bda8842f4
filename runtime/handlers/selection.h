/* What a call selects of an array, in the canonical form of the table `selections`: HDF5's hyperslabs and
 * points, netCDF's starts, counts and strides. The shape is told apart from where it begins, so that a
 * hyperslab that moves from call to call is one selection and a predicted start. */
#ifndef FATHOM_SELECTION_H
#define FATHOM_SELECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/call.h"

enum {
	SHAPE_RANK = 32, /* dimensions; H5S_MAX_RANK */
	SHAPE_BLOCKS = 64,
	SHAPE_LISTED_RANK = 8, /* selections of more dimensions: box and hash only */
};

/* A shape under construction; numbers are relative to the box's first corner, which is `low`. Too large for
 * the stack of a small thread. */
struct shape {
	atomic_flag busy;
	uint32_t rank;
	uint64_t low[SHAPE_RANK];
	uint64_t box[2 * SHAPE_RANK];
	uint64_t block[SHAPE_BLOCKS * 2 * SHAPE_LISTED_RANK];
	uint64_t listed[SHAPE_BLOCKS * 2 * SHAPE_LISTED_RANK]; /* as the library lists them */
	uint64_t total, hash;
	uint32_t blocks;
	bool exact;
};

struct shape *shape_take(void); /* NULL: all are in use */
void shape_release(struct shape *shape);
void shape_mix(struct shape *shape, uint64_t value);
/* Nothing is selected. */
void shape_nothing(struct shape *shape);
/* In each dimension `count` blocks of `block` elements, `stride` apart, the first at `low`. Changes count
 * and block: what touches becomes one. */
void shape_regular(struct shape *shape, const uint64_t *stride, uint64_t *count, uint64_t *block);
/* The first n blocks of block[], which have come as (start, count) counted from anywhere, of `all`. */
void shape_list(struct shape *shape, uint64_t n, uint64_t all);
/* Of an array of this extent. */
uint32_t shape_define(struct call *c, const struct shape *shape, const uint64_t *extent);
/* Row-major index of the box's first corner in an array of this extent. */
int64_t shape_start(const struct shape *shape, const uint64_t *extent);

#endif
