/* Chombo-like: adaptive mesh levels, each one row of numbers that holds boxes of different sizes one after
 * another. The boxes are dealt out to the ranks; each is written by itself, independently. */
#include "../common/kernel.h"

static struct {
	uint64_t boxes; /* of the coarsest level; twice as many on each finer one */
	uint64_t levels, components;
	uint64_t ranks;
} chombo = {.boxes = 8, .levels = 3, .components = 5};

static const char *option(int letter, const char *value)
{
	switch (letter) {
	case 'b':
		return number(&chombo.boxes, value, 1) ? NULL : "-b: not a number of boxes";
	case 'l':
		return number(&chombo.levels, value, 1) && chombo.levels <= 10
			       ? NULL
			       : "-l: not a number of levels up to 10";
	}
	return number(&chombo.components, value, 1) ? NULL : "-c: not a number of components";
}

static const char *take(char **argument, int ranks)
{
	(void)argument;
	chombo.ranks = (uint64_t)ranks;
	return NULL;
}

static unsigned files(void)
{
	return 1;
}

static uint64_t boxes_of(unsigned level)
{
	return chombo.boxes << level;
}

/* Boxes of 4 to 8 cells along each edge; the components of a box follow each other. */
static uint64_t size_of(unsigned level, uint64_t box)
{
	uint64_t x = 4 + (box + level) % 5, y = 4 + box * 2 % 5, z = 4 + box * 3 % 5;

	return x * y * z * chombo.components;
}

static uint64_t start_of(unsigned level, uint64_t box)
{
	uint64_t n = 0;

	while (box-- > 0)
		n += size_of(level, box);
	return n;
}

static void layout(struct layout *l, unsigned file)
{
	layout_begin(l, file, "chombo");
	unsigned corners = layout_dim(l, "corners", 6);
	for (unsigned level = 0; level < chombo.levels; level++) {
		uint64_t boxes = boxes_of(level);
		unsigned n = layout_dim(l, "boxes", boxes);
		unsigned next = layout_dim(l, "offsets", boxes + 1);
		unsigned data = layout_dim(l, "data", start_of(level, boxes));
		layout_array(l, INT32, 2, (unsigned[]){n, corners}, "level_%u/boxes", level);
		layout_array(l, INT32, 1, &next, "level_%u/data:offsets=0", level);
		layout_array(l, FLOAT64, 1, &data, "level_%u/data:datatype=0", level);
	}
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	(void)reading;
	for (unsigned level = 0; level < chombo.levels; level++) {
		for (uint64_t box = (uint64_t)rank; box < boxes_of(level); box += chombo.ranks) {
			struct piece *piece = piece_add(p, l, 3 * level);
			piece->start[0] = box;
			piece->count[0] = 1;
		}
		if (rank == 0)
			piece_add(p, l, 3 * level + 1);
		for (uint64_t box = (uint64_t)rank; box < boxes_of(level); box += chombo.ranks) {
			struct piece *piece = piece_add(p, l, 3 * level + 2);
			piece->start[0] = start_of(level, box);
			piece->count[0] = size_of(level, box);
		}
	}
}

const struct kernel kernel = {
	.name = "chombo",
	.usage = "[-b BOXES] [-l LEVELS] [-c COMPONENTS]",
	.letters = "b:l:c:",
	.independent = true,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
