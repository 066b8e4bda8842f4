/* FLASH-IO: checkpoint, plot file of cell centres, plot file of corners, and particles, of a block-structured
 * astrophysics code. Every rank holds a few more or fewer blocks than its neighbour; a block's cells
 * lie in memory with guard cells around and all unknowns of a cell side by side. */
#include "../common/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWNS = 24, PLOTTED = 4, GUARD = 4, TREE = 6, PROPERTIES = 9 };

enum { CHECKPOINT = 'c', CENTRES = 'p', CORNERS = 'k', PARTICLES = 't' };

static const char *const names[UNKNOWNS] = {
	"dens", "velx", "vely", "velz", "pres", "ener", "temp", "gamc",
	"game", "enuc", "gpot", "f1__", "f2__", "f3__", "f4__", "f5__",
	"f6__", "f7__", "f8__", "f9__", "f10_", "f11_", "f12_", "f13_",
};
static const unsigned plotted[PLOTTED] = {0, 6, 4, 11}; /* dens, temp, pres, f1__ */

static struct {
	uint64_t cells;     /* of a block, along each edge */
	uint64_t blocks;    /* of rank 0 */
	uint64_t particles; /* per block */
	const char *files;  /* which, in order */
	bool guarded;       /* unknowns are moved from where they lie */
	uint64_t ranks;
	double *unk; /* (blocks, z, y, x, unknown) with guard cells */
} flash = {.cells = 8, .blocks = 80, .particles = 64, .files = "cpk"};

static const char *option(int letter, const char *value)
{
	switch (letter) {
	case 'x':
		return number(&flash.cells, value, 1) ? NULL : "-x: not a number of cells";
	case 'b':
		return number(&flash.blocks, value, 1) ? NULL : "-b: not a number of blocks";
	case 'p':
		return number(&flash.particles, value, 1) ? NULL : "-p: not a number of particles";
	case 'f':
		flash.files = value;
		return strspn(value, "cpkt") == strlen(value) && *value
			       ? NULL
			       : "-f: not of c (checkpoint), p (plot), k (corners), t (particles)";
	}
	flash.guarded = true;
	return NULL;
}

static const char *take(char **argument, int ranks)
{
	(void)argument;
	flash.ranks = (uint64_t)ranks;
	return NULL;
}

static unsigned files(void)
{
	return (unsigned)strlen(flash.files);
}

static uint64_t blocks_of(uint64_t rank)
{
	return flash.blocks + rank % 3;
}

static uint64_t blocks_before(uint64_t rank)
{
	uint64_t n = 0;

	while (rank-- > 0)
		n += blocks_of(rank);
	return n;
}

/* The tree: what every file begins with. */
static void tree(struct layout *l, unsigned tot, enum element real)
{
	unsigned ngid = layout_dim(l, "dim_NGID", 15);
	unsigned ndim = layout_dim(l, "dim_NDIM", 3);
	unsigned two = layout_dim(l, "dim_2", 2);

	layout_array(l, INT32, 1, &tot, "lrefine");
	layout_array(l, INT32, 1, &tot, "nodetype");
	layout_array(l, INT32, 2, (unsigned[]){tot, ngid}, "gid");
	layout_array(l, real, 2, (unsigned[]){tot, ndim}, "coordinates");
	layout_array(l, real, 2, (unsigned[]){tot, ndim}, "blocksize");
	layout_array(l, real, 3, (unsigned[]){tot, ndim, two}, "bndbox");
}

static void attributes(struct layout *l, uint64_t blocks)
{
	double cells = (double)flash.cells;

	layout_text(l, "file_creation_time", "2002-11-20 12:00:00");
	layout_text(l, "flash_version", "FLASH 2.2");
	layout_number(l, "total_blocks", INT32, (double)blocks);
	layout_number(l, "nsteps", INT32, 0);
	layout_number(l, "nxb", INT32, cells);
	layout_number(l, "nyb", INT32, cells);
	layout_number(l, "nzb", INT32, cells);
	layout_number(l, "time", FLOAT64, 0);
}

