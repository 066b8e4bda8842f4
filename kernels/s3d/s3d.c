/* S3D-IO: the checkpoints of a combustion code. Four variables of doubles on a grid in blocks over the
 * ranks, x fastest; memory has the file's order, without ghost cells. */
#include "../common/kernel.h"

static struct {
	uint64_t points[3], ranks[3]; /* in x, y, z */
	uint64_t checkpoints;
} s3d = {.checkpoints = 5};

static const char *option(int letter, const char *value)
{
	(void)letter;
	return number(&s3d.checkpoints, value, 1) ? NULL : "-c: not a number of checkpoints";
}

static const char *take(char **argument, int ranks)
{
	for (int i = 0; i < 3; i++) {
		if (!number(&s3d.points[i], argument[i], 1))
			return "the grid: not a number of points";
	}
	const char *wrong = grid(s3d.ranks, argument + 3, 3, ranks);
	for (int i = 0; i < 3 && !wrong; i++) {
		if (s3d.points[i] % s3d.ranks[i])
			wrong = "each number of points must divide by its number of processes";
	}
	return wrong;
}

static unsigned files(void)
{
	return (unsigned)s3d.checkpoints;
}

static void layout(struct layout *l, unsigned file)
{
	double time = 0.25 * file;

	layout_begin(l, file, "pressure_wave_test.%.3E.field", time);
	unsigned x = layout_dim(l, "x", s3d.points[0]);
	unsigned y = layout_dim(l, "y", s3d.points[1]);
	unsigned z = layout_dim(l, "z", s3d.points[2]);
	unsigned nsc = layout_dim(l, "nsc", 11);
	unsigned three = layout_dim(l, "three", 3);
	layout_number(l, "time", FLOAT64, time);
	layout_number(l, "tstep", FLOAT64, 0.25);
	layout_number(l, "time_save", FLOAT64, 0.25);
	layout_array(l, FLOAT64, 4, (unsigned[]){nsc, z, y, x}, "yspecies");
	layout_array(l, FLOAT64, 4, (unsigned[]){three, z, y, x}, "u");
	layout_array(l, FLOAT64, 3, (unsigned[]){z, y, x}, "pressure");
	layout_array(l, FLOAT64, 3, (unsigned[]){z, y, x}, "temp");
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	uint64_t at[3];

	(void)reading;
	grid_place(at, rank, s3d.ranks, 3);
	for (unsigned v = 0; v < l->arrays; v++) {
		struct piece *piece = piece_add(p, l, v);
		for (unsigned i = 0; i < 3; i++) {
			unsigned d = l->array[v].rank - 1 - i;
			piece->count[d] = s3d.points[i] / s3d.ranks[i];
			piece->start[d] = at[i] * piece->count[d];
		}
	}
}

const struct kernel kernel = {
	.name = "s3d",
	.usage = "[-c CHECKPOINTS] NX NY NZ NPX NPY NPZ",
	.letters = "c:",
	.arguments = 6,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
