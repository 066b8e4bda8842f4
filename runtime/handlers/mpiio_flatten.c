/* The blocks of bytes that a datatype selects: a walk of its tree, in the order of the type map, in which
 * blocks that touch become one. */
#include "core/hash.h"
#include "handlers/mpiio.h"
#include "handlers/mpiio_tree.h"

enum {
	PIECES = 1 << 16, /* more are not walked: hash of these, exact = false */
	BLOCKS = 64,
};

struct walk {
	struct mpi_layout *out;
	int64_t start, end; /* of the block that grows */
	uint64_t pieces, blocks;
	bool stopped;
};

static void flush_block(struct walk *walk)
{
	struct mpi_layout *out = walk->out;
	const uint64_t start = (uint64_t)walk->start, count = (uint64_t)(walk->end - walk->start);

	if (count == 0)
		return;
	if (walk->blocks < BLOCKS) {
		out->block[walk->blocks][0] = start;
		out->block[walk->blocks][1] = count;
	}
	walk->blocks++;
	out->hash = hash_mix(hash_mix(out->hash, start), count);
}

static void put(struct walk *walk, int64_t at, uint64_t bytes)
{
	if (bytes == 0)
		return;
	if (++walk->pieces > PIECES) {
		walk->stopped = true;
		return;
	}
	if (at != walk->end || walk->end == walk->start) {
		flush_block(walk);
		walk->start = at;
	}
	walk->end = at + (int64_t)bytes;
}

static void visit(struct walk *walk, const struct node *node, int64_t at);

static void visit_run(struct walk *walk, const struct run *run, int64_t at)
{
	if (run->count == 0)
		return;
	if (run_is_solid(run)) {
		put(walk, at + run_first(run), run_bytes(run));
		return;
	}
	for (uint64_t i = 0; i < run->count && !walk->stopped; i++)
		visit(walk, run->child, at + run->at + (int64_t)i * run->child->extent);
}

static void visit(struct walk *walk, const struct node *node, int64_t at)
{
	for (uint64_t i = 0; i < node->n && !walk->stopped; i++) {
		if (node->list)
			visit_run(walk, &node->list[i], at);
		else
			visit_run(walk, &node->run, at + (int64_t)i * node->stride);
	}
}

/* A filetype without holes is the same view whatever its length. */
static void shorten(struct mpi_layout *out)
{
	if (out->blocks == 1 && out->exact && out->block[0][0] == 0 &&
	    out->block[0][1] == out->period) {
		out->block[0][1] = out->period = out->total = out->span = 1;
		out->hash = 0;
	}
}

/* Blocks and parts are those that were counted: the rest of the arrays need not be cleared. */
static void begin(struct mpi_layout *out, const struct node *node)
{
	out->total = node->size;
	out->period = (uint64_t)node->extent;
	out->hash = 0;
	out->parts = 0;
}

bool mpi_flatten(const struct mpi_abi *abi, uintptr_t datatype, struct mpi_layout *out)
{
	struct arena arena;
	struct walk walk = {.out = out};
	int64_t lb = 0, span = 0;

	arena_begin(&arena);
	const struct node *node = take_apart(abi, &arena, datatype, 0);
	if (node) {
		begin(out, node);
		visit(&walk, node, 0);
		flush_block(&walk);
		abi->type_true_extent(datatype, &lb, &span);
		out->start = (uint64_t)lb;
		out->span = (uint64_t)span;
		out->exact = !walk.stopped && walk.blocks <= BLOCKS;
		out->blocks = out->exact ? (uint32_t)walk.blocks : 0;
		shorten(out);
		if (!out->exact)
			mpi_parts_gather(node, out);
	}
	arena_end(&arena);
	return node != NULL;
}
