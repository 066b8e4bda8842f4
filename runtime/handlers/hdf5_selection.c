/* What an HDF5 dataspace selects, by the library's own queries, into a shape (selection.h). */
#include "handlers/hdf5.h"
#include "handlers/selection.h"

/* Does the program shift selections (H5Soffset_simple)? Only bounds tell of it, and they cost a call. */
static _Atomic bool offsets_used;

void hdf5_offset_used(void)
{
	atomic_store_explicit(&offsets_used, true, memory_order_relaxed);
}

/* The box, from bounds that count the selection's offset in. */
static bool take_box(const struct hdf5_library *lib, int64_t space, struct shape *shape)
{
	uint64_t high[SHAPE_RANK];

	if (lib->bounds(space, shape->low, high) < 0)
		return false;
	for (uint32_t d = 0; d < shape->rank; d++) {
		shape->box[2 * d] = 0;
		shape->box[2 * d + 1] = high[d] - shape->low[d] + 1;
	}
	return true;
}

static bool take_regular(const struct hdf5_library *lib, int64_t space, struct shape *shape)
{
	uint64_t stride[SHAPE_RANK], count[SHAPE_RANK], block[SHAPE_RANK];

	if (!lib->is_regular || !lib->regular || lib->is_regular(space) <= 0 ||
	    lib->regular(space, shape->low, stride, count, block) < 0)
		return false;
	shape_regular(shape, stride, count, block);
	if (atomic_load_explicit(&offsets_used, memory_order_relaxed))
		take_box(lib, space, shape);
	return true;
}

/* What HDF5 listed, in `corners` (1 or 2) for each block, into blocks. The list does not count the
 * selection's offset in. */
static void take_listed(struct shape *shape, uint64_t n, uint32_t corners)
{
	const uint32_t rank = shape->rank, step = corners * rank;
	const uint64_t *listed = shape->listed;

	for (uint64_t b = 0; b < n; b++)
		for (uint32_t d = 0; d < rank; d++) {
			const uint64_t first = listed[b * step + d];
			uint64_t *block = &shape->block[(b * rank + d) * 2];

			block[0] = first;
			block[1] = corners == 2 ? listed[b * step + rank + d] - first + 1 : 1;
		}
}

/* Points, and hyperslabs that are not regular. */
static void take_list(const struct hdf5_library *lib, int64_t space, bool points,
		      struct shape *shape)
{
	const int64_t all = points ? lib->points(space) : lib->blocks(space);
	const uint64_t n = all < SHAPE_BLOCKS ? (uint64_t)all : SHAPE_BLOCKS;

	shape_mix(shape, (uint64_t)all);
	if (all <= 0 || shape->rank > SHAPE_LISTED_RANK ||
	    (points ? lib->point_list : lib->block_list)(space, 0, n, shape->listed) < 0)
		return;
	take_listed(shape, n, points ? 1 : 2);
	shape_list(shape, n, (uint64_t)all);
}

/* A hyperslab that fills its box is one block, however it was put together. HDF5 1.8 does not say which are
 * regular, and lists them element by element. */
static bool take_full_box(struct shape *shape)
{
	uint64_t stride[SHAPE_RANK], count[SHAPE_RANK], block[SHAPE_RANK], all = 1;

	for (uint32_t d = 0; d < shape->rank; d++) {
		stride[d] = count[d] = 1;
		block[d] = shape->box[2 * d + 1];
		all *= block[d];
	}
	if (all != shape->total)
		return false;
	shape_regular(shape, stride, count, block);
	return true;
}

static void take_shape(const struct hdf5_library *lib, int64_t space, int kind, struct shape *shape)
{
	shape->hash = (uint64_t)kind;
	shape->exact = kind == HDF5_NONE;
	if (kind == HDF5_HYPERSLABS && take_regular(lib, space, shape))
		return;
	shape->total = kind == HDF5_NONE ? 0 : (uint64_t)lib->selected(space);
	if (shape->total == 0 || !take_box(lib, space, shape))
		shape_nothing(shape);
	else if (kind != HDF5_HYPERSLABS || !take_full_box(shape))
		take_list(lib, space, kind == HDF5_POINTS, shape);
}

struct hdf5_selection hdf5_selected(struct call *c, const struct hdf5_library *lib, int64_t space)
{
	struct hdf5_selection got = {0, 0, -1};
	uint64_t extent[HDF5_RANK];
	const int kind = lib->selection(space);
	const int rank = lib->dimensions(space, extent, NULL);
	const bool all = kind > HDF5_HYPERSLABS || rank <= 0; /* everything, or a scalar */
	struct shape *shape = all || rank > HDF5_RANK ? NULL : shape_take();

	if (!shape) {
		got.start = all ? 0 : -1;
		got.total = lib->selected(space);
		return got;
	}
	shape->rank = (uint32_t)rank;
	take_shape(lib, space, kind, shape);
	got.number = shape_define(c, shape, extent);
	got.start = shape_start(shape, extent);
	got.total = (int64_t)shape->total;
	shape_release(shape);
	return got;
}

bool hdf5_scattered(const struct hdf5_library *lib, int64_t space)
{
	uint64_t extent[HDF5_RANK], low[HDF5_RANK], high[HDF5_RANK], first = 0, last = 0;
	const int kind = lib->selection(space);
	const int rank = kind > HDF5_NONE && kind <= HDF5_HYPERSLABS
				 ? lib->dimensions(space, extent, NULL)
				 : 0;

	if (rank <= 0 || lib->bounds(space, low, high) < 0)
		return false;
	for (int d = 0; d < rank; d++) {
		first = first * extent[d] + low[d];
		last = last * extent[d] + high[d];
	}
	return last - first + 1 > (uint64_t)lib->selected(space);
}
