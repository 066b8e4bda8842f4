/* Selections of dataspaces in canonical form. The shape is told apart from where it begins, so that a
 * hyperslab that moves from call to call is one selection and a predicted start. */
#include "handlers/hdf5.h"

enum {
	BLOCKS = 64,
	LISTED_RANK = 8, /* selections of more dimensions: box and hash only */
	SHAPES = 8,      /* threads that look at a selection at once, in different copies of HDF5 */
};

/* A shape under construction; numbers are relative to the box's first corner. Too large for the stack of
 * a small thread. */
struct shape {
	atomic_flag busy;
	uint32_t rank;
	uint64_t low[HDF5_RANK];
	uint64_t box[2 * HDF5_RANK];
	uint64_t block[BLOCKS * 2 * LISTED_RANK];
	uint64_t listed[BLOCKS * 2 * LISTED_RANK]; /* as HDF5 lists them */
	uint64_t total, hash;
	uint32_t blocks;
	bool exact;
};
static struct shape shapes[SHAPES];

static void mix(uint64_t *hash, uint64_t value)
{
	*hash = (*hash ^ value) * 0x9e3779b97f4a7c15u;
	*hash ^= *hash >> 29;
}

/* Does the program shift selections (H5Soffset_simple)? Only bounds tell of it, and they cost a call. */
static _Atomic bool offsets_used;

void hdf5_offset_used(void)
{
	atomic_store_explicit(&offsets_used, true, memory_order_relaxed);
}

/* The box, from bounds that count the selection's offset in. */
static bool take_box(const struct hdf5_library *lib, int64_t space, struct shape *shape)
{
	uint64_t high[HDF5_RANK];

	if (lib->bounds(space, shape->low, high) < 0)
		return false;
	for (uint32_t d = 0; d < shape->rank; d++) {
		shape->box[2 * d] = 0;
		shape->box[2 * d + 1] = high[d] - shape->low[d] + 1;
	}
	return true;
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
	uint64_t at[LISTED_RANK] = {0};

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

static bool take_regular(const struct hdf5_library *lib, int64_t space, struct shape *shape)
{
	uint64_t stride[HDF5_RANK], count[HDF5_RANK], block[HDF5_RANK];

	if (!lib->is_regular || !lib->regular || lib->is_regular(space) <= 0 ||
	    lib->regular(space, shape->low, stride, count, block) < 0)
		return false;
	const uint64_t blocks = merge(shape->rank, stride, count, block);
	shape->total = 1;
	for (uint32_t d = 0; d < shape->rank; d++) {
		mix(&shape->hash, count[d] > 1 ? stride[d] : 0);
		mix(&shape->hash, count[d]);
		mix(&shape->hash, block[d]);
		shape->total *= count[d] * block[d];
		shape->box[2 * d] = 0;
		shape->box[2 * d + 1] = (count[d] - 1) * stride[d] + block[d];
	}
	shape->exact = blocks <= BLOCKS && shape->rank <= LISTED_RANK;
	shape->blocks = shape->exact ? (uint32_t)blocks : 0;
	if (shape->exact)
		list_regular(shape, stride, count, block);
	if (atomic_load_explicit(&offsets_used, memory_order_relaxed))
		take_box(lib, space, shape);
	return true;
}

/* What HDF5 listed, in `corners` (1 or 2) for each block, into blocks. The list does not count the
 * selection's offset in, so its own least corner is the origin. */
static void take_listed(struct shape *shape, uint64_t n, uint32_t corners)
{
	const uint32_t rank = shape->rank, step = corners * rank;
	const uint64_t *listed = shape->listed;

	for (uint32_t d = 0; d < rank; d++) {
		uint64_t origin = UINT64_MAX;

		for (uint64_t b = 0; b < n; b++)
			origin = listed[b * step + d] < origin ? listed[b * step + d] : origin;
		for (uint64_t b = 0; b < n; b++) {
			const uint64_t first = listed[b * step + d];
			uint64_t *block = &shape->block[(b * rank + d) * 2];

			block[0] = first - origin;
			block[1] = corners == 2 ? listed[b * step + rank + d] - first + 1 : 1;
			mix(&shape->hash, block[0]);
			mix(&shape->hash, block[1]);
		}
	}
}

/* Points, and hyperslabs that are not regular. */
static void take_list(const struct hdf5_library *lib, int64_t space, bool points,
		      struct shape *shape)
{
	const int64_t all = points ? lib->points(space) : lib->blocks(space);
	const uint64_t n = all < BLOCKS ? (uint64_t)all : BLOCKS;

	mix(&shape->hash, (uint64_t)all);
	if (all <= 0 || shape->rank > LISTED_RANK ||
	    (points ? lib->point_list : lib->block_list)(space, 0, n, shape->listed) < 0)
		return;
	take_listed(shape, n, points ? 1 : 2);
	shape->exact = (uint64_t)all == n;
	shape->blocks = shape->exact ? (uint32_t)n : 0;
}

/* Row-major index of the box's first corner in the dataspace's extent. */
static int64_t first_element(const struct shape *shape, const uint64_t *extent)
{
	uint64_t index = 0;

	for (uint32_t d = 0; d < shape->rank; d++)
		index = index * extent[d] + shape->low[d];
	return (int64_t)index;
}

static void take_nothing(struct shape *shape)
{
	shape->total = 0;
	for (uint32_t d = 0; d < shape->rank; d++)
		shape->low[d] = shape->box[2 * d] = shape->box[2 * d + 1] = 0;
}

static void take_shape(const struct hdf5_library *lib, int64_t space, int kind, struct shape *shape)
{
	shape->hash = (uint64_t)kind;
	shape->blocks = 0;
	shape->exact = kind == HDF5_NONE;
	if (kind == HDF5_HYPERSLABS && take_regular(lib, space, shape))
		return;
	shape->total = kind == HDF5_NONE ? 0 : (uint64_t)lib->selected(space);
	if (shape->total == 0 || !take_box(lib, space, shape))
		take_nothing(shape);
	else
		take_list(lib, space, kind == HDF5_POINTS, shape);
}

static uint32_t define(struct call *c, const struct shape *shape)
{
	const struct selection_def def = {
		.form = 2,
		.exact = shape->exact,
		.rank = shape->rank,
		.unit = 1,
		.total = shape->total,
		.hash = shape->hash,
		.box = shape->box,
		.block = shape->block,
		.blocks = shape->blocks,
	};

	return selection_define(c, &def);
}

static struct shape *take_free(void)
{
	for (int i = 0; i < SHAPES; i++)
		if (!atomic_flag_test_and_set(&shapes[i].busy))
			return &shapes[i];
	return NULL;
}

struct hdf5_selection hdf5_selected(struct call *c, const struct hdf5_library *lib, int64_t space)
{
	struct hdf5_selection got = {0, 0, -1};
	uint64_t extent[HDF5_RANK];
	const int kind = lib->selection(space);
	const int rank = lib->dimensions(space, extent, NULL);
	const bool all = kind > HDF5_HYPERSLABS || rank <= 0; /* everything, or a scalar */
	struct shape *shape = all || rank > HDF5_RANK ? NULL : take_free();

	if (!shape) {
		got.start = all ? 0 : -1;
		got.total = lib->selected(space);
		return got;
	}
	shape->rank = (uint32_t)rank;
	take_shape(lib, space, kind, shape);
	got.number = define(c, shape);
	got.start = first_element(shape, extent);
	got.total = (int64_t)shape->total;
	atomic_flag_clear(&shape->busy);
	return got;
}
