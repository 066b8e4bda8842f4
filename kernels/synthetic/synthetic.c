/* One matrix of doubles in rows, columns or blocks over the ranks: the three textbook decompositions. Stripe
 * hints travel as -H striping_factor=…, -H striping_unit=…. */
#include "../common/kernel.h"

#include <string.h>

static struct {
	uint64_t extent[2], ranks[2]; /* y, x */
	uint64_t files;
} synthetic = {.files = 1};

static const char *option(int letter, const char *value)
{
	(void)letter;
	return number(&synthetic.files, value, 1) ? NULL : "-c: not a number of files";
}

/* Ranks for "block": as square as they come, more of them along y. */
static void square(int ranks)
{
	uint64_t x = 1;

	for (uint64_t i = 1; i * i <= (uint64_t)ranks; i++)
		if ((uint64_t)ranks % i == 0)
			x = i;
	synthetic.ranks[0] = (uint64_t)ranks / x;
	synthetic.ranks[1] = x;
}

static const char *take(char **argument, int ranks)
{
	uint64_t n = (uint64_t)ranks;

	if (!strcmp(argument[0], "row"))
		memcpy(synthetic.ranks, (uint64_t[]){n, 1}, sizeof(synthetic.ranks));
	else if (!strcmp(argument[0], "column"))
		memcpy(synthetic.ranks, (uint64_t[]){1, n}, sizeof(synthetic.ranks));
	else if (!strcmp(argument[0], "block"))
		square(ranks);
	else
		return "the decomposition: not row, column or block";
	for (int d = 0; d < 2; d++) {
		if (!number(&synthetic.extent[d], argument[1 + d], 1))
			return "the matrix: not a number of elements";
		if (synthetic.extent[d] < synthetic.ranks[d])
			return "the matrix: fewer elements than ranks along a dimension";
	}
	return NULL;
}

static unsigned files(void)
{
	return (unsigned)synthetic.files;
}

static void layout(struct layout *l, unsigned file)
{
	layout_begin(l, file, "synthetic.%u", file);
	unsigned y = layout_dim(l, "y", synthetic.extent[0]);
	unsigned x = layout_dim(l, "x", synthetic.extent[1]);
	layout_array(l, FLOAT64, 2, (unsigned[]){y, x}, "matrix");
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	struct piece *piece = piece_add(p, l, 0);
	uint64_t at[2] = {(uint64_t)rank / synthetic.ranks[1], (uint64_t)rank % synthetic.ranks[1]};

	(void)reading;
	for (int d = 0; d < 2; d++) {
		/* what does not divide is spread: neighbours differ by one */
		piece->start[d] = synthetic.extent[d] * at[d] / synthetic.ranks[d];
		piece->count[d] =
			synthetic.extent[d] * (at[d] + 1) / synthetic.ranks[d] - piece->start[d];
	}
}

const struct kernel kernel = {
	.name = "synthetic",
	.usage = "[-c FILES] row|column|block NY NX",
	.letters = "c:",
	.arguments = 3,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
