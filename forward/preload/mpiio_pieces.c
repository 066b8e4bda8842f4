/* Bytes of a datatype as pieces: a walk of its tree that begins anywhere and ends when there is no more room. */
#include "mpiio.h"

struct walk {
	struct pieces *to;
	uint64_t skip, left; /* bytes */
};

static void put(struct walk *w, int64_t at, uint64_t bytes)
{
	struct pieces *to = w->to;
	struct fathom_fwd_extent *last = to->piece + to->n - 1;
	const uint64_t begin = (uint64_t)at + w->skip;

	bytes = bytes - w->skip < w->left ? bytes - w->skip : w->left;
	w->skip = 0;
	if (to->n && last->offset + last->length == begin) {
		last->length += bytes;
	} else if (to->n == to->room) {
		w->left = 0;
		return;
	} else {
		to->piece[to->n++] = (struct fathom_fwd_extent){begin, bytes};
	}
	to->bytes += bytes;
	w->left -= bytes;
}

static void walk_node(struct walk *w, const struct node *node, int64_t at);

/* How many of so many things of `each` bytes the walk begins behind. */
static uint64_t pass(struct walk *w, uint64_t n, uint64_t each)
{
	uint64_t passed = each ? w->skip / each : n;

	passed = passed < n ? passed : n;
	w->skip -= passed * each;
	return passed;
}

static void walk_run(struct walk *w, const struct run *run, int64_t at)
{
	if (pass(w, 1, run_bytes(run)))
		return;
	if (run_is_solid(run)) {
		put(w, at + run_first(run), run_bytes(run));
		return;
	}
	for (uint64_t i = pass(w, run->count, run->child->size); i < run->count && w->left; i++)
		walk_node(w, run->child, at + run->at + (int64_t)i * run->child->extent);
}

static void walk_node(struct walk *w, const struct node *node, int64_t at)
{
	uint64_t i = node->list ? 0 : pass(w, node->n, run_bytes(&node->run));

	for (; i < node->n && w->left; i++) {
		if (node->list)
			walk_run(w, &node->list[i], at);
		else
			walk_run(w, &node->run, at + (int64_t)i * node->stride);
	}
}

void pieces_take(struct pieces *to, const struct node *node, int64_t base, uint64_t from,
		 uint64_t most)
{
	const uint64_t first = from / node->size, rest = from % node->size;
	const struct run all = {.at = base + (int64_t)first * node->extent,
				.count = (most + rest + node->size - 1) / node->size,
				.child = node};
	struct walk w = {.to = to, .skip = rest, .left = most};

	to->n = 0;
	to->bytes = 0;
	walk_run(&w, &all, 0);
}

void pieces_cut(struct pieces *pieces, uint64_t bytes)
{
	while (pieces->bytes > bytes) {
		struct fathom_fwd_extent *last = &pieces->piece[pieces->n - 1];
		const uint64_t over = pieces->bytes - bytes;

		if (last->length > over) {
			last->length -= over;
			pieces->bytes = bytes;
		} else {
			pieces->bytes -= last->length;
			pieces->n--;
		}
	}
}
