/* GCRM-IO: pressure and edge fields of a cloud-resolving model on a geodesic grid, as H5Block lays them
 * out. Each level holds the cells of all ranks side by side, so the ranks interleave. */
#include "../common/kernel.h"

static struct {
	uint64_t resolution, subdomains; /* exponents of 4, times 10 */
	uint64_t levels, steps, align;
	bool chunked;
	uint64_t ranks;
} gcrm = {.levels = 25, .steps = 1};

static const char *option(int letter, const char *value)
{
	switch (letter) {
	case 'l':
		return number(&gcrm.levels, value, 1) ? NULL : "-l: not a number of levels";
	case 't':
		return number(&gcrm.steps, value, 1) && gcrm.steps <= LAYOUT_ARRAYS
			       ? NULL
			       : "-t: not a number of time steps, or more than 64";
	case 'A':
		return number(&gcrm.align, value, 0) ? NULL : "-A: not a number of bytes";
	}
	gcrm.chunked = true;
	return NULL;
}

static uint64_t ten_times_4_to(uint64_t power)
{
	return 10ull << (2 * power);
}

static const char *take(char **argument, int ranks)
{
	if (!number(&gcrm.resolution, argument[0], 0) || gcrm.resolution > 14)
		return "the resolution: not a number up to 14";
	if (!number(&gcrm.subdomains, argument[1], 0) || gcrm.subdomains > gcrm.resolution)
		return "the subdomains: not a number up to the resolution";
	gcrm.ranks = (uint64_t)ranks;
	return ten_times_4_to(gcrm.subdomains) % gcrm.ranks
		       ? "the ranks must divide the 10 * 4^SUBDOMAINS subdomains"
		       : NULL;
}

static unsigned files(void)
{
	return 2;
}

static void layout(struct layout *l, unsigned file)
{
	bool edge = file == 1;

	layout_begin(l, file, edge ? "edge" : "prs");
	unsigned cells = layout_dim(l, "cells", ten_times_4_to(gcrm.resolution));
	unsigned levels = layout_dim(l, "levels", gcrm.levels + !edge);
	unsigned values = layout_dim(l, "values", edge ? 6 : 1);
	l->align = gcrm.align;
	for (unsigned t = 0; t < gcrm.steps; t++) {
		struct array *a = layout_array(l, FLOAT32, 3, (unsigned[]){values, levels, cells},
					       "Step#%u/Block/data/0", t);
		if (!gcrm.chunked)
			continue;
		a->chunk[0] = l->dim[values].size;
		a->chunk[1] = l->dim[levels].size;
		a->chunk[2] = 1ull << (2 * (gcrm.resolution - gcrm.subdomains));
	}
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	(void)reading;
	for (unsigned v = 0; v < l->arrays; v++) {
		struct piece *piece = piece_add(p, l, v);
		piece->count[2] /= gcrm.ranks;
		piece->start[2] = (uint64_t)rank * piece->count[2];
	}
}

const struct kernel kernel = {
	.name = "gcrm",
	.usage = "[-l LEVELS] [-t STEPS] [-k] [-A ALIGN] RESOLUTION SUBDOMAINS",
	.letters = "l:t:kA:",
	.arguments = 2,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
