/* Views of more blocks than are listed: parts, each a block repeated level within level, as subarrays and
 * nested vectors have it. A view's bytes ascend in the file, so a byte's number tells its place. */
#include <string.h>

#include "handlers/mpiio.h"
#include "handlers/mpiio_tree.h"

enum {
	PARTS = sizeof(((struct mpi_layout *)0)->part) / sizeof(struct repeated),
	LEVELS = sizeof(((struct repeated *)0)->level) / sizeof(uint64_t[2]),
};

/* One more level inside those that are there. */
static bool push(struct repeated *part, uint64_t count, int64_t stride)
{
	if (part->levels == LEVELS || stride <= 0)
		return false;
	part->level[part->levels][0] = count;
	part->level[part->levels++][1] = (uint64_t)stride;
	return true;
}

/* From its first byte to its last. */
static uint64_t span_of(const struct repeated *part)
{
	uint64_t span = part->bytes;

	for (uint32_t l = 0; l < part->levels; l++)
		span += (part->level[l][0] - 1) * part->level[l][1];
	return span;
}

/* What touches becomes one; false: a level's copies overlap. */
static bool settle_part(struct repeated *part)
{
	uint64_t span;

	while (part->levels && part->level[part->levels - 1][1] == part->bytes)
		part->bytes *= part->level[--part->levels][0];
	span = part->bytes;
	for (uint32_t l = part->levels; l-- > 0;) {
		if (part->level[l][1] < span)
			return false;
		span += (part->level[l][0] - 1) * part->level[l][1];
	}
	return true;
}

/* The same block in the same levels, the outermost `skip` of a's left out? */
static bool same_shape(const struct repeated *a, uint32_t skip, const struct repeated *b)
{
	return a->bytes == b->bytes && a->levels == b->levels + skip &&
	       memcmp(a->level[skip], b->level, b->levels * sizeof(b->level[0])) == 0;
}

/* Does the part go on, or begin, an outer level of the one before? Lists of requests come so. */
static bool continues(struct repeated *last, const struct repeated *part)
{
	if (last->levels && same_shape(last, 1, part) &&
	    part->start == last->start + last->level[0][0] * last->level[0][1]) {
		last->level[0][0]++;
		return true;
	}
	if (last->levels == LEVELS || !same_shape(last, 0, part) ||
	    part->start < last->start + span_of(last))
		return false;
	memmove(last->level[1], last->level[0], last->levels * sizeof(last->level[0]));
	last->level[0][0] = 2;
	last->level[0][1] = part->start - last->start;
	last->levels++;
	return true;
}

static bool gather(const struct node *node, int64_t at, const struct repeated *around,
		   struct mpi_layout *out);

static bool gather_run(const struct run *run, int64_t at, const struct repeated *around,
		       struct mpi_layout *out)
{
	struct repeated part = *around;

	if (run->count == 0 || run_bytes(run) == 0)
		return true;
	if (!run_is_solid(run))
		return (run->count == 1 || push(&part, run->count, run->child->extent)) &&
		       gather(run->child, at + run->at, &part, out);
	if (at + run_first(run) < 0)
		return false;
	part.start = (uint64_t)(at + run_first(run));
	part.bytes = run_bytes(run);
	if (!settle_part(&part))
		return false;
	if (out->parts && continues(&out->part[out->parts - 1], &part))
		return true;
	if (out->parts == PARTS)
		return false;
	out->part[out->parts++] = part;
	return true;
}

/* How many of the first runs are one run at even distances? */
static uint64_t alike(const struct run *run, uint64_t n)
{
	const int64_t stride = n > 1 ? run[1].at - run[0].at : 0;
	uint64_t i = 1;

	while (stride > 0 && i < n && run[i].child == run[0].child &&
	       run[i].count == run[0].count && run[i].at - run[i - 1].at == stride)
		i++;
	return i;
}

static bool gather(const struct node *node, int64_t at, const struct repeated *around,
		   struct mpi_layout *out)
{
	struct repeated part = *around;

	if (!node->list)
		return node->n == 0 || ((node->n == 1 || push(&part, node->n, node->stride)) &&
					gather_run(&node->run, at, &part, out));
	for (uint64_t i = 0, n; i < node->n; i += n) {
		const struct run *run = &node->list[i];

		n = alike(run, node->n - i);
		part = *around;
		if (n > 1 && !push(&part, n, run[1].at - run[0].at))
			return false;
		if (!gather_run(run, at, &part, out))
			return false;
	}
	return true;
}

void mpi_parts_gather(const struct node *node, struct mpi_layout *out)
{
	const struct repeated none = {0};

	out->parts = 0;
	if (!gather(node, 0, &none, out))
		out->parts = 0;
}

/* How many of its bytes lie before byte `end`? */
static uint64_t before(const struct repeated *part, uint64_t end)
{
	uint64_t rest, whole = part->bytes, n = 0;

	if (end <= part->start)
		return 0;
	rest = end - part->start;
	for (uint32_t l = 0; l < part->levels; l++)
		whole *= part->level[l][0];
	for (uint32_t l = 0; l < part->levels; l++) {
		const uint64_t copies = rest / part->level[l][1];

		if (copies >= part->level[l][0])
			return n + whole;
		whole /= part->level[l][0];
		n += copies * whole;
		rest -= copies * part->level[l][1];
	}
	return n + (rest < whole ? rest : whole);
}

uint64_t mpi_parts_place(const struct mpi_layout *layout, uint64_t k)
{
	uint64_t low = layout->part[0].start, high = 0;

	for (uint32_t p = 0; p < layout->parts; p++) {
		const uint64_t end = layout->part[p].start + span_of(&layout->part[p]);

		low = layout->part[p].start < low ? layout->part[p].start : low;
		high = end > high ? end : high;
	}
	/* the first byte up to which, and with it, there are more than k */
	while (k > 0 && low < high) {
		const uint64_t middle = low + (high - low) / 2;
		uint64_t n = 0;

		for (uint32_t p = 0; p < layout->parts; p++)
			n += before(&layout->part[p], middle + 1);
		if (n > k)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}
