/* IOR-like: each rank moves BLOCK bytes per segment in transfers; segments lie one after another, in each
 * the blocks of the ranks. One shared file, or one per rank. */
#include "../common/kernel.h"

static struct {
	uint64_t segments, block, transfer; /* the last two in bytes, multiples of 8 */
	bool own;                           /* a file per rank */
	uint64_t ranks;
} ior = {.segments = 1};

static const char *option(int letter, const char *value)
{
	(void)letter;
	(void)value;
	ior.own = true;
	return NULL;
}

static const char *take(char **argument, int ranks)
{
	ior.ranks = (uint64_t)ranks;
	if (!number(&ior.segments, argument[0], 1))
		return "the segments: not a number";
	if (!number(&ior.block, argument[1], 8) || !number(&ior.transfer, argument[2], 8))
		return "block and transfer: not numbers of bytes, from 8";
	if (ior.transfer % 8 || ior.block % ior.transfer)
		return "the transfer must divide the block, and 8 the transfer";
	return NULL;
}

static unsigned files(void)
{
	return ior.own ? (unsigned)ior.ranks : 1;
}

static void layout(struct layout *l, unsigned file)
{
	uint64_t elements = ior.segments * ior.block / 8;

	if (ior.own) {
		layout_begin(l, file, "ior.%08u", file);
		l->owner = (int)file;
	} else {
		layout_begin(l, file, "ior");
		elements *= ior.ranks;
	}
	unsigned n = layout_dim(l, "elements", elements);
	layout_array(l, FLOAT64, 1, &n, "data");
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	uint64_t blocks = ior.own ? 1 : ior.ranks, mine = ior.own ? 0 : (uint64_t)rank;

	(void)reading;
	for (uint64_t s = 0; s < ior.segments; s++)
		for (uint64_t t = 0; t < ior.block / ior.transfer; t++) {
			struct piece *piece = piece_add(p, l, 0);
			piece->start[0] = ((s * blocks + mine) * ior.block + t * ior.transfer) / 8;
			piece->count[0] = ior.transfer / 8;
		}
}

const struct kernel kernel = {
	.name = "ior",
	.usage = "[-F] SEGMENTS BLOCK TRANSFER",
	.letters = "F",
	.arguments = 3,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
