/* What a call's bytes look like in the file: the extents of what it selects. The packer works out the same from
 * the same selections (engine/pack/src/shape.rs). */
#include <string.h>

#include "core/call.h"
#include "core/forget.h"
#include "core/state.h"
#include "core/counters.h"

enum { SHAPES = 4096, FORM_BYTES = 1, LISTED = 64 };

struct shape {
	uint32_t form, blocks; /* blocks 0: not listed */
	int64_t displacement;
	uint64_t period, total, span;
	uint64_t block[][2];
};

/* Private memory of the process: a fork wipes it. */
struct shapes {
	_Atomic(struct shape *) by_selection[SHAPES]; /* by number of the selection */
	_Atomic uint64_t used;
	uint8_t memory[1 << 20];
};

static _Atomic(struct shapes *) process_shapes;

static struct shapes *shapes(void)
{
	struct shapes *all = atomic_load(&process_shapes), *fresh;

	if (all)
		return all;
	fresh = memory_get(sizeof(*fresh), true);
	if (fresh && !atomic_compare_exchange_strong(&process_shapes, &all, fresh))
		return all; /* another thread was faster: its memory serves */
	return fresh;
}

void shapes_forget(void)
{
	memory_wipe(atomic_load(&process_shapes), sizeof(struct shapes));
}

void shape_add(uint32_t selection, const struct selection_def *def)
{
	struct shapes *all = selection < SHAPES ? shapes() : NULL;
	const bool listed =
		def->form == FORM_BYTES && def->exact && def->rank == 1 && def->blocks <= LISTED;
	const uint32_t blocks = listed ? def->blocks : 0;
	const uint64_t bytes = sizeof(struct shape) + blocks * sizeof(uint64_t[2]);
	struct shape *added;
	uint64_t at;

	if (!all)
		return;
	at = atomic_fetch_add(&all->used, bytes);
	if (at + bytes > sizeof(all->memory))
		return;
	added = (struct shape *)(all->memory + at);
	added->form = def->form;
	added->blocks = blocks;
	added->displacement = def->displacement;
	added->period = def->period;
	added->total = def->total;
	added->span = def->form == FORM_BYTES ? (def->box ? def->box[1] : 0) : def->span;
	memcpy(added->block, def->block, blocks * sizeof(uint64_t[2]));
	atomic_store(&all->by_selection[selection], added);
}

/* Which accessible byte of the view, from its beginning, lies at `place` bytes behind its displacement? */
static uint64_t number_of(const struct shape *s, uint64_t place, uint64_t period)
{
	const uint64_t tile = place / period, rest = place % period;
	uint64_t before = 0;

	for (uint32_t b = 0; b < s->blocks; b++) {
		if (rest >= s->block[b][0] && rest - s->block[b][0] < s->block[b][1])
			return tile * s->total + before + rest - s->block[b][0];
		before += s->block[b][1];
	}
	return UINT64_MAX;
}

/* The other way round. */
static uint64_t place_of(const struct shape *s, uint64_t number, uint64_t period)
{
	uint64_t rest = number % s->total;

	for (uint32_t b = 0; b < s->blocks; b++) {
		if (rest < s->block[b][1])
			return number / s->total * period + s->block[b][0] + rest;
		rest -= s->block[b][1];
	}
	return UINT64_MAX;
}

static int64_t of_blocks(const struct shape *s, int64_t offset, uint64_t amount)
{
	const uint64_t period = s->period ? s->period : 1;
	uint64_t first, number, last;

	if (offset < s->displacement || offset < 0 || !s->total)
		return -1;
	first = (uint64_t)offset - (uint64_t)s->displacement;
	number = number_of(s, first, period);
	if (number == UINT64_MAX)
		return -1;
	last = place_of(s, number + amount - 1, period);
	return last == UINT64_MAX ? -1 : (int64_t)(last - first + 1);
}

/* A view of too many blocks to be listed: as if the call began with a tile. */
static int64_t of_tiles(const struct shape *s, uint64_t amount)
{
	if (!s->total || amount < s->total)
		return -1;
	return (int64_t)((amount + s->total - 1) / s->total * s->period - s->period + s->span);
}

int64_t shape_extent(uint32_t selection, int64_t offset, int64_t amount)
{
	const struct shape *s;

	if (!selection || amount <= 0)
		return amount;
	s = selection < SHAPES && shapes() ? atomic_load(&shapes()->by_selection[selection]) : NULL;
	if (!s)
		return -1;
	if (s->form != FORM_BYTES)
		return s->span && s->total ? (int64_t)(s->span * ((uint64_t)amount / s->total))
					   : -1;
	return s->blocks ? of_blocks(s, offset, (uint64_t)amount) : of_tiles(s, (uint64_t)amount);
}
