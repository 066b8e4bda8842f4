/* IOR-like: each rank moves BLOCK bytes per segment in transfers; segments lie one after another, in each
 * the blocks of the ranks. One shared file, or one per rank. IOR's own HDF5 form has a dataset for each segment. */
#include "../common/kernel.h"

static struct {
	uint64_t segments, block, transfer; /* the last two in bytes, multiples of 8 */
	uint64_t element;                   /* bytes: 4 or 8 */
	bool own;                           /* a file per rank */
	bool apart;                         /* an array per segment */
	uint64_t ranks;
} ior = {.segments = 1, .element = 8};

static const char *option(int letter, const char *value)
{
	if (letter == 'e') {
		bool right =
			number(&ior.element, value, 4) && (ior.element == 4 || ior.element == 8);
		return right ? NULL : "-e: bytes of an element, 4 or 8";
	}
	*(letter == 'F' ? &ior.own : &ior.apart) = true;
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
	uint64_t elements = (ior.apart ? 1 : ior.segments) * ior.block / ior.element;
	enum element type = ior.element == 4 ? FLOAT32 : FLOAT64;

	if (ior.own) {
		layout_begin(l, file, "ior.%08u", file);
		l->owner = (int)file;
	} else {
		layout_begin(l, file, "ior");
		elements *= ior.ranks;
	}
	unsigned n = layout_dim(l, "elements", elements);
	for (uint64_t s = 0; ior.apart && s < ior.segments; s++)
		layout_array(l, type, 1, &n, "segment.%04u", (unsigned)s);
	if (!ior.apart)
		layout_array(l, type, 1, &n, "data");
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	uint64_t blocks = ior.own ? 1 : ior.ranks, mine = ior.own ? 0 : (uint64_t)rank;

	(void)reading;
	for (uint64_t s = 0; s < ior.segments; s++)
		for (uint64_t t = 0; t < ior.block / ior.transfer; t++) {
			struct piece *piece = piece_add(p, l, ior.apart ? (unsigned)s : 0);
			uint64_t before = ior.apart ? 0 : s;
			uint64_t first = (before * blocks + mine) * ior.block + t * ior.transfer;
			piece->start[0] = first / ior.element;
			piece->count[0] = ior.transfer / ior.element;
		}
}

const struct kernel kernel = {
	.name = "ior",
	.usage = "[-F] [-d] [-e BYTES] SEGMENTS BLOCK TRANSFER",
	.letters = "Fde:",
	.arguments = 3,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