static void cells(struct layout *l, uint64_t blocks, bool plot, uint64_t edge)
{
	unsigned tot = layout_dim(l, "dim_tot_blocks", blocks);
	unsigned x = layout_dim(l, "dim_nxb", edge);
	unsigned y = layout_dim(l, "dim_nyb", edge);
	unsigned z = layout_dim(l, "dim_nzb", edge);

	tree(l, tot, plot ? FLOAT32 : FLOAT64);
	for (unsigned i = 0; i < (plot ? PLOTTED : UNKNOWNS); i++)
		layout_array(l, plot ? FLOAT32 : FLOAT64, 4, (unsigned[]){tot, z, y, x}, "%s",
			     names[plot ? plotted[i] : i]);
	/* the code packs every plotted variable into the same scratch array */
	l->buffered = plot;
}

static void particles(struct layout *l, uint64_t blocks)
{
	unsigned tot = layout_dim(l, "dim_tot_blocks", blocks);
	unsigned n = layout_dim(l, "dim_particles", blocks * flash.particles);
	unsigned properties = layout_dim(l, "dim_npart_props", PROPERTIES);

	layout_array(l, INT32, 1, &tot, "localnp");
	layout_array(l, FLOAT64, 2, (unsigned[]){n, properties}, "tracer_particles");
}

/* n-th file of its kind, from 0 */
static unsigned ordinal(unsigned file)
{
	unsigned n = 0;

	for (unsigned i = 0; i < file; i++)
		n += flash.files[i] == flash.files[file];
	return n;
}

static void layout(struct layout *l, unsigned file)
{
	uint64_t blocks = blocks_before(flash.ranks);
	unsigned n = ordinal(file);

	switch (flash.files[file]) {
	case CHECKPOINT:
		layout_begin(l, file, "flash_chk_%04u", n);
		cells(l, blocks, false, flash.cells);
		break;
	case CENTRES:
		layout_begin(l, file, "flash_plt_cnt_%04u", n);
		cells(l, blocks, true, flash.cells);
		break;
	case CORNERS:
		layout_begin(l, file, "flash_plt_crn_%04u", n);
		cells(l, blocks, true, flash.cells + 1);
		break;
	case PARTICLES:
		layout_begin(l, file, "flash_part_%04u", n);
		particles(l, blocks);
		break;
	}
	attributes(l, blocks);
}

/* The unknown where it lies: guard cells around, the other unknowns between its values. */
static void in_place(struct piece *piece, unsigned unknown, uint64_t blocks)
{
	uint64_t edge = flash.cells + 2 * GUARD;
	struct memory *m = &piece->memory;

	if (!flash.unk)
		flash.unk = calloc(blocks * edge * edge * edge * UNKNOWNS, sizeof(double));
	if (!flash.unk)
		fail("calloc", "unk", "out of memory");
	*m = (struct memory){
		.rank = 5,
		.extent = {blocks, edge, edge, edge, UNKNOWNS},
		.start = {0, GUARD, GUARD, GUARD, unknown},
		.count = {blocks, flash.cells, flash.cells, flash.cells, 1},
	};
	piece->buffer = flash.unk;
	piece->lent = true;
}

static void pieces(struct pieces *p, const struct layout *l, int rank, bool reading)
{
	uint64_t first = blocks_before((uint64_t)rank), blocks = blocks_of((uint64_t)rank);
	bool checkpoint = l->arrays == TREE + UNKNOWNS;

	(void)reading;
	for (unsigned v = 0; v < l->arrays; v++) {
		struct piece *piece = piece_add(p, l, v);
		bool particle = l->arrays < TREE && v == 1;
		piece->start[0] = first * (particle ? flash.particles : 1);
		piece->count[0] = blocks * (particle ? flash.particles : 1);
		if (checkpoint && flash.guarded && v >= TREE)
			in_place(piece, v - TREE, blocks);
	}
}

const struct kernel kernel = {
	.name = "flash",
	.usage = "[-x CELLS] [-b BLOCKS] [-p PARTICLES] [-f FILES] [-g]",
	.letters = "x:b:p:f:g",
	.option = option,
	.take = take,
	.files = files,
	.layout = layout,
	.pieces = pieces,
};
