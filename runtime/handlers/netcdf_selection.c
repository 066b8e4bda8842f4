/* Starts, counts and strides of netCDF-C and PnetCDF as selections. */
#include "handlers/netcdf_model.h"

const uint64_t *nc_ones(void)
{
	static const uint64_t ones[SHAPE_RANK] = {[0 ... SHAPE_RANK - 1] = 1};

	return ones;
}

int64_t nc_type_bytes(int type)
{
	/* NC_BYTE is 1, then CHAR SHORT INT FLOAT DOUBLE UBYTE USHORT UINT INT64 UINT64 STRING */
	static const uint8_t bytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8, sizeof(char *)};

	return type > 0 && type < (int)sizeof(bytes) ? bytes[type] : 0;
}

int64_t nc_times(int64_t a, int64_t b)
{
	int64_t product;

	return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

static struct nc_selected everything(const struct nc_library *lib, const struct nc_variable *v)
{
	struct nc_selected got = {0, 0, 1};

	for (uint32_t d = 0; d < v->rank; d++)
		got.total = nc_times(got.total, (int64_t)nc_length(lib, v, d));
	return got;
}

/* Does the place of an element in the file's order depend on how long an unlimited dimension is now? */
static int64_t start_of(const struct shape *shape, const struct nc_variable *v)
{
	for (uint32_t d = 1; d < v->rank; d++)
		if (v->extent[d] == 0)
			return -1;
	return shape_start(shape, v->extent);
}

/* What is selected in one dimension; false: nothing. */
static bool take_dimension(struct shape *shape, uint32_t d, const struct nc_library *lib,
			   const struct nc_variable *v, const uint64_t *start,
			   const uint64_t *count, uint64_t *n)
{
	shape->low[d] = start ? start[d] : 0;
	*n = count ? count[d] : nc_length(lib, v, d) - shape->low[d];
	return *n > 0;
}

struct nc_selected nc_select(struct call *c, const struct nc_library *lib,
			     const struct nc_variable *v, const void *start, const void *count,
			     const void *stride)
{
	const int64_t *step = stride;
	uint64_t apart[SHAPE_RANK], n[SHAPE_RANK], block[SHAPE_RANK];
	struct nc_selected got = {0, -1, -1};
	struct shape *shape;
	bool some = true;

	if (v->rank > SHAPE_RANK)
		return got;
	if (v->rank == 0 || (!start && !count))
		return everything(lib, v);
	shape = shape_take();
	if (!shape)
		return got;
	shape->rank = v->rank;
	for (uint32_t d = 0; d < v->rank; d++) {
		apart[d] = step ? (uint64_t)step[d] : 1;
		block[d] = 1;
		some &= take_dimension(shape, d, lib, v, start, count, &n[d]);
	}
	if (some)
		shape_regular(shape, apart, n, block);
	else
		shape_nothing(shape);
	shape->exact |= !some;
	got = (struct nc_selected){shape_define(c, shape, v->extent), start_of(shape, v),
				   (int64_t)shape->total};
	shape_release(shape);
	return got;
}

/* One box of a list into the shape; its elements. What does not fit is told from where the list begins. */
static uint64_t take_box(struct shape *shape, uint64_t listed, const int64_t *start,
			 const int64_t *count, const int64_t *begin)
{
	uint64_t elements = 1;

	for (uint32_t d = 0; d < shape->rank; d++)
		elements *= count ? (uint64_t)count[d] : 1;
	for (uint32_t d = 0; elements && d < shape->rank; d++) {
		const uint64_t first = (uint64_t)start[d], n = count ? (uint64_t)count[d] : 1;
		uint64_t *high = &shape->box[2 * d + 1];

		shape->low[d] = first < shape->low[d] ? first : shape->low[d];
		*high = first + n > *high ? first + n : *high;
		if (listed < SHAPE_BLOCKS && shape->rank <= SHAPE_LISTED_RANK) {
			shape->block[(listed * shape->rank + d) * 2] = first;
			shape->block[(listed * shape->rank + d) * 2 + 1] = n;
		} else {
			shape_mix(shape, first - (uint64_t)begin[d]);
			shape_mix(shape, n);
		}
	}
	return elements;
}

struct nc_selected nc_select_list(struct call *c, const struct nc_variable *v, int n,
				  int64_t *const *starts, int64_t *const *counts)
{
	struct nc_selected got = {0, -1, -1};
	struct shape *shape = v->rank <= SHAPE_RANK && v->rank ? shape_take() : NULL;
	uint64_t listed = 0;

	if (!shape)
		return v->rank ? got : (struct nc_selected){0, 0, n > 0 ? n : 0};
	shape->rank = v->rank;
	for (uint32_t d = 0; d < v->rank; d++) {
		shape->low[d] = UINT64_MAX;
		shape->box[2 * d] = shape->box[2 * d + 1] = 0;
	}
	for (int i = 0; starts && i < n; i++) {
		const int64_t *count = counts ? counts[i] : NULL;
		const uint64_t elements =
			starts[i] && starts[0]
				? take_box(shape, listed, starts[i], count, starts[0])
				: 0;

		shape->total += elements;
		listed += elements > 0;
	}
	for (uint32_t d = 0; listed && d < v->rank; d++)
		shape->box[2 * d + 1] -= shape->low[d];
	if (!listed) {
		shape_nothing(shape);
		shape->exact = true;
	} else if (shape->rank <= SHAPE_LISTED_RANK) {
		shape_list(shape, listed < SHAPE_BLOCKS ? listed : SHAPE_BLOCKS, listed);
	}
	got = (struct nc_selected){shape_define(c, shape, v->extent), start_of(shape, v),
				   (int64_t)shape->total};
	shape_release(shape);
	return got;
}
