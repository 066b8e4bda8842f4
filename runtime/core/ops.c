/* The ops of this process: the catalogue's, and room behind them for what a run brings. */
#include <string.h>

#include "core/core.h"

const struct op *_Atomic op_table = ops;

/* Not wiped by a fork: a child's calls go on under the same numbers. */
struct op *ops_with_room(void)
{
	static struct op *_Atomic roomy;
	struct op *there = atomic_load(&roomy), *made;

	if (there)
		return there;
	made = memory_get((ops_count + OPS_ADDED) * sizeof(*made), false);
	if (!made)
		return NULL;
	memcpy(made, ops, ops_count * sizeof(*made));
	if (!atomic_compare_exchange_strong(&roomy, &there, made))
		return there; /* another thread was first; ours stays unused */
	atomic_store(&op_table, made);
	return made;
}
