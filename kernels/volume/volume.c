/* Volume read: five variables of floats that share the unlimited dimension z, so that a file in the
 * classic netCDF form holds a slice of each in turn. Written slice by slice; read as a volume renderer
 * does, one variable in blocks. Or z is fixed, and each variable lies in one piece, written at once. */
#include "../common/kernel.h"

enum { VARIABLES = 5 };

static struct {
	uint64_t extent[3], ranks[3]; /* x, y, z */
	uint64_t variable;            /* that is read */
	uint64_t variables;
	bool fixed;
	bool slices; /* written slice by slice, though z is fixed */
} volume = {.variables = VARIABLES};

static const char *option(int letter, const char *value)
{
	if (letter == 'f') {
		volume.fixed = true;
		return NULL;
	}
	if (letter == 's') {
		volume.slices = true;
		return NULL;
	}
	if (letter == 'c')
		return number(&volume.variables, value, 1) && volume.variables <= VARIABLES
			       ? NULL
			       : "-c: not a number of variables, 1 to 5";
	return number(&volume.variable, value, 0) && volume.variable < VARIABLES
		       ? NULL
		       : "-v: not a number of a variable, 0 to 4";
}

static bool by_slices(void)
{
	return !volume.fixed || volume.slices;
}

static const char *take(char **argument, int ranks)
{
	const char *wrong = grid(volume.ranks, argument + 3, 3, ranks);

	for (int i = 0; i < 3 && !wrong; i++) {
		if (!number(&volume.extent[i], argument[i], 1))
			wrong = "the grid: not a number of points";
		else if (volume.extent[i] % volume.ranks[i])
			wrong = "each number of points must divide by its number of processes";
	}
	if (!wrong && volume.variable >= volume.variables)
		wrong = "-v: there is no such variable";
	if (!wrong && volume.extent[1] % (uint64_t)ranks)
		wrong = "NY must divide by the ranks: slices are written in bands";
	return wrong;
}

static unsigned files(void)
{
	return 1;
}

static void layout(struct layout *l, unsigned file)
{
	static const char *const names[VARIABLES] = {"pressure", "density", "vx", "vy", "vz"};

	layout_begin(l, file, "volume");
	unsigned z = layout_dim(l, "z", volume.extent[2]);
	unsigned y = layout_dim(l, "y", volume.extent[1]);
	unsigned x = layout_dim(l, "x", volume.extent[0]);
	l->dim[z].record = !volume.fixed;
	l->batch = by_slices() ? (unsigned)volume.variables : 0;
	for (uint64_t v = 0; v < volume.variables; v++)
		layout_array(l, FLOAT32, 3, (unsigned[]){z, y, x}, "%s", names[v]);
}

/* A slice of each variable in turn, or all slices of each; in bands of lines over the ranks. */
static void bands(struct pieces *p, const struct layout *l, uint64_t rank)
{
	uint64_t ranks = volume.ranks[0] * volume.ranks[1] * volume.ranks[2];
	uint64_t slices = by_slices() ? 1 : volume.extent[2];

	for (uint64_t z = 0; z < volume.extent[2]; z += slices)
		for (unsigned v = 0; v < volume.variables; v++) {
			struct piece *piece = piece_add(p, l, v);
			piece->start[0] = z;
			piece->count[0] = slices;
			piece->count[1] = volume.extent[1] / ranks;
			piece->start[1] = rank * piece->count[1];
		}
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	if (!reading) {
		bands(p, l, (uint64_t)rank);
		return;
	}
	struct piece *piece = piece_add(p, l, (unsigned)volume.variable);
	uint64_t at[3];
	grid_place(at, rank, volume.ranks, 3);
	for (int i = 0; i < 3; i++) {
		piece->count[2 - i] = volume.extent[i] / volume.ranks[i];
		piece->start[2 - i] = at[i] * piece->count[2 - i];
	}
}

const struct kernel kernel = {
	.name = "volume",
	.usage = "[-f] [-s] [-c VARIABLES] [-v VARIABLE] NX NY NZ NPX NPY NPZ",
	.letters = "fsc:v:",
	.arguments = 6,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
