/* VPIC-IO: the particles of a plasma code, eight one-dimensional datasets of 4-byte numbers; a rank's
 * particles lie behind those of the ranks before it. */
#include "../common/kernel.h"

static struct {
	uint64_t particles; /* of a rank */
	uint64_t steps;
	bool uneven;
	uint64_t ranks;
} vpic = {.particles = 8 << 20, .steps = 1};

static const char *option(int letter, const char *value)
{
	if (letter == 'p')
		return number(&vpic.particles, value, 1) ? NULL : "-p: not a number of particles";
	if (letter == 't')
		return number(&vpic.steps, value, 1) ? NULL : "-t: not a number of time steps";
	vpic.uneven = true;
	return NULL;
}

static const char *take(char **argument, int ranks)
{
	(void)argument;
	vpic.ranks = (uint64_t)ranks;
	return NULL;
}

static unsigned files(void)
{
	return (unsigned)vpic.steps;
}

/* Uneven: half as many again on every third rank, so that no two neighbours need agree. */
static uint64_t count_of(uint64_t rank)
{
	return vpic.uneven && rank % 3 == 1 ? vpic.particles + vpic.particles / 2 : vpic.particles;
}

static uint64_t before(uint64_t rank)
{
	uint64_t n = 0;

	while (rank-- > 0)
		n += count_of(rank);
	return n;
}

static void layout(struct layout *l, unsigned file)
{
	static const char *const names[8] = {"x", "y", "z", "px", "py", "pz", "id1", "id2"};

	layout_begin(l, file, "vpic.%u", file);
	unsigned n = layout_dim(l, "particles", before(vpic.ranks));
	for (int v = 0; v < 8; v++)
		layout_array(l, v < 6 ? FLOAT32 : INT32, 1, &n, "%s", names[v]);
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	(void)reading;
	for (unsigned v = 0; v < l->arrays; v++) {
		struct piece *piece = piece_add(p, l, v);
		piece->start[0] = before((uint64_t)rank);
		piece->count[0] = count_of((uint64_t)rank);
	}
}

const struct kernel kernel = {
	.name = "vpic",
	.usage = "[-p PARTICLES] [-t STEPS] [-u]",
	.letters = "p:t:u",
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
