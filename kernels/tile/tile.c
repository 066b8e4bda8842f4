/* Tile reader: a picture in tiles, one per rank; each reads its tile and what it shares with its
 * neighbours. Written without overlap. */
#include "../common/kernel.h"

static struct {
	uint64_t tiles[2], size[2], overlap[2]; /* x, y */
	uint64_t element;                       /* doubles per pixel */
} tile = {.element = 4};

static const char *option(int letter, const char *value)
{
	(void)letter;
	return number(&tile.element, value, 1) ? NULL : "-e: not a number of doubles";
}

static const char *take(char **argument, int ranks)
{
	for (int i = 0; i < 2; i++) {
		if (!number(&tile.size[i], argument[2 + i], 1))
			return "the tile: not a number of pixels";
		if (!number(&tile.overlap[i], argument[4 + i], 0) ||
		    tile.overlap[i] >= tile.size[i])
			return "the overlap: not a number of pixels less than the tile's";
	}
	return grid(tile.tiles, argument, 2, ranks);
}

static unsigned files(void)
{
	return 1;
}

static uint64_t extent(int i)
{
	return tile.tiles[i] * (tile.size[i] - tile.overlap[i]) + tile.overlap[i];
}

static void layout(struct layout *l, unsigned file)
{
	layout_begin(l, file, "tiles");
	unsigned x = layout_dim(l, "x", extent(0));
	unsigned y = layout_dim(l, "y", extent(1));
	unsigned element = layout_dim(l, "element", tile.element);
	layout_array(l, FLOAT64, 3, (unsigned[]){y, x, element}, "picture");
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	struct piece *piece = piece_add(p, l, 0);
	uint64_t at[2];

	grid_place(at, rank, tile.tiles, 2);
	for (int i = 0; i < 2; i++) {
		uint64_t step = tile.size[i] - tile.overlap[i];
		bool whole = reading || at[i] + 1 == tile.tiles[i];
		piece->start[1 - i] = at[i] * step;
		piece->count[1 - i] = whole ? tile.size[i] : step;
	}
}

const struct kernel kernel = {
	.name = "tile",
	.usage = "[-e DOUBLES] TILES_X TILES_Y SIZE_X SIZE_Y OVERLAP_X OVERLAP_Y",
	.letters = "e:",
	.arguments = 6,
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
