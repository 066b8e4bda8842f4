/* VORPAL-IO: a field of three components on a grid in blocks of different sizes, as H5Block lays it out:
 * one group per time step, the components folded into x. */
#include "../common/kernel.h"

static struct {
	uint64_t block[3], vary[3], ranks[3];
	uint64_t components, steps, align;
} vorpal = {.components = 3, .steps = 1};

static const char *option(int letter, const char *value)
{
	if (letter == 'c')
		return number(&vorpal.components, value, 1) ? NULL
							    : "-c: not a number of components";
	if (letter == 't')
		return number(&vorpal.steps, value, 1) && vorpal.steps <= LAYOUT_ARRAYS
			       ? NULL
			       : "-t: not a number of time steps, or more than 64";
	return number(&vorpal.align, value, 0) ? NULL : "-A: not a number of bytes";
}

static const char *take(char **argument, int ranks)
{
	for (int i = 0; i < 3; i++) {
		if (!number(&vorpal.block[i], argument[i], 2))
			return "the block: not a number of points, from 2";
		if (!number(&vorpal.vary[i], argument[3 + i], 0) ||
		    vorpal.vary[i] >= vorpal.block[i])
			return "the variation: not a number, or not less than the block";
	}
	return grid(vorpal.ranks, argument + 6, 3, ranks);
}

static unsigned files(void)
{
	return 1;
}

/* Sizes along one dimension: less, as given, more, less, … */
static uint64_t size_of(int i, uint64_t index)
{
	return vorpal.block[i] + (index % 3 == 2 ? vorpal.vary[i] : 0) -
	       (index % 3 == 0 ? vorpal.vary[i] : 0);
}

static uint64_t start_of(int i, uint64_t index)
{
	return index * vorpal.block[i] - (index % 3 ? vorpal.vary[i] : 0);
}

static uint64_t extent_of(int i)
{
	uint64_t last = vorpal.ranks[i] - 1;

	return start_of(i, last) + size_of(i, last);
}

static void layout(struct layout *l, unsigned file)
{
	layout_begin(l, file, "vorpalio");
	unsigned x = layout_dim(l, "x", extent_of(0) * vorpal.components);
	unsigned y = layout_dim(l, "y", extent_of(1));
	unsigned z = layout_dim(l, "z", extent_of(2));
	l->align = vorpal.align;
	for (unsigned t = 0; t < vorpal.steps; t++)
		layout_array(l, FLOAT64, 3, (unsigned[]){z, y, x}, "Step#%u/Block/E/0", t);
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	uint64_t at[3];

	(void)reading;
	grid_place(at, rank, vorpal.ranks, 3);
	for (unsigned v = 0; v < l->arrays; v++) {
		struct piece *piece = piece_add(p, l, v);
		for (int i = 0; i < 3; i++) {
			uint64_t fold = i == 0 ? vorpal.components : 1;
			piece->start[2 - i] = start_of(i, at[i]) * fold;
			piece->count[2 - i] = size_of(i, at[i]) * fold;
		}
	}
}

const struct kernel kernel = {
	.name = "vorpal",
	.usage = "[-c COMPONENTS] [-t STEPS] [-A ALIGN] BX BY BZ AX AY AZ NPX NPY NPZ",
	.letters = "c:t:A:",
	.arguments = 9,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
