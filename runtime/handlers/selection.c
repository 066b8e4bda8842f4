/* Selections in canonical form, whatever library they were made for. */
#include "core/hash.h"
#include "handlers/selection.h"

#include <stddef.h>

enum { SHAPES = 8 }; /* threads that look at a selection at once */

static struct shape shapes[SHAPES];

struct shape *shape_take(void)
{
	for (int i = 0; i < SHAPES; i++)
		if (!atomic_flag_test_and_set(&shapes[i].busy)) {
			shapes[i].hash = shapes[i].total = 0;
			shapes[i].blocks = 0;
			shapes[i].exact = false;
			return &shapes[i];
		}
	return NULL;
}

void shape_release(struct shape *shape)
{
	atomic_flag_clear(&shape->busy);
}

void shape_mix(struct shape *shape, uint64_t value)
{
	shape->hash = hash_mix(shape->hash, value);
}

void shape_nothing(struct shape *shape)
{
	shape->total = 0;
	for (uint32_t d = 0; d < shape->rank; d++)
		shape->low[d] = shape->box[2 * d] = shape->box[2 * d + 1] = 0;
}

/* Blocks that touch are one: in a dimension whose stride is its block, or that has one block only. */
static uint64_t merge(uint32_t rank, const uint64_t *stride, uint64_t *count, uint64_t *block)
{
	uint64_t blocks = 1;

	for (uint32_t d = 0; d < rank; d++) {
		if (stride[d] == block[d] && count[d] > 1) {
			block[d] *= count[d];
			count[d] = 1;
		}
		if (__builtin_mul_overflow(blocks, count[d], &blocks))
			blocks = UINT64_MAX;
	}
	return blocks;
}

/* The blocks of a regular hyperslab, last dimension fastest. */
static void list_regular(struct shape *shape, const uint64_t *stride, const uint64_t *count,
			 const uint64_t *block)
{
	uint64_t at[SHAPE_LISTED_RANK] = {0};

	for (uint32_t b = 0; b < shape->blocks; b++) {
		for (uint32_t d = 0; d < shape->rank; d++) {
			shape->block[(b * shape->rank + d) * 2] = at[d] * stride[d];
			shape->block[(b * shape->rank + d) * 2 + 1] = block[d];
		}
		for (uint32_t d = shape->rank; d-- > 0;) {
			if (++at[d] < count[d])
				break;
			at[d] = 0;
		}
	}
}

void shape_regular(struct shape *shape, const uint64_t *stride, uint64_t *count, uint64_t *block)
{
	const uint64_t blocks = merge(shape->rank, stride, count, block);

	shape->total = 1;
	for (uint32_t d = 0; d < shape->rank; d++) {
		shape_mix(shape, count[d] > 1 ? stride[d] : 0);
		shape_mix(shape, count[d]);
		shape_mix(shape, block[d]);
		shape->total *= count[d] * block[d];
		shape->box[2 * d] = 0;
		shape->box[2 * d + 1] = (count[d] - 1) * stride[d] + block[d];
	}
	shape->exact = blocks <= SHAPE_BLOCKS && shape->rank <= SHAPE_LISTED_RANK;
	shape->blocks = shape->exact ? (uint32_t)blocks : 0;
	if (shape->exact)
		list_regular(shape, stride, count, block);
}

void shape_list(struct shape *shape, uint64_t n, uint64_t all)
{
	const uint32_t rank = shape->rank;

	for (uint32_t d = 0; d < rank; d++) {
		uint64_t origin = UINT64_MAX;

		for (uint64_t b = 0; b < n; b++) {
			const uint64_t first = shape->block[(b * rank + d) * 2];

			origin = first < origin ? first : origin;
		}
		for (uint64_t b = 0; b < n; b++) {
			uint64_t *block = &shape->block[(b * rank + d) * 2];

			block[0] -= origin;
			shape_mix(shape, block[0]);
			shape_mix(shape, block[1]);
		}
	}
	shape->exact = all == n;
	shape->blocks = shape->exact ? (uint32_t)n : 0;
}

/* Elements from the first to the last of the box, row by row. */
static uint64_t span(const struct shape *shape, const uint64_t *extent)
{
	uint64_t last = 0;

	for (uint32_t d = 0; d < shape->rank; d++) {
		if (d > 0 && !extent[d]) /* unlimited: where a row ends changes */
			return 0;
		last = last * extent[d] + shape->box[2 * d + 1] - 1;
	}
	return shape->total ? last + 1 : 0;
}

uint32_t shape_define(struct call *c, const struct shape *shape, const uint64_t *extent)
{
	const struct selection_def def = {
		.form = SELECTION_OF_ELEMENTS,
		.exact = shape->exact,
		.rank = shape->rank,
		.unit = 1,
		.total = shape->total,
		.hash = shape->hash,
		.box = shape->box,
		.block = shape->block,
		.blocks = shape->blocks,
		.span = span(shape, extent),
	};

	return selection_define(c, &def);
}

int64_t shape_start(const struct shape *shape, const uint64_t *extent)
{
	uint64_t index = 0;

	for (uint32_t d = 0; d < shape->rank; d++)
		index = index * extent[d] + shape->low[d];
	return (int64_t)index;
}
