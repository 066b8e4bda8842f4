/* Starts, counts, strides and lists of boxes as selections, compared with the elements that they name one by one.
 * The library's queries are ours: an array of a known extent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/netcdf_model.h"

enum { RANK = 3, MOST = 12 * 12 * 12 };

/* What was defined last. */
static struct {
	struct selection_def def;
	uint64_t box[2 * SHAPE_RANK], block[SHAPE_BLOCKS * 2 * SHAPE_LISTED_RANK];
} got;

uint32_t selection_define(struct call *c, const struct selection_def *def)
{
	(void)c;
	got.def = *def;
	memcpy(got.box, def->box, 2 * def->rank * sizeof(uint64_t));
	memcpy(got.block, def->block, 2 * def->rank * def->blocks * sizeof(uint64_t));
	return 1;
}

uint64_t nc_length(const struct nc_library *lib, const struct nc_variable *v, uint32_t dimension)
{
	(void)lib;
	return v->extent[dimension] ? v->extent[dimension] : 9; /* records so far */
}

static uint32_t draw(uint32_t below)
{
	return (uint32_t)rand() % below;
}

static uint64_t index_of(const struct nc_variable *v, const uint64_t *at)
{
	uint64_t index = 0;

	for (uint32_t d = 0; d < v->rank; d++)
		index = index * nc_length(NULL, v, d) + at[d];
	return index;
}

/* The next place of a box, last dimension fastest; false after the last. */
static bool next(uint32_t rank, uint64_t *at, const uint64_t *count)
{
	for (uint32_t d = rank; d-- > 0;) {
		if (++at[d] < count[d])
			return true;
		at[d] = 0;
	}
	return false;
}

/* Marks the elements of a box; how many there are. */
static uint64_t mark(const struct nc_variable *v, const uint64_t *low, const uint64_t *count,
		     const int64_t *stride, bool *marked)
{
	uint64_t at[RANK] = {0}, place[RANK], n = 1;

	for (uint32_t d = 0; d < v->rank; d++)
		n *= count[d];
	if (!n)
		return 0;
	do {
		for (uint32_t d = 0; d < v->rank; d++)
			place[d] = low[d] + at[d] * (uint64_t)(stride ? stride[d] : 1);
		marked[index_of(v, place)] = true;
	} while (next(v->rank, at, count));
	return n;
}

/* Do the blocks, moved to where the box begins, cover these elements and no others? The first corner of the
 * box comes from `start`, an index. */
static bool same(const struct nc_variable *v, const struct nc_selected *selected,
		 const bool *wanted, uint64_t total)
{
	bool found[MOST] = {false};
	uint64_t low[RANK], rest = (uint64_t)selected->start, n = 0;

	if ((uint64_t)selected->total != total || got.def.total != total)
		return false;
	for (uint32_t d = v->rank; d-- > 0;) {
		low[d] = rest % nc_length(NULL, v, d);
		rest /= nc_length(NULL, v, d);
	}
	if (!got.def.exact) /* the box must hold all */
		return got.def.blocks == 0 &&
		       mark(v, low, (uint64_t[]){got.box[1], got.box[3], got.box[5]}, NULL,
			    found) >= total;
	for (uint32_t b = 0; b < got.def.blocks; b++) {
		uint64_t first[RANK], count[RANK];

		for (uint32_t d = 0; d < v->rank; d++) {
			first[d] = low[d] + got.block[(b * v->rank + d) * 2];
			count[d] = got.block[(b * v->rank + d) * 2 + 1];
		}
		n += mark(v, first, count, NULL, found);
	}
	return n == total && memcmp(found, wanted, sizeof(found)) == 0;
}

static bool regular(const struct nc_variable *v)
{
	bool wanted[MOST] = {false};
	uint64_t start[RANK], count[RANK];
	int64_t stride[RANK];
	struct nc_selected selected;

	for (uint32_t d = 0; d < v->rank; d++) {
		const uint32_t length = (uint32_t)nc_length(NULL, v, d);

		stride[d] = 1 + (int64_t)draw(4);
		start[d] = draw(length);
		count[d] = draw((length - 1 - (uint32_t)start[d]) / (uint32_t)stride[d] + 2);
	}
	selected = nc_select(NULL, NULL, v, start, count, stride);
	return same(v, &selected, wanted, mark(v, start, count, stride, wanted));
}

/* Boxes that do not meet: each in a plane of its own. */
static bool listed(const struct nc_variable *v)
{
	bool wanted[MOST] = {false};
	int64_t start[9][RANK], count[9][RANK], *starts[9], *counts[9];
	struct nc_selected selected;
	uint64_t total = 0;
	const int n = 1 + (int)draw(9);

	for (int i = 0; i < n; i++) {
		starts[i] = start[i];
		counts[i] = count[i];
		start[i][0] = i;
		count[i][0] = 1;
		for (uint32_t d = 1; d < v->rank; d++) {
			start[i][d] = draw((uint32_t)nc_length(NULL, v, d));
			count[i][d] =
				draw((uint32_t)(nc_length(NULL, v, d) - (uint64_t)start[i][d]) + 1);
		}
		total += mark(v, (uint64_t *)start[i], (uint64_t *)count[i], NULL, wanted);
	}
	selected = nc_select_list(NULL, v, n, starts, counts);
	return same(v, &selected, wanted, total);
}

int main(void)
{
	int wrong = 0, tried = 0;

	srand(20261120);
	for (int i = 0; i < 20000; i++) {
		struct nc_variable v = {.rank = RANK, .extent = {0, 1 + draw(12), 1 + draw(12)}};

		wrong += !regular(&v);
		wrong += !listed(&v);
		tried += 2;
	}
	printf("%d selections, %d wrong\n", tried, wrong);
	return wrong != 0;
}
