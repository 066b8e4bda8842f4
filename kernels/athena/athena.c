/* ATHENA-like mix: per output step one collective restart file of all ranks, small files that all ranks
 * write independently, and private files that all ranks open at the same moment. */
#include "../common/kernel.h"

static struct {
	uint64_t steps, small, lines; /* small files per step; lines of a rank in each */
	uint64_t edge;                /* cells of a rank's block along each edge */
	uint64_t ranks;
} athena = {.steps = 2, .small = 3, .lines = 4, .edge = 16};

static const char *option(int letter, const char *value)
{
	switch (letter) {
	case 't':
		return number(&athena.steps, value, 1) ? NULL : "-t: not a number of steps";
	case 's':
		return number(&athena.small, value, 1) ? NULL : "-s: not a number of small files";
	case 'l':
		return number(&athena.lines, value, 1) ? NULL : "-l: not a number of lines";
	}
	return number(&athena.edge, value, 1) ? NULL : "-x: not a number of cells";
}

static const char *take(char **argument, int ranks)
{
	(void)argument;
	athena.ranks = (uint64_t)ranks;
	return NULL;
}

/* Of each step: the restart file, the small ones, one per rank. */
static unsigned per_step(void)
{
	return (unsigned)(1 + athena.small + athena.ranks);
}

static unsigned files(void)
{
	return (unsigned)athena.steps * per_step();
}

static void layout(struct layout *l, unsigned file)
{
	unsigned step = file / per_step(), i = file % per_step();
	uint64_t edge = athena.edge;

	if (i == 0) {
		layout_begin(l, file, "restart.%04u", step);
		unsigned z = layout_dim(l, "z", edge * athena.ranks);
		unsigned y = layout_dim(l, "y", edge);
		unsigned x = layout_dim(l, "x", edge);
		layout_array(l, FLOAT64, 3, (unsigned[]){x, y, z}, "density");
		layout_array(l, FLOAT64, 3, (unsigned[]){x, y, z}, "momentum");
	} else if (i <= athena.small) {
		layout_begin(l, file, "history.%04u.%u", step, i - 1);
		unsigned n = layout_dim(l, "lines", athena.ranks * athena.lines * 8);
		layout_array(l, FLOAT64, 1, &n, "history");
		l->independent = true;
	} else {
		int owner = (int)(i - 1 - athena.small);
		layout_begin(l, file, "tab.%04u.%d", step, owner);
		unsigned lines = layout_dim(l, "lines", athena.lines);
		unsigned n = layout_dim(l, "numbers", 8);
		layout_array(l, FLOAT64, 2, (unsigned[]){lines, n}, "table");
		l->owner = owner;
		l->posix = true;
	}
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	(void)reading;
	if (l->independent) {
		for (uint64_t line = 0; line < athena.lines; line++) {
			struct piece *piece = piece_add(p, l, 0);
			piece->count[0] = 8;
			piece->start[0] = ((uint64_t)rank * athena.lines + line) * 8;
		}
		return;
	}
	for (unsigned v = 0; v < l->arrays; v++) {
		struct piece *piece = piece_add(p, l, v);
		if (l->owner >= 0)
			continue;
		piece->count[2] = athena.edge;
		piece->start[2] = (uint64_t)rank * athena.edge;
	}
}

const struct kernel kernel = {
	.name = "athena",
	.usage = "[-t STEPS] [-s SMALL_FILES] [-l LINES] [-x CELLS]",
	.letters = "t:s:l:x:",
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
